package com.benostreamdb.spark;

import java.nio.ByteBuffer;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.Row;
import scala.jdk.javaapi.CollectionConverters;

/** Iceberg's own reader without Spark, and one form for its values and those of Spark. */
final class GenericReader {
  private GenericReader() {}

  private static Table table(String name) {
    String location = SparkFixture.WAREHOUSE.resolve(name.replace('.', '/')).toUri().toString();
    return new HadoopTables(new Configuration()).load(location);
  }

  static List<Record> records(String name) throws Exception {
    List<Record> records = new ArrayList<>();
    try (CloseableIterable<Record> found = IcebergGenerics.read(table(name)).build()) {
      found.forEach(record -> records.add(record.copy()));
    }
    return records;
  }

  static List<String> columnNames(String name) {
    return table(name).schema().columns().stream().map(Types.NestedField::name).toList();
  }

  /** Rows by their first column, which is an int and unique. */
  static Map<Integer, List<Object>> rows(String name) throws Exception {
    Map<Integer, List<Object>> rows = new TreeMap<>();
    int width = columnNames(name).size();
    for (Record record : records(name)) {
      // Where there are deletes, the position follows the columns.
      List<Object> row = fields(record).subList(0, width);
      if (rows.put((Integer) row.get(0), row) != null) {
        throw new IllegalStateException("row " + row.get(0) + " comes twice");
      }
    }
    return rows;
  }

  /** As {@link #rows}, of a query that Spark answers without us. */
  static Map<Integer, List<Object>> bySpark(String query) {
    Map<Integer, List<Object>> rows = new TreeMap<>();
    SparkFixture.spark().conf().set("spark.sql.datetime.java8API.enabled", "true");
    try {
      for (Row row : (Row[]) SparkFixture.spark().sql(query).collect()) {
        rows.put(row.getInt(0), fields(row));
      }
    } finally {
      SparkFixture.spark().conf().unset("spark.sql.datetime.java8API.enabled");
    }
    return rows;
  }

  private static List<Object> fields(Row row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < row.size(); i++) {
      values.add(plain(row.get(i)));
    }
    return values;
  }

  private static List<Object> fields(Record record) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < record.size(); i++) {
      values.add(plain(record.get(i)));
    }
    return values;
  }

  /** Floats keep the sign of zero and NaN equals itself, as {@code equals} has it. */
  static Object plain(Object value) {
    if (value instanceof Row row) {
      return fields(row);
    } else if (value instanceof Record record) {
      return fields(record);
    } else if (value instanceof scala.collection.Map<?, ?> map) {
      return plain(CollectionConverters.asJava(map));
    } else if (value instanceof scala.collection.Seq<?> list) {
      return plain(CollectionConverters.asJava(list));
    } else if (value instanceof Map<?, ?> map) {
      Map<Object, Object> entries = new HashMap<>();
      map.forEach((key, inner) -> entries.put(plain(key), plain(inner)));
      return entries;
    } else if (value instanceof List<?> list) {
      List<Object> elements = new ArrayList<>();
      list.forEach(element -> elements.add(plain(element)));
      return elements;
    } else if (value instanceof OffsetDateTime instant) {
      return instant.toInstant();
    } else if (value instanceof ByteBuffer bytes) {
      byte[] copy = new byte[bytes.remaining()];
      bytes.duplicate().get(copy);
      return plain(copy);
    } else if (value instanceof byte[] bytes) {
      return "0x" + HexFormat.of().formatHex(bytes);
    } else if (value instanceof Byte || value instanceof Short) {
      return ((Number) value).intValue();
    }
    return value;
  }
}
