package com.benostreamdb;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a table is at one snapshot.
 *
 * @param name as it was opened
 * @param location its root
 * @param uuid its identity
 * @param snapshotId absent for a table without a snapshot
 * @param columns top-level columns in order
 * @param properties table properties
 * @param formatVersion Iceberg format version
 * @param vectorDimensions declared dimension by column name
 * @param rowCount live rows where the metadata tells
 * @param sizeBytes bytes of the data files where the metadata tells
 * @param metadataLocation the metadata file that was read
 * @param readOnly whether writes are refused
 * @param partition the type of the metadata column {@code _partition}, where it can be told
 */
public record TableDescription(
    TableName name,
    String location,
    String uuid,
    OptionalLong snapshotId,
    List<Column> columns,
    Map<String, String> properties,
    int formatVersion,
    Map<String, Integer> vectorDimensions,
    OptionalLong rowCount,
    OptionalLong sizeBytes,
    String metadataLocation,
    boolean readOnly,
    Optional<ColumnType> partition) {
  public TableDescription {
    columns = List.copyOf(columns);
    properties = Map.copyOf(properties);
    vectorDimensions = Map.copyOf(vectorDimensions);
  }
}
