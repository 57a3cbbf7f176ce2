//! `benostreamdb index create | drop | refresh | list`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use benostreamdb::{IndexRequest, IndexStatus, Result};

use super::open_table;
use crate::arguments::IndexCommand;
use crate::output;

/// Runs an index command.
pub(crate) async fn run(command: &IndexCommand) -> Result<()> {
    match command {
        IndexCommand::Create {
            target,
            kind,
            columns,
            name,
            parameters,
            if_not_exists,
        } => {
            let request = IndexRequest {
                name: name.clone(),
                kind: kind.clone(),
                columns: columns.clone(),
                parameters: parameters.iter().cloned().collect(),
                if_not_exists: *if_not_exists,
            };
            let definition = open_table(target).await?.create_index(&request).await?;
            let name: ArrayRef = Arc::new(StringArray::from(vec![definition.name]));
            output::print_batch(
                RecordBatch::try_from_iter([("index_name", name)])?,
                target.format,
            )
            .await
        }
        IndexCommand::Drop { target, name } => open_table(target).await?.drop_index(name).await,
        IndexCommand::Refresh { target, name } => {
            let files = open_table(target)
                .await?
                .refresh_index(name.as_deref())
                .await?;
            let files: ArrayRef = Arc::new(UInt64Array::from(vec![files]));
            output::print_batch(
                RecordBatch::try_from_iter([("indexed_files", files)])?,
                target.format,
            )
            .await
        }
        IndexCommand::List { target } => {
            let indexes = open_table(target).await?.indexes().await?;
            output::print_batch(listing(&indexes)?, target.format).await
        }
    }
}

fn listing(indexes: &[IndexStatus]) -> Result<RecordBatch> {
    let text = |of: &dyn Fn(&IndexStatus) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(indexes.iter().map(of)))
    };
    let number = |of: &dyn Fn(&IndexStatus) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(indexes.iter().map(of)))
    };
    Ok(RecordBatch::try_from_iter([
        ("name", text(&|index| index.definition.name.clone())),
        ("kind", text(&|index| index.definition.kind.clone())),
        ("columns", text(&|index| index.columns.join(", "))),
        ("covered_files", number(&|index| index.covered_files)),
        ("total_files", number(&|index| index.total_files)),
        ("segments", number(&|index| index.segment_count)),
        ("size_bytes", number(&|index| index.size_bytes)),
    ])?)
}
