//! Scans and searches as a whole: plans a request into splits and opens a split into rows. A search's
//! split returns its own best k with exact scores; whoever asked merges the splits. Indexes propose
//! candidates, stored values decide (L1).

mod candidate;
mod changes;
mod fit;
mod plan;
mod rows;
mod text;
mod vector;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use crate::error::{Error, Result};
use crate::iceberg::schema::Schema;
use crate::table::{
    Batches, DeletedRows, Environment, FileRead, ReadContext, SearchRequest, Split, SplitScope,
    open_metadata, output_schema, read_all,
};

/// The output columns of a plan: the projection, and the value that a search adds.
fn result_schema(
    table_schema: &SchemaRef,
    projection: &[i32],
    search: Option<&SearchRequest>,
) -> Result<SchemaRef> {
    let plain = output_schema(table_schema, projection)?;
    let Some(search) = search else {
        return Ok(plain);
    };
    let mut fields: Vec<_> = plain.fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(
        search.value_name(),
        DataType::Float64,
        true,
    )));
    Ok(Arc::new(ArrowSchema::new(fields)))
}

/// The stores, schema and deletes of a split, rebuilt from what it carries.
fn context(split: &Split, environment: &Environment) -> Result<ReadContext> {
    let scope: &SplitScope = &split.scope;
    let schema =
        Schema::from_json(&scope.schema).map_err(|e| e.with("table", &scope.table_location))?;
    let storage = environment.storage();
    let mut roots = vec![storage.resolve(&scope.table_location)?];
    for root in &scope.roots {
        roots.push(storage.resolve(root)?);
    }
    let partition = scope.partition.as_ref().map(Schema::from_json);
    let mut context = ReadContext::new(
        environment,
        storage.open(&roots),
        schema,
        partition.transpose()?.as_ref(),
        scope.name_mapping.as_deref(),
    )
    .map_err(|e| e.with("table", &scope.table_location))?;
    context.deletes = Arc::new(DeletedRows::of_files(&split.files));
    Ok(context)
}

impl Split {
    /// Reads the split's rows, batch by batch; dropping the stream stops the work.
    /// Errors name the file; a damaged segment is a warning and a scan.
    pub async fn open(&self, environment: &Environment) -> Result<(SchemaRef, Batches)> {
        if let Some(metadata) = &self.scope.metadata {
            return open_metadata(environment, &self.scope, metadata).await;
        }
        let context = context(self, environment)?;
        let request = self.scope.search.as_ref().map(|s| &s.request);
        let schema = result_schema(&context.table_schema, &self.scope.projection, request)?;
        let rows: Batches = match &self.scope.search {
            None if self.files.iter().any(|file| file.change.is_some()) => {
                let scope = Arc::clone(&self.scope);
                changes::read(context, scope, Arc::clone(&schema), self.files.clone())
            }
            None => read_all(context, self.plain_reads()),
            Some(plan) => {
                let search = Arc::new(rows::SplitSearch {
                    context,
                    split: self.clone(),
                    schema: Arc::clone(&schema),
                });
                let plan = plan.clone();
                let work = async move {
                    match (&plan.request, &plan.text) {
                        (SearchRequest::Vector(request), _) => {
                            vector::search(&search, request).await
                        }
                        (SearchRequest::Text(request), Some(text)) => {
                            text::search(&search, request, text).await
                        }
                        (SearchRequest::Text(_), None) => Err(Error::invalid_input(
                            "a text search split without statistics",
                        )),
                    }
                };
                Box::pin(futures::stream::once(work))
            }
        };
        Ok((schema, rows))
    }

    fn plain_reads(&self) -> Vec<FileRead> {
        let columns: Arc<[i32]> = self.scope.projection.clone().into();
        let predicate = self.scope.predicate.clone().map(Arc::new);
        self.files
            .iter()
            .map(|task| FileRead {
                task: Arc::new(task.clone()),
                columns: Arc::clone(&columns),
                predicate: predicate.clone(),
                rows: None,
                apply_deletes: true,
            })
            .collect()
    }
}
