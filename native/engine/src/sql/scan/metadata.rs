//! A metadata table inside the planner: a stream of its rows, filtered and joined like any other.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema as ArrowSchema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};

use super::exec::narrow;
use crate::error::Result;
use crate::sql::query::explain_error;
use crate::table::MetadataTable;

struct MetadataRows {
    table: MetadataTable,
    /// Without field ids, which would follow a column into results and other tables.
    schema: SchemaRef,
}

impl fmt::Debug for MetadataRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetadataRows({})", self.table.table().name())
    }
}

/// The rows of a metadata table for the planner.
pub(crate) fn metadata_provider(table: MetadataTable) -> Result<Arc<dyn TableProvider>> {
    let fields = table.arrow_schema().fields().iter();
    let plain = |field: &FieldRef| field.as_ref().clone().with_metadata(HashMap::new());
    let schema = Arc::new(ArrowSchema::new(fields.map(plain).collect::<Vec<_>>()));
    let rows = Arc::new(MetadataRows {
        table,
        schema: Arc::clone(&schema),
    });
    let provider = StreamingTable::try_new(schema, vec![rows]).map_err(explain_error)?;
    Ok(Arc::new(provider))
}

impl PartitionStream for MetadataRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (table, schema) = (self.table.clone(), Arc::clone(&self.schema));
        let rows = async move { table.scan().await };
        let rows = rows
            .into_stream()
            .try_flatten()
            .map(move |batch| Ok(narrow(&batch?, &schema)?));
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            rows,
        ))
    }
}
