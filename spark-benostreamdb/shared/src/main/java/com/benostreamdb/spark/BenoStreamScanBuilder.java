package com.benostreamdb.spark;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.Filter;
import com.benostreamdb.ScanPlan;
import com.benostreamdb.ScanRequest;
import com.benostreamdb.Search;
import com.benostreamdb.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Collects what Spark pushes and plans the scan on the driver, at one snapshot. A filter is taken
 * only if the engine decides it exactly; limits and top-k are per split, Spark merges.
 */
final class BenoStreamScanBuilder
    implements SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownTopN {
  private final BenoStreamTable table;
  private final Table snapshot;
  private final ReadOptions options;
  private final Optional<Search> tableSearch;
  private final PredicateTranslator translator;
  private final boolean changesRows;

  private StructType required;
  private Predicate[] pushedPredicates = new Predicate[0];
  private final List<Filter> filters = new ArrayList<>();
  private Optional<Search> topN = Optional.empty();
  private OptionalInt limit = OptionalInt.empty();

  BenoStreamScanBuilder(BenoStreamTable table, Table snapshot, ReadOptions options) {
    this(table, snapshot, options, table.schema(), Optional.empty(), false);
  }

  /** A builder for a statement that changes the rows it reads: deleted rows are none of them. */
  static BenoStreamScanBuilder ofChange(
      BenoStreamTable table, Table snapshot, ReadOptions options) {
    return new BenoStreamScanBuilder(
        table, snapshot, options, table.schema(), Optional.empty(), true);
  }

  /**
   * A builder for a table function: the search belongs to the table, {@code schema} has its
   * columns.
   */
  BenoStreamScanBuilder(
      BenoStreamTable table,
      Table snapshot,
      ReadOptions options,
      StructType schema,
      Optional<Search> tableSearch) {
    this(table, snapshot, options, schema, tableSearch, false);
  }

  private BenoStreamScanBuilder(
      BenoStreamTable table,
      Table snapshot,
      ReadOptions options,
      StructType schema,
      Optional<Search> tableSearch,
      boolean changesRows) {
    this.table = table;
    this.snapshot = snapshot;
    this.options = options;
    this.tableSearch = tableSearch;
    this.required = schema;
    this.changesRows = changesRows;
    // Names are told apart by whoever comes first: a table's own column hides a metadata column.
    List<Column> columns = new ArrayList<>(table.description().columns());
    MetadataColumns.of(table.description()).stream()
        .filter(column -> !changesRows || !column.name().equals(MetadataColumns.DELETED))
        .forEach(columns::add);
    this.translator = new PredicateTranslator(columns);
  }

  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    return Failures.analyzed(
        () -> {
          List<Predicate> accepted = new ArrayList<>();
          List<Predicate> residual = new ArrayList<>();
          for (Predicate predicate : predicates) {
            Optional<Filter> filter = translator.translate(predicate);
            filter.ifPresent(filters::add);
            (filter.isPresent() ? accepted : residual).add(predicate);
          }
          pushedPredicates = accepted.toArray(new Predicate[0]);
          return residual.toArray(new Predicate[0]);
        });
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushedPredicates;
  }

  @Override
  public void pruneColumns(StructType requiredSchema) {
    required = requiredSchema;
  }

  @Override
  public boolean pushLimit(int rows) {
    if (tableSearch.isPresent()) {
      return false;
    }
    limit = OptionalInt.of(rows);
    return true;
  }

  @Override
  public boolean pushTopN(SortOrder[] orders, int rows) {
    return Failures.analyzed(
        () -> {
          if (tableSearch.isPresent() || options.range().isPresent()) {
            return false;
          }
          topN = TopNTranslator.translate(orders, rows, table.description(), options.searchMode());
          return topN.isPresent();
        });
  }

  /** Each split gives its own best rows: Spark sorts and cuts again. */
  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  @Override
  public Scan build() {
    return Failures.analyzed(
        () -> {
          ScanRequest.Builder request = ScanRequest.builder();
          filters.forEach(request::filter);
          limit.ifPresent(request::limit);
          Optional<Search> search = tableSearch.or(() -> topN);
          search.ifPresent(request::search);
          options.range().ifPresent(request::range);
          List<Integer> ids = new ArrayList<>();
          StructType readSchema = project(ids);
          request.project(ids);
          request.minSplits(SparkSession.active().sparkContext().defaultParallelism());
          String requested =
              ScanText.describe(table, pushedPredicates, limit, search, options.range());
          return new BenoStreamScan(
              table,
              () -> plan(request.build()),
              readSchema,
              requested,
              search,
              tableSearch.isPresent(),
              () -> new BenoStreamMicroBatchStream(table, readSchema, ids, options));
        });
  }

  private ScanPlan plan(ScanRequest request) {
    ScanPlan plan = snapshot.planScan(request);
    if (plan.exact().contains(false)) {
      throw Failures.internal("the engine does not decide a filter that was pushed to it");
    }
    return plan;
  }

  /**
   * The required columns and their ids; the score stands last because the engine appends it. A
   * column comes whole, whatever Spark needs of it.
   */
  private StructType project(List<Integer> ids) {
    Map<String, Column> columns = new HashMap<>();
    table.description().columns().forEach(column -> columns.put(column.name(), column));
    List<StructField> fields = new ArrayList<>();
    List<StructField> scores = new ArrayList<>();
    for (StructField field : required.fields()) {
      Column column = columns.get(field.name());
      if (column != null) {
        requireKnown(column);
        ids.add(column.id());
        fields.add(table.schema().apply(field.name()));
        continue;
      }
      Optional<Column> metadata = MetadataColumns.find(table.description(), field.name());
      if (metadata.isEmpty()) {
        scores.add(field);
        continue;
      }
      if (changesRows && field.name().equals(MetadataColumns.DELETED)) {
        // Asked for, it would bring the deleted rows; a statement changes none of them.
        fields.add(UnreadColumns.constant(field.name(), false));
        continue;
      }
      ids.add(metadata.get().id());
      fields.add(SparkTypes.toSpark(List.of(metadata.get())).apply(0));
    }
    fields.addAll(scores);
    return new StructType(fields.toArray(new StructField[0]));
  }

  private static void requireKnown(Column column) {
    if (column.type().kind() == Kind.UNKNOWN) {
      throw Failures.unsupported(
          "column '"
              + column.name()
              + "' has the type "
              + column.type().text()
              + ", which this version cannot read");
    }
  }
}
