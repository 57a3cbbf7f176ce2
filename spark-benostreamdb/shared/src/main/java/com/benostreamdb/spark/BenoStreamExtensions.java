package com.benostreamdb.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The session extension ({@code spark.sql.extensions}): the table functions {@code vector_search}
 * and {@code bm25_search}.
 */
public final class BenoStreamExtensions
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    SparkCompat.injectTableFunction(
        extensions,
        VectorSearchFunction.NAME,
        VectorSearchFunction.USAGE,
        VectorSearchFunction.EXAMPLE,
        arguments -> Failures.analyzed(() -> VectorSearchFunction.plan(arguments)));
    SparkCompat.injectTableFunction(
        extensions,
        TextSearchFunction.NAME,
        TextSearchFunction.USAGE,
        TextSearchFunction.EXAMPLE,
        arguments -> Failures.analyzed(() -> TextSearchFunction.plan(arguments)));
    SparkCompat.injectPlanCheck(extensions, SearchFilterCheck::check);
    return BoxedUnit.UNIT;
  }
}
