package com.benostreamdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.arrow.ArrowBatch;
import com.benostreamdb.arrow.ArrowBatchBuilder;
import com.benostreamdb.arrow.ArrowField;
import com.benostreamdb.arrow.ArrowSchemaReader;
import com.benostreamdb.memory.NativeMemory;
import com.benostreamdb.proto.Wire;
import com.google.gson.JsonElement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every type crosses from Java to Rust and from Rust to Java. */
final class CrossLanguageTest {
  private static final byte[] ECHO = Wire.SelfTest.newBuilder().setEcho(true).build().toByteArray();
  private static final byte[] RENDER =
      Wire.SelfTest.newBuilder().setRender(true).build().toByteArray();

  static List<Cases.Case> cases() {
    return Cases.all();
  }

  @AfterEach
  void memoryIsGivenBack() {
    assertThat(Metrics.read().nativeBytes()).isZero();
    assertThat(Metrics.read().javaBytes()).isZero();
  }

  private static ArrowBatchBuilder build(ArrowField field, List<JsonElement> values) {
    ArrowBatchBuilder batch = new ArrowBatchBuilder(List.of(field));
    fill(batch, values);
    return batch;
  }

  private static void fill(ArrowBatchBuilder batch, List<JsonElement> values) {
    for (JsonElement value : values) {
      Cases.append(batch.column(0), value);
      batch.endRow();
    }
  }

  private static List<JsonElement> echo(ArrowBatchBuilder batch) {
    long array = NativeMemory.allocateZeroed(80);
    long schema = NativeMemory.allocateZeroed(72);
    try {
      batch.export(
          Native.noRelease(),
          (inArray, inSchema) -> {
            Native.selfTest(ECHO, inArray, inSchema, array, schema);
            return 0;
          });
      ArrowBatch view = new ArrowBatch(ArrowSchemaReader.fields(schema));
      view.point(array);
      assertThat(view.column(0).field()).isEqualTo(batch.fields().get(0));
      List<JsonElement> values = new ArrayList<>();
      for (int row = 0; row < view.rowCount(); row++) {
        values.add(Cases.value(view.column(0), row));
      }
      return values;
    } finally {
      Native.releaseArray(array);
      Native.releaseSchema(schema);
      NativeMemory.free(array, 80);
      NativeMemory.free(schema, 72);
    }
  }

  private static List<String> render(ArrowBatchBuilder batch) {
    byte[][] answer = new byte[1][];
    batch.export(
        Native.noRelease(),
        (array, schema) -> {
          answer[0] = Native.selfTest(RENDER, array, schema, 0, 0);
          return 0;
        });
    return Answers.parse(answer[0], Wire.Rendered.parser()).getColumns(0).getValuesList();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void valuesOfJavaAreReadByRustAsTheFileSays(Cases.Case each) {
    try (ArrowBatchBuilder batch = build(each.field(), each.values())) {
      assertThat(render(batch)).isEqualTo(each.text());
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void valuesOfRustAreReadByJavaAsTheFileSays(Cases.Case each) {
    try (ArrowBatchBuilder batch = build(each.field(), each.values())) {
      assertThat(echo(batch)).isEqualTo(each.values());
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void emptyAndReusedBuildersCross(Cases.Case each) {
    try (ArrowBatchBuilder batch = build(each.field(), List.of())) {
      assertThat(echo(batch)).isEmpty();
      List<JsonElement> many = new ArrayList<>();
      Collections.nCopies(5000, each.values()).forEach(many::addAll);
      fill(batch, many);
      assertThat(echo(batch)).isEqualTo(many);
      batch.clear();
      fill(batch, each.values().subList(1, 2));
      assertThat(echo(batch)).isEqualTo(each.values().subList(1, 2));
    }
  }

  @Test
  void fieldMetadataAndNamesCross() {
    Column column =
        new Column(
            7, "x y.z\"'Ü", ColumnType.of(ColumnType.Kind.INT), true, java.util.Optional.empty());
    ArrowField field = ArrowField.of(column);
    assertThat(field.fieldId()).isEqualTo(7);
    try (ArrowBatchBuilder batch = new ArrowBatchBuilder(List.of(field))) {
      assertThat(echo(batch)).isEmpty();
    }
  }

  @Test
  void vectorsOfDeclaredDimensionArriveAsLists() {
    ArrowField element =
        new ArrowField(
            "element", com.benostreamdb.arrow.ArrowType.FLOAT32, 0, 0, false, Map.of(), List.of());
    ArrowField field =
        new ArrowField(
            "v",
            com.benostreamdb.arrow.ArrowType.FIXED_SIZE_LIST,
            3,
            0,
            true,
            Map.of(),
            List.of(element));
    try (ArrowBatchBuilder batch = new ArrowBatchBuilder(List.of(field))) {
      batch.column(0).appendFloats(new float[] {1, 2, 3});
      batch.endRow();
      assertThat(render(batch)).containsExactly("[1.0, 2.0, 3.0]");
    }
  }

  @Test
  void textThatIsNotUtf8IsRefused() {
    ArrowField field =
        ArrowField.of(Column.create("s", ColumnType.of(ColumnType.Kind.STRING), false));
    try (ArrowBatchBuilder batch = new ArrowBatchBuilder(List.of(field))) {
      batch.column(0).appendBytes(new byte[] {(byte) 0xff, (byte) 0xfe});
      batch.endRow();
      assertThatThrownBy(() -> render(batch))
          .isInstanceOfSatisfying(
              BenoStreamException.class, e -> assertThat(e.kind()).isEqualTo(Kind.INVALID_INPUT));
    }
  }

  @Test
  void columnsOfDifferentLengthAreRefused() {
    ArrowField field = ArrowField.of(Column.create("s", ColumnType.of(ColumnType.Kind.INT), false));
    try (ArrowBatchBuilder batch = new ArrowBatchBuilder(List.of(field))) {
      batch.column(0).appendInt(1);
      assertThatThrownBy(() -> render(batch)).hasMessageContaining("column s has 1 rows");
    }
  }
}
