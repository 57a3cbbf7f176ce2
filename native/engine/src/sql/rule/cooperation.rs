//! Operators that turn few rows into many yield too: the engine makes scans cooperative, but a join can feed an
//! aggregation for minutes without asking the scan for anything, and then a dropped query would not stop.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::unnest::UnnestExec;

/// The rule.
#[derive(Debug)]
pub(crate) struct Cooperation;

impl PhysicalOptimizerRule for Cooperation {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wrapped = plan.transform_up(|node| {
            if multiplies(node.as_ref()) {
                return Ok(Transformed::yes(Arc::new(CooperativeExec::new(node))));
            }
            Ok(Transformed::no(node))
        })?;
        Ok(wrapped.data)
    }

    fn name(&self) -> &str {
        "cooperation"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn multiplies(node: &dyn ExecutionPlan) -> bool {
    node.is::<CrossJoinExec>()
        || node.is::<HashJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<SortMergeJoinExec>()
        || node.is::<UnnestExec>()
}
