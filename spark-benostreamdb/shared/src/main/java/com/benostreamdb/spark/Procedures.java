package com.benostreamdb.spark;

import com.benostreamdb.IndexDescription;
import com.benostreamdb.Table;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** The procedures below {@code <catalog>.system}. */
final class Procedures {
  static final List<String> NAMES =
      List.of("create_index", "refresh_index", "drop_index", "show_indexes");

  static final DataType STRINGS = DataTypes.createArrayType(DataTypes.StringType);
  static final DataType STRING_MAP =
      DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType);

  private Procedures() {}

  static Procedure of(String name, BenoStreamCatalog catalog) {
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "create_index" -> new CreateIndexProcedure(catalog);
      case "refresh_index" -> new RefreshIndexProcedure(catalog);
      case "drop_index" -> new DropIndexProcedure(catalog);
      case "show_indexes" -> new ShowIndexesProcedure(catalog);
      default ->
          throw Failures.notFound(
              "no procedure '" + name + "'; there are " + String.join(", ", NAMES));
    };
  }

  /** The identifier that a procedure's table argument names inside its catalog. */
  static Identifier tableIdentifier(BenoStreamCatalog catalog, String text) {
    if (text.contains("/")) {
      return new TableIdentifier(new String[0], text, Map.of());
    }
    List<String> parts = SparkCompat.parseName(text);
    if (parts.size() > 1 && parts.get(0).equals(catalog.name())) {
      parts = parts.subList(1, parts.size());
    }
    int last = parts.size() - 1;
    CatalogManager catalogs = SparkCompat.catalogManager();
    if (last == 0 && catalogs.currentCatalog().name().equals(catalog.name())) {
      return Identifier.of(catalogs.currentNamespace(), parts.get(0));
    }
    return Identifier.of(parts.subList(0, last).toArray(String[]::new), parts.get(last));
  }

  /** A required string argument. */
  static String text(Procedure procedure, InternalRow arguments, int ordinal) {
    if (arguments.isNullAt(ordinal)) {
      throw Failures.invalidInput(
          procedure.name()
              + " takes no NULL as '"
              + procedure.parameters().get(ordinal).name()
              + "'");
    }
    return arguments.getUTF8String(ordinal).toString();
  }

  static String optionalText(InternalRow arguments, int ordinal) {
    return arguments.isNullAt(ordinal) ? "" : arguments.getUTF8String(ordinal).toString();
  }

  static List<String> texts(InternalRow arguments, int ordinal) {
    List<String> result = new ArrayList<>();
    if (!arguments.isNullAt(ordinal)) {
      ArrayData array = arguments.getArray(ordinal);
      for (int i = 0; i < array.numElements(); i++) {
        if (array.isNullAt(i)) {
          throw Failures.invalidInput("a list of columns holds no NULL");
        }
        result.add(array.getUTF8String(i).toString());
      }
    }
    return result;
  }

  static Map<String, String> textMap(InternalRow arguments, int ordinal) {
    Map<String, String> result = new HashMap<>();
    if (!arguments.isNullAt(ordinal)) {
      MapData map = arguments.getMap(ordinal);
      for (int i = 0; i < map.numElements(); i++) {
        if (map.valueArray().isNullAt(i)) {
          throw Failures.invalidInput("an option has no NULL value");
        }
        result.put(
            map.keyArray().getUTF8String(i).toString(),
            map.valueArray().getUTF8String(i).toString());
      }
    }
    return result;
  }

  /** A row of strings, numbers, lists and maps as Spark holds them. */
  static InternalRow row(Object... values) {
    Object[] converted = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      converted[i] = convert(values[i]);
    }
    return new GenericInternalRow(converted);
  }

  private static Object convert(Object value) {
    if (value instanceof String text) {
      return UTF8String.fromString(text);
    }
    if (value instanceof List<?> list) {
      return new GenericArrayData(list.stream().map(Procedures::convert).toArray());
    }
    if (value instanceof Map<?, ?> map) {
      return new ArrayBasedMapData(
          (ArrayData) convert(List.copyOf(map.keySet())),
          (ArrayData) convert(List.copyOf(map.values())));
    }
    return value;
  }

  /** An index of a table. Errors: unknown names, which list what is known. */
  static IndexDescription index(Table table, String name) {
    List<IndexDescription> indexes = table.listIndexes();
    return indexes.stream()
        .filter(index -> index.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                Failures.notFound(
                    table.describe().name()
                        + " has no index '"
                        + name
                        + "'; it has "
                        + indexes.stream().map(IndexDescription::name).sorted().toList()));
  }
}
