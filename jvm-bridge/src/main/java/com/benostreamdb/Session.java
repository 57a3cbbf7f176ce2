package com.benostreamdb;

import com.benostreamdb.proto.Wire;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** A warehouse with its storage options. Thread safe; does not cross processes. */
public final class Session implements AutoCloseable {
  private final NativeHandle handle;

  private Session(long handle, boolean shared) {
    this.handle =
        shared
            ? NativeHandle.collected(this, handle, "session")
            : new NativeHandle(this, handle, "session");
  }

  /** Opens a session; {@code warehouse}, {@code map-prefix} and storage options are understood. */
  public static Session open(Map<String, String> options) {
    return new Session(openHandle(options), false);
  }

  /** Opens a session for users who do not know of each other: it ends when nobody holds it. */
  public static Session openShared(Map<String, String> options) {
    return new Session(openHandle(options), true);
  }

  private static long openHandle(Map<String, String> options) {
    Wire.OpenSession request =
        Wire.OpenSession.newBuilder()
            .setAbiVersion(NativeLibrary.ABI_VERSION)
            .putAllOptions(options)
            .build();
    return Native.openSession(request.toByteArray());
  }

  long handle() {
    return handle.get();
  }

  /** The namespaces directly below {@code parent}; the root is an empty list. */
  public List<List<String>> listNamespaces(List<String> parent) {
    Wire.ListNamespaces list = Wire.ListNamespaces.newBuilder().addAllParent(parent).build();
    return catalog(catalogRequest().setListNamespaces(list)).getNamespacesList().stream()
        .map(namespace -> List.copyOf(namespace.getPartsList()))
        .collect(Collectors.toUnmodifiableList());
  }

  /** Creates a namespace; one that exists is an error. */
  public void createNamespace(List<String> namespace) {
    catalog(catalogRequest().setCreateNamespace(TableCodec.namespace(namespace)));
  }

  /** Drops an empty namespace. */
  public void dropNamespace(List<String> namespace) {
    catalog(catalogRequest().setDropNamespace(TableCodec.namespace(namespace)));
  }

  /** Whether the namespace exists. */
  public boolean namespaceExists(List<String> namespace) {
    return catalog(catalogRequest().setNamespaceExists(TableCodec.namespace(namespace)))
        .getExists();
  }

  /** The tables of a namespace. */
  public List<TableName> listTables(List<String> namespace) {
    Wire.ListTables list =
        Wire.ListTables.newBuilder().setNamespace(TableCodec.namespace(namespace)).build();
    return catalog(catalogRequest().setListTables(list)).getTablesList().stream()
        .map(TableCodec::name)
        .collect(Collectors.toUnmodifiableList());
  }

  /** Whether the table exists. */
  public boolean tableExists(TableName table) {
    return catalog(catalogRequest().setTableExists(TableCodec.name(table))).getExists();
  }

  /** Creates an empty table and opens it; ids of the columns are assigned by the engine. */
  public Table createTable(TableName table, List<Column> columns, Map<String, String> properties) {
    Wire.CreateTable create =
        Wire.CreateTable.newBuilder()
            .setTable(TableCodec.name(table))
            .addAllColumns(TableCodec.columns(columns))
            .putAllProperties(properties)
            .build();
    catalog(catalogRequest().setCreateTable(create));
    return openTable(table);
  }

  /** Drops a table and what its metadata references; gives the files that were left. */
  public List<String> dropTable(TableName table) {
    return List.copyOf(
        catalog(catalogRequest().setDropTable(TableCodec.name(table))).getKeptFilesList());
  }

  /** Renames a table. */
  public void renameTable(TableName from, TableName to) {
    Wire.RenameTable rename =
        Wire.RenameTable.newBuilder()
            .setFrom(TableCodec.name(from))
            .setTo(TableCodec.name(to))
            .build();
    catalog(catalogRequest().setRenameTable(rename));
  }

  /** Opens a table at its newest snapshot and pins it there. */
  public Table openTable(TableName table) {
    return open(TableCodec.open(table));
  }

  /** Opens a table at an older state, or at a branch or tag; it cannot be changed there. */
  public Table openTable(TableName table, AsOf state) {
    return open(TableCodec.open(table, state));
  }

  /** Opens a metadata table, such as {@code snapshots}, of a table's newest state. */
  public Table openMetadataTable(TableName table, String kind) {
    return open(TableCodec.open(table).setMetadataTable(kind));
  }

  /** Opens a metadata table of a table at an older state. */
  public Table openMetadataTable(TableName table, String kind, AsOf state) {
    return open(TableCodec.open(table, state).setMetadataTable(kind));
  }

  /** Builds one piece of an index, in any process; the answer goes to {@link Table#commitIndex}. */
  public byte[] buildIndexPiece(byte[] piece) {
    try {
      return Native.buildIndexPiece(handle(), piece);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** Stops what runs in this session, as far as it can be stopped. */
  public void cancel() {
    Native.cancel(handle());
  }

  @Override
  public void close() {
    handle.close();
  }

  private Table open(Wire.OpenTable.Builder request) {
    long table = Native.openTable(handle(), request.build().toByteArray());
    return new Table(this, table, request.getMetadataTable());
  }

  private static Wire.CatalogRequest.Builder catalogRequest() {
    return Wire.CatalogRequest.newBuilder().setAbiVersion(NativeLibrary.ABI_VERSION);
  }

  private Wire.CatalogResponse catalog(Wire.CatalogRequest.Builder request) {
    try {
      byte[] answer = Native.catalog(handle(), request.build().toByteArray());
      return Answers.parse(answer, Wire.CatalogResponse.parser());
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  static OptionalLong optional(boolean present, long value) {
    return present ? OptionalLong.of(value) : OptionalLong.empty();
  }
}
