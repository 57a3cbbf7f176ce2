package com.benostreamdb.spark;

import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Refuses a search whose filter is left to Spark after push-down: the scan has chosen its best rows
 * before that filter would see them. Filters above the search's own limit are none of this.
 */
final class SearchFilterCheck {
  private SearchFilterCheck() {}

  /** Looks at the part of a plan that Spark is about to make physical. */
  static void check(LogicalPlan plan) {
    Failures.analyzed(
        () -> {
          LogicalPlan node = plan;
          Filter left = null;
          while (node instanceof Project || node instanceof Filter) {
            if (node instanceof Filter filter) {
              left = filter;
            }
            node = SparkCompat.children(node).get(0);
          }
          if (left != null
              && node instanceof DataSourceV2ScanRelation relation
              && relation.scan() instanceof BenoStreamScan scan
              && scan.isTableFunction()) {
            throw Failures.unsupported(
                "the filter of a search selects before the best rows are chosen, and this part of it"
                    + " cannot be decided there: "
                    + left.condition().sql());
          }
          return null;
        });
  }
}
