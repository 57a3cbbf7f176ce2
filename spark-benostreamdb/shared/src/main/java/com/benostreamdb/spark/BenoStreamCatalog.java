package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.Session;
import com.benostreamdb.TableName;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A warehouse as a Spark catalog: tables, namespaces, and under {@code system} the vector functions
 * and procedures. Configured by {@code spark.sql.catalog.<name>.warehouse} and storage options.
 */
public final class BenoStreamCatalog extends ProcedureSupport
    implements TableCatalog, SupportsNamespaces, FunctionCatalog {
  private static final String SYSTEM = "system";
  private static final Set<String> PROVIDERS = Set.of("benostream", "iceberg");
  private static final Set<String> SPARK_PROPERTIES =
      Set.of(
          PROP_PROVIDER,
          TableCatalog.PROP_OWNER,
          TableCatalog.PROP_LOCATION,
          PROP_EXTERNAL,
          PROP_IS_MANAGED_LOCATION);

  private String name = "";
  private Map<String, String> options = new TreeMap<>();

  @Override
  public void initialize(String catalogName, CaseInsensitiveStringMap catalogOptions) {
    name = catalogName;
    options = SessionOptions.merge(Map.of(), catalogOptions.asCaseSensitiveMap());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[] defaultNamespace() {
    return new String[] {"default"};
  }

  // ---- tables

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    return Failures.analyzed(
        () -> {
          requireNamespace(namespace);
          return session().listTables(Arrays.asList(namespace)).stream()
              .map(table -> Identifier.of(namespace, table.name()))
              .toArray(Identifier[]::new);
        });
  }

  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    return Failures.analyzed(() -> opener(identifier).open(TableIdentifier.state(identifier)));
  }

  @Override
  public Table loadTable(Identifier identifier, String version) throws NoSuchTableException {
    return Failures.analyzed(
        () -> opener(identifier).open(only(identifier, TableVersion.ofVersion(version))));
  }

  @Override
  public Table loadTable(Identifier identifier, long timestampMicros) throws NoSuchTableException {
    return Failures.analyzed(
        () -> opener(identifier).open(only(identifier, TableVersion.ofMicros(timestampMicros))));
  }

  @Override
  public boolean tableExists(Identifier identifier) {
    return Failures.analyzed(
        () -> session(identifier).tableExists(TableIdentifier.toTableName(identifier)));
  }

  @Override
  public Table createTable(
      Identifier identifier,
      StructType schema,
      Transform[] partitions,
      Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return Failures.analyzed(
        () -> {
          requireCreatable(identifier, partitions, properties);
          Map<String, String> kept = new HashMap<>();
          properties.forEach(
              (key, value) -> {
                if (!SPARK_PROPERTIES.contains(key) && !key.startsWith(OPTION_PREFIX)) {
                  kept.put(key, value);
                }
              });
          try {
            com.benostreamdb.Table table =
                session(identifier)
                    .createTable(
                        TableIdentifier.toTableName(identifier),
                        SparkTypes.toColumns(schema),
                        kept);
            return BenoStreamTable.newest(table, name, options(identifier));
          } catch (BenoStreamException e) {
            if (e.kind() == Kind.ALREADY_EXISTS) {
              throw new TableAlreadyExistsException(identifier);
            }
            if (e.kind() == Kind.NOT_FOUND) {
              throw new NoSuchNamespaceException(identifier.namespace());
            }
            throw e;
          }
        });
  }

  @Override
  public Table alterTable(Identifier identifier, TableChange... changes)
      throws NoSuchTableException {
    return Failures.analyzed(
        () -> {
          com.benostreamdb.Table table = open(identifier, Session::openTable);
          TableChanges.apply(table, changes);
          return loadTable(identifier);
        });
  }

  @Override
  public boolean dropTable(Identifier identifier) {
    return Failures.analyzed(
        () -> {
          try {
            session(identifier).dropTable(TableIdentifier.toTableName(identifier));
            return true;
          } catch (BenoStreamException e) {
            if (e.kind() == Kind.NOT_FOUND) {
              return false;
            }
            throw e;
          }
        });
  }

  @Override
  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    Failures.analyzed(
        () -> {
          try {
            session(from)
                .renameTable(TableIdentifier.toTableName(from), TableIdentifier.toTableName(to));
          } catch (BenoStreamException e) {
            if (e.kind() == Kind.NOT_FOUND) {
              throw new NoSuchTableException(from);
            }
            if (e.kind() == Kind.ALREADY_EXISTS) {
              throw new TableAlreadyExistsException(to);
            }
            throw e;
          }
          return null;
        });
  }

  // ---- namespaces

  @Override
  public String[][] listNamespaces() {
    return Failures.analyzed(() -> toArrays(session().listNamespaces(List.of())));
  }

  @Override
  public String[][] listNamespaces(String[] parent) throws NoSuchNamespaceException {
    return Failures.analyzed(
        () -> {
          if (parent.length == 0) {
            return listNamespaces();
          }
          requireNamespace(parent);
          return toArrays(session().listNamespaces(Arrays.asList(parent)));
        });
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    return Failures.analyzed(
        () -> namespace.length == 0 || session().namespaceExists(Arrays.asList(namespace)));
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    return Failures.analyzed(
        () -> {
          requireNamespace(namespace);
          return new HashMap<>();
        });
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata)
      throws NamespaceAlreadyExistsException {
    Failures.analyzed(
        () -> {
          if (metadata.keySet().stream()
              .anyMatch(key -> !key.equals(SupportsNamespaces.PROP_OWNER))) {
            throw Failures.unsupported(
                "a namespace keeps no properties, no comment and no location");
          }
          try {
            session().createNamespace(Arrays.asList(namespace));
          } catch (BenoStreamException e) {
            if (e.kind() == Kind.ALREADY_EXISTS) {
              throw new NamespaceAlreadyExistsException(namespace);
            }
            throw e;
          }
          return null;
        });
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    Failures.analyzed(
        () -> {
          throw Failures.unsupported("a namespace keeps no properties");
        });
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    return Failures.analyzed(
        () -> {
          requireNamespace(namespace);
          List<String> parts = Arrays.asList(namespace);
          List<TableName> tables = session().listTables(parts);
          List<List<String>> children = session().listNamespaces(parts);
          if (!cascade && !(tables.isEmpty() && children.isEmpty())) {
            throw new NonEmptyNamespaceException(namespace);
          }
          for (TableName table : tables) {
            session().dropTable(TableName.of(parts, table.name()));
          }
          for (List<String> child : children) {
            dropNamespace(child.toArray(String[]::new), true);
          }
          session().dropNamespace(parts);
          return true;
        });
  }

  // ---- functions and procedures

  @Override
  public Identifier[] listFunctions(String[] namespace) {
    if (!isSystem(namespace)) {
      return new Identifier[0];
    }
    return Arrays.stream(DistanceMetric.values())
        .map(metric -> Identifier.of(namespace, metric.functionName()))
        .toArray(Identifier[]::new);
  }

  @Override
  public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
    if (isSystem(identifier.namespace())) {
      DistanceMetric metric = DistanceMetric.ofFunction(identifier.name()).orElse(null);
      if (metric != null) {
        return new DistanceFunction(metric);
      }
    }
    throw new NoSuchFunctionException(identifier);
  }

  @Override
  Procedure procedure(Identifier identifier) {
    if (!isSystem(identifier.namespace())) {
      throw Failures.notFound("no procedure " + identifier + "; procedures stand in " + SYSTEM);
    }
    return Procedures.of(identifier.name(), this);
  }

  // ---- inside

  /** The table of a procedure's or a function's argument, at its newest snapshot. */
  com.benostreamdb.Table openNewest(Identifier identifier) {
    return Failures.analyzed(() -> open(identifier, Session::openTable));
  }

  /** The session options for an identifier, as executors need them. */
  Map<String, String> options(Identifier identifier) {
    return TableIdentifier.options(identifier, options);
  }

  private Session session() {
    return Sessions.get(options);
  }

  private Session session(Identifier identifier) {
    return Sessions.get(options(identifier));
  }

  private static Optional<AsOf> only(Identifier identifier, AsOf state) {
    if (TableIdentifier.state(identifier).isPresent()) {
      throw Failures.invalidInput("the reader's options name two versions of " + identifier);
    }
    return Optional.of(state);
  }

  private TableOpener opener(Identifier identifier) {
    return new TableOpener(session(identifier), identifier, name, options(identifier));
  }

  private interface Opener {
    com.benostreamdb.Table open(Session session, TableName table);
  }

  private com.benostreamdb.Table open(Identifier identifier, Opener opener)
      throws NoSuchTableException {
    Session session = session(identifier);
    TableName table = TableIdentifier.toTableName(identifier);
    try {
      return opener.open(session, table);
    } catch (BenoStreamException e) {
      // What is missing may be a snapshot of a table that is there.
      if (e.kind() == Kind.NOT_FOUND && !session.tableExists(table)) {
        throw new NoSuchTableException(identifier);
      }
      throw e;
    }
  }

  private static void requireCreatable(
      Identifier identifier, Transform[] partitions, Map<String, String> properties) {
    if (partitions.length > 0) {
      throw Failures.unsupported("partitioned tables cannot be created yet");
    }
    String provider = properties.get(PROP_PROVIDER);
    if (provider != null && !PROVIDERS.contains(provider.toLowerCase(Locale.ROOT))) {
      throw Failures.unsupported(
          "this catalog keeps tables of benostream, not of "
              + provider
              + "; say USING benostream, or .format(\"benostream\") before saveAsTable"
              + " (iceberg is taken too)");
    }
    if (properties.containsKey(TableCatalog.PROP_LOCATION)
        && !TableIdentifier.isLocation(identifier)) {
      throw Failures.unsupported(
          "a table of a warehouse lies in the warehouse; for another place name it by its path");
    }
  }

  private void requireNamespace(String[] namespace) throws NoSuchNamespaceException {
    if (!namespaceExists(namespace)) {
      throw new NoSuchNamespaceException(namespace);
    }
  }

  private static boolean isSystem(String[] namespace) {
    return namespace.length == 1 && namespace[0].equalsIgnoreCase(SYSTEM);
  }

  private static String[][] toArrays(List<List<String>> namespaces) {
    return namespaces.stream().map(parts -> parts.toArray(String[]::new)).toArray(String[][]::new);
  }
}
