package com.benostreamdb.spark;

import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.IndexBuild;
import com.benostreamdb.IndexDescription;
import com.benostreamdb.Table;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.sql.catalyst.analysis.IndexAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchIndexException;
import org.apache.spark.sql.connector.catalog.index.SupportsIndex;
import org.apache.spark.sql.connector.catalog.index.TableIndex;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import scala.Option;

/** Spark's own CREATE INDEX and DROP INDEX. */
interface TableIndexes extends SupportsIndex {
  /** The table at its newest snapshot; the caller closes it. */
  Table openNewest();

  /** The session options, as executors need them. */
  Map<String, String> options();

  @Override
  default void createIndex(
      String indexName,
      NamedReference[] columns,
      Map<NamedReference, Map<String, String>> columnsProperties,
      Map<String, String> properties) {
    Failures.analyzed(
        () -> {
          if (columnsProperties.values().stream().anyMatch(of -> !of.isEmpty())) {
            throw Failures.unsupported("a column of an index has no options, only the index has");
          }
          Map<String, String> parameters = new HashMap<>(properties);
          String kind = parameters.remove(PROP_TYPE);
          if (kind == null) {
            throw Failures.invalidInput(
                "an index needs its kind: CREATE INDEX .. ON .. USING bitmap (..)");
          }
          List<String> names =
              Arrays.stream(columns).map(column -> String.join(".", column.fieldNames())).toList();
          IndexBuild build = new IndexBuild(indexName, kind, names, parameters, List.of(), false);
          try (Table newest = openNewest()) {
            return IndexCreation.run(newest, build, options());
          } catch (BenoStreamException e) {
            if (e.kind() == Kind.ALREADY_EXISTS) {
              throw new IndexAlreadyExistsException(indexName, toString(), Option.empty());
            }
            throw e;
          }
        });
  }

  @Override
  default void dropIndex(String indexName) {
    Failures.analyzed(
        () -> {
          try (Table newest = openNewest()) {
            newest.dropIndex(indexName, false);
            return null;
          } catch (BenoStreamException e) {
            if (e.kind() == Kind.NOT_FOUND) {
              throw new NoSuchIndexException(indexName, toString(), Option.empty());
            }
            throw e;
          }
        });
  }

  @Override
  default boolean indexExists(String indexName) {
    return Arrays.stream(listIndexes()).anyMatch(index -> index.indexName().equals(indexName));
  }

  @Override
  default TableIndex[] listIndexes() {
    return Failures.analyzed(
        () -> {
          try (Table newest = openNewest()) {
            return newest.listIndexes().stream()
                .map(TableIndexes::toSpark)
                .toArray(TableIndex[]::new);
          }
        });
  }

  private static TableIndex toSpark(IndexDescription index) {
    Properties properties = new Properties();
    properties.putAll(index.options());
    return new TableIndex(
        index.name(),
        index.kind(),
        index.columns().stream().map(Expressions::column).toArray(NamedReference[]::new),
        Map.of(),
        properties);
  }
}
