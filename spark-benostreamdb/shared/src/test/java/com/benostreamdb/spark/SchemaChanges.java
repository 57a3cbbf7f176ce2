package com.benostreamdb.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Changes of a table's columns and partitions. */
final class SchemaChanges {
  static final List<String> NAMES =
      List.of(
          "add column",
          "add nested column",
          "add column with default",
          "drop column",
          "rename column",
          "move column",
          "promote column",
          "add partition field",
          "remove partition field");

  private static final Type[] TYPES = {
    Types.IntegerType.get(),
    Types.StringType.get(),
    Types.DoubleType.get(),
    Types.BinaryType.get(),
    Types.BooleanType.get(),
    Types.DateType.get()
  };

  private final Table table;
  private final Random random;
  private final Set<Integer> needed;
  private int names;

  /** Iceberg's generic reader of ORC does not know initial defaults. */
  private boolean hasOrc;

  private boolean hasDefaults;

  SchemaChanges(Table table, Random random, Set<Integer> needed) {
    this.table = table;
    this.random = random;
    this.needed = needed;
  }

  static PartitionSpec spec(Schema schema, Random random) {
    PartitionSpec.Builder spec = PartitionSpec.builderFor(schema);
    return switch (random.nextInt(8)) {
      case 0 -> spec.identity("a").build();
      case 1 -> spec.bucket("b", 3).build();
      case 2 -> spec.truncate("b", 1).build();
      case 3 -> spec.month("d").build();
      case 4 -> spec.day("t").truncate("a", 4).build();
      case 5 -> spec.hour("t").build();
      default -> PartitionSpec.unpartitioned();
    };
  }

  /** Any format that the oracle reads with the table's columns. */
  FileFormat anyFormat() {
    FileFormat format =
        switch (random.nextInt(hasDefaults ? 3 : 4)) {
          case 0, 1 -> FileFormat.PARQUET;
          case 2 -> FileFormat.AVRO;
          default -> FileFormat.ORC;
        };
    hasOrc |= format == FileFormat.ORC;
    return format;
  }

  /** False where there is nothing to change. */
  boolean apply(String operation) {
    UpdateSchema update = table.updateSchema();
    boolean happens =
        switch (operation) {
          case "add column" -> update.addColumn(name(), TYPES[random.nextInt(6)]) != null;
          case "add nested column" ->
              update.addColumn(struct(), name(), TYPES[random.nextInt(6)]) != null;
          case "add column with default" -> addDefault(update);
          case "drop column" -> drop(update);
          case "rename column" -> update.renameColumn(any().name(), name()) != null;
          case "move column" -> move(update);
          case "promote column" -> promote(update);
          case "add partition field" -> addField();
          case "remove partition field" -> removeField();
          default -> throw new IllegalArgumentException(operation);
        };
    if (happens && !operation.contains("partition")) {
      update.commit();
    }
    return happens;
  }

  private String name() {
    return "n" + ++names;
  }

  private Types.NestedField any() {
    List<Types.NestedField> columns = table.schema().columns();
    return columns.get(random.nextInt(columns.size()));
  }

  private String struct() {
    return table.schema().findColumnName(7);
  }

  private boolean addDefault(UpdateSchema update) {
    if (((BaseTable) table).operations().current().formatVersion() < 3 || hasOrc) {
      return false;
    }
    hasDefaults = true;
    switch (random.nextInt(3)) {
      case 0 -> update.addColumn(name(), Types.IntegerType.get(), Literal.of(random.nextInt(9)));
      case 1 -> update.addColumn(name(), Types.StringType.get(), Literal.of("ab"));
      default -> update.addColumn(struct(), name(), Types.LongType.get(), Literal.of(5L));
    }
    return true;
  }

  private boolean drop(UpdateSchema update) {
    Types.NestedField column = any();
    boolean isNeeded =
        needed.contains(column.fieldId())
            || column.fieldId() == 1
            || column.fieldId() == 7
            || table.specs().values().stream()
                .flatMap(spec -> spec.fields().stream())
                .anyMatch(field -> field.sourceId() == column.fieldId());
    if (!isNeeded) {
      update.deleteColumn(column.name());
    }
    return !isNeeded;
  }

  private boolean move(UpdateSchema update) {
    Types.NestedField column = any();
    Types.NestedField other = any();
    if (column.fieldId() == other.fieldId()) {
      update.moveFirst(column.name());
    } else {
      update.moveAfter(column.name(), other.name());
    }
    return true;
  }

  private boolean promote(UpdateSchema update) {
    List<Types.NestedField> columns = new ArrayList<>(table.schema().columns());
    columns.addAll(table.schema().findType(struct()).asStructType().fields());
    columns.removeIf(column -> wider(column.type()) == null);
    if (columns.isEmpty()) {
      return false;
    }
    Types.NestedField column = columns.get(random.nextInt(columns.size()));
    String name = table.schema().findColumnName(column.fieldId());
    update.updateColumn(name, wider(column.type()));
    return true;
  }

  private static Type.PrimitiveType wider(Type type) {
    return switch (type.typeId()) {
      case INTEGER -> Types.LongType.get();
      case FLOAT -> Types.DoubleType.get();
      case DECIMAL -> {
        Types.DecimalType decimal = (Types.DecimalType) type;
        yield decimal.precision() < 30
            ? Types.DecimalType.of(decimal.precision() + 5, decimal.scale())
            : null;
      }
      default -> null;
    };
  }

  private boolean addField() {
    Types.NestedField column = any();
    Term term =
        switch (column.type().typeId()) {
          case INTEGER, LONG -> Expressions.truncate(column.name(), 2 + random.nextInt(5));
          case STRING -> Expressions.bucket(column.name(), 2 + random.nextInt(3));
          case DATE -> Expressions.year(column.name());
          case TIMESTAMP -> Expressions.day(column.name());
          case DECIMAL, BOOLEAN -> Expressions.ref(column.name());
          default -> null;
        };
    boolean isNew =
        table.spec().fields().stream().noneMatch(field -> field.sourceId() == column.fieldId());
    if (term == null || !isNew || table.spec().fields().size() > 2) {
      return false;
    }
    table.updateSpec().addField(name(), term).commit();
    return true;
  }

  private boolean removeField() {
    List<PartitionField> fields = new ArrayList<>(table.spec().fields());
    fields.removeIf(field -> field.transform().isVoid());
    if (fields.isEmpty()) {
      return false;
    }
    table.updateSpec().removeField(fields.get(random.nextInt(fields.size())).name()).commit();
    return true;
  }
}
