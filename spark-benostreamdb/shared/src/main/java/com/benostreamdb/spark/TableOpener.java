package com.benostreamdb.spark;

import com.benostreamdb.AsOf;
import com.benostreamdb.BenoStreamException;
import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.Session;
import com.benostreamdb.Table;
import com.benostreamdb.TableName;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * Opens what an identifier means: a table, or behind a table's name one of its metadata tables or
 * states, as in {@code ns.table.snapshots} and {@code ns.table.branch_audit}; behind a location
 * with a {@code $}. A table that really has such a name comes first.
 */
final class TableOpener {
  private static final Set<String> METADATA_TABLES =
      Set.of(
          "snapshots",
          "history",
          "refs",
          "metadata_log_entries",
          "files",
          "data_files",
          "delete_files",
          "entries",
          "manifests",
          "partitions",
          "all_files",
          "all_data_files",
          "all_delete_files",
          "all_entries",
          "all_manifests");

  private final Session session;
  private final Identifier identifier;
  private final String catalog;
  private final Map<String, String> options;

  TableOpener(Session session, Identifier identifier, String catalog, Map<String, String> options) {
    this.session = session;
    this.identifier = identifier;
    this.catalog = catalog;
    this.options = options;
  }

  /** What the identifier means, at {@code state} if there is one. */
  BenoStreamTable open(Optional<AsOf> state) throws NoSuchTableException {
    TableName table = TableIdentifier.toTableName(identifier);
    try {
      return read(table, state);
    } catch (BenoStreamException e) {
      // What is missing may be a snapshot of a table that is there.
      if (e.kind() != Kind.NOT_FOUND || session.tableExists(table)) {
        throw e;
      }
    }
    Owned owned = owned();
    Optional<AsOf> selected = TableVersion.ofSelector(owned.part());
    boolean isMetadata = METADATA_TABLES.contains(owned.part().toLowerCase(Locale.ROOT));
    if ((!isMetadata && selected.isEmpty()) || !session.tableExists(owned.table())) {
      throw new NoSuchTableException(identifier);
    }
    if (isMetadata) {
      return metadata(owned, state);
    }
    if (state.isPresent()) {
      throw Failures.invalidInput(identifier + " names a version already");
    }
    return read(owned.table(), selected);
  }

  /** A table and what stands behind its name. */
  private record Owned(TableName table, String part) {}

  private Owned owned() throws NoSuchTableException {
    String[] namespace = identifier.namespace();
    String name = identifier.name();
    if (TableIdentifier.isLocation(identifier) && name.contains("$")) {
      int at = name.lastIndexOf('$');
      return new Owned(TableName.at(name.substring(0, at)), name.substring(at + 1));
    }
    if (namespace.length == 0) {
      throw new NoSuchTableException(identifier);
    }
    int last = namespace.length - 1;
    Identifier owner = Identifier.of(Arrays.copyOf(namespace, last), namespace[last]);
    return new Owned(TableIdentifier.toTableName(owner), name);
  }

  private BenoStreamTable read(TableName table, Optional<AsOf> state) {
    return state.isPresent()
        ? BenoStreamTable.pinned(session.openTable(table, state.get()), catalog, options)
        : BenoStreamTable.newest(session.openTable(table), catalog, options);
  }

  private BenoStreamTable metadata(Owned owned, Optional<AsOf> state) {
    String kind = owned.part().toLowerCase(Locale.ROOT);
    if (state.isEmpty()) {
      Table opened = session.openMetadataTable(owned.table(), kind);
      return BenoStreamTable.newest(opened, catalog, options);
    }
    Table opened = session.openMetadataTable(owned.table(), kind, state.get());
    return BenoStreamTable.pinned(opened, catalog, options);
  }
}
