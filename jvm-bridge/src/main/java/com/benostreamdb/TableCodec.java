package com.benostreamdb;

import com.benostreamdb.proto.Wire;
import com.google.protobuf.ByteString;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Names, schemas, descriptions and commits as messages. */
final class TableCodec {
  private TableCodec() {}

  static Wire.Namespace namespace(List<String> parts) {
    return Wire.Namespace.newBuilder().addAllParts(parts).build();
  }

  static Wire.TableName name(TableName name) {
    return Wire.TableName.newBuilder()
        .addAllNamespace(name.namespace())
        .setName(name.name())
        .setLocation(name.location())
        .build();
  }

  static TableName name(Wire.TableName name) {
    return new TableName(name.getNamespaceList(), name.getName(), name.getLocation());
  }

  static Wire.OpenTable.Builder open(TableName table) {
    return Wire.OpenTable.newBuilder()
        .setAbiVersion(NativeLibrary.ABI_VERSION)
        .setTable(name(table));
  }

  static Wire.OpenTable.Builder open(TableName table, AsOf state) {
    Wire.OpenTable.Builder request = open(table);
    if (state instanceof AsOf.Snapshot snapshot) {
      return request.setSnapshotId(snapshot.id());
    }
    if (state instanceof AsOf.Timestamp timestamp) {
      return request.setAsOfTimestampMs(timestamp.millis());
    }
    if (state instanceof AsOf.Branch branch) {
      return request.setBranch(branch.name());
    }
    if (state instanceof AsOf.Tag tag) {
      return request.setTag(tag.name());
    }
    return request.setReference(((AsOf.Reference) state).name());
  }

  static List<Wire.Column> columns(List<Column> columns) {
    return columns.stream().map(TableCodec::column).collect(Collectors.toList());
  }

  private static Wire.Column column(Column column) {
    Wire.Column.Builder message =
        Wire.Column.newBuilder()
            .setId(column.id())
            .setName(column.name())
            .setType(type(column.type()))
            .setRequired(column.required());
    column.doc().ifPresent(message::setDoc);
    return message.build();
  }

  private static Wire.ColumnType type(ColumnType type) {
    return Wire.ColumnType.newBuilder()
        .setKind(Wire.ColumnType.Kind.valueOf(type.kind().name()))
        .setPrecision(type.precision())
        .setScale(type.scale())
        .addAllChildren(columns(type.children()))
        .setText(type.text())
        .build();
  }

  private static List<Column> columnsOf(List<Wire.Column> columns) {
    return columns.stream().map(TableCodec::column).collect(Collectors.toUnmodifiableList());
  }

  private static Column column(Wire.Column column) {
    return new Column(
        column.getId(),
        column.getName(),
        type(column.getType()),
        column.getRequired(),
        column.hasDoc() ? Optional.of(column.getDoc()) : Optional.empty());
  }

  private static ColumnType type(Wire.ColumnType type) {
    ColumnType.Kind kind =
        switch (type.getKind()) {
          case UNSPECIFIED, UNRECOGNIZED -> ColumnType.Kind.UNKNOWN;
          default -> ColumnType.Kind.valueOf(type.getKind().name());
        };
    return new ColumnType(
        kind,
        type.getPrecision(),
        type.getScale(),
        columnsOf(type.getChildrenList()),
        type.getText());
  }

  static TableDescription description(Wire.TableDescription table) {
    return new TableDescription(
        name(table.getTable()),
        table.getLocation(),
        table.getUuid(),
        Session.optional(table.hasSnapshotId(), table.getSnapshotId()),
        columnsOf(table.getColumnsList()),
        table.getPropertiesMap(),
        table.getFormatVersion(),
        table.getVectorDimensionsMap(),
        Session.optional(table.hasRowCount(), table.getRowCount()),
        Session.optional(table.hasSizeBytes(), table.getSizeBytes()),
        table.getMetadataLocation(),
        table.getReadOnly(),
        table.hasPartition() ? Optional.of(type(table.getPartition())) : Optional.empty());
  }

  static Wire.MaintainRequest properties(Map<String, String> set, Set<String> remove) {
    return Wire.MaintainRequest.newBuilder()
        .setAbiVersion(NativeLibrary.ABI_VERSION)
        .setChangeProperties(Wire.ChangeProperties.newBuilder().putAllSet(set).addAllRemove(remove))
        .build();
  }

  static Wire.CommitRequest.Builder commit(CommitRequest request) {
    Wire.CommitRequest.Builder message =
        Wire.CommitRequest.newBuilder()
            .setAbiVersion(NativeLibrary.ABI_VERSION)
            .setOperation(Wire.CommitRequest.Operation.valueOf(request.operation().name()));
    request.messages().forEach(bytes -> message.addMessages(ByteString.copyFrom(bytes)));
    request.baseSnapshotId().ifPresent(message::setBaseSnapshotId);
    return message;
  }
}
