package com.benostreamdb.spark;

import com.benostreamdb.Search;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What a search function reads: the table's columns, the score, and what decides ties. Each split
 * gives its own best rows; the plan above sorts and cuts.
 */
final class SearchTable implements SupportsRead {
  private final BenoStreamTable table;
  private final Search search;

  SearchTable(BenoStreamTable table, Search search) {
    this.table = table;
    this.search = search;
    for (String name : table.schema().fieldNames()) {
      if (isScore(name) || MetadataColumns.isReserved(name)) {
        throw Failures.unsupported(
            table.name() + " cannot be searched: its column '" + name + "' has a reserved name");
      }
    }
  }

  /** Whether a name is that of a search's extra column. */
  static boolean isScore(String name) {
    return name.equals(Search.DISTANCE) || name.equals(Search.SCORE);
  }

  String scoreColumn() {
    return search instanceof Search.Vector ? Search.DISTANCE : Search.SCORE;
  }

  @Override
  public String name() {
    return table.name();
  }

  @Override
  public StructType schema() {
    return table
        .schema()
        .add(scoreColumn(), DataTypes.DoubleType, true)
        .add(MetadataColumns.SEQUENCE, DataTypes.LongType, true)
        .add(MetadataColumns.FILE, DataTypes.StringType, false)
        .add(MetadataColumns.POSITION, DataTypes.LongType, false);
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return Failures.analyzed(
        () ->
            new BenoStreamScanBuilder(
                table, table.snapshot(), ReadOptions.of(options), schema(), Optional.of(search)));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SearchTable that
        && table.equals(that.table)
        && ScanText.sameSearch(Optional.of(search), Optional.of(that.search));
  }

  @Override
  public int hashCode() {
    return Objects.hash(table, scoreColumn());
  }
}
