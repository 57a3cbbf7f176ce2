package com.benostreamdb.spark;

import static org.assertj.core.api.Assertions.assertThat;

import com.benostreamdb.Column;
import com.benostreamdb.ColumnType;
import com.benostreamdb.ColumnType.Kind;
import com.benostreamdb.Filter;
import com.benostreamdb.Value;
import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class PredicateTranslatorTest {
  private static final PredicateTranslator TRANSLATOR =
      new PredicateTranslator(
          List.of(
              column(1, "id", ColumnType.of(Kind.INT)),
              column(2, "name", ColumnType.of(Kind.STRING)),
              column(3, "price", ColumnType.decimal(10, 2)),
              column(4, "key", ColumnType.of(Kind.UUID)),
              column(5, "hash", ColumnType.fixed(2)),
              column(6, "at", ColumnType.of(Kind.TIME)),
              column(7, "odd.name", ColumnType.of(Kind.INT)),
              column(8, "new", new ColumnType(Kind.UNKNOWN, 0, 0, List.of(), "variant"))));

  private static Column column(int id, String name, ColumnType type) {
    return new Column(id, name, type, false, Optional.empty());
  }

  private static Predicate predicate(String name, Expression... children) {
    return new Predicate(name, children);
  }

  private static Expression reference(String name) {
    return Expressions.column("`" + name + "`");
  }

  private static Expression literal(Object value, DataType type) {
    return LiteralValue.apply(value, type);
  }

  private static Expression integer(Integer value) {
    return literal(value, DataTypes.IntegerType);
  }

  private static Expression text(String value) {
    return literal(UTF8String.fromString(value), DataTypes.StringType);
  }

  @Test
  void comparison_with_the_literal_first_is_turned_around() {
    assertThat(TRANSLATOR.translate(predicate("<", integer(5), reference("id"))))
        .contains(new Filter.Compare(1, Filter.CompareOp.GT, new Value.IntValue(5)));
  }

  @Test
  void comparison_with_null_is_null() {
    assertThat(TRANSLATOR.translate(predicate("=", reference("id"), integer(null))))
        .contains(new Filter.Constant(Optional.empty()));
    assertThat(TRANSLATOR.translate(predicate("<=>", reference("id"), integer(null))))
        .contains(new Filter.NullSafeEq(1, Optional.empty()));
  }

  @Test
  void in_with_null_keeps_the_null() {
    assertThat(TRANSLATOR.translate(predicate("IN", reference("id"), integer(1), integer(null))))
        .contains(new Filter.In(1, List.of(new Value.IntValue(1)), true));
  }

  @Test
  void literal_of_another_type_is_left_to_spark() {
    Expression wide = literal(5L, DataTypes.LongType);
    assertThat(TRANSLATOR.translate(predicate("=", reference("id"), wide))).isEmpty();
    assertThat(TRANSLATOR.translate(predicate("IN", reference("id"), integer(1), wide))).isEmpty();
  }

  @Test
  void decimal_is_rescaled_exactly_or_left_to_spark() {
    Expression exact =
        literal(Decimal.apply(new BigDecimal("1.500")), DataTypes.createDecimalType(4, 3));
    assertThat(TRANSLATOR.translate(predicate("=", reference("price"), exact)))
        .contains(
            new Filter.Compare(
                3, Filter.CompareOp.EQ, new Value.DecimalValue(new BigDecimal("1.50"), 10)));
    Expression finer =
        literal(Decimal.apply(new BigDecimal("1.505")), DataTypes.createDecimalType(4, 3));
    assertThat(TRANSLATOR.translate(predicate("<", reference("price"), finer))).isEmpty();
  }

  @Test
  void columns_that_spark_sees_as_text_compare_only_where_both_agree() {
    String uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff";
    assertThat(TRANSLATOR.translate(predicate("=", reference("key"), text(uuid)))).isPresent();
    assertThat(TRANSLATOR.translate(predicate("=", reference("key"), text(uuid.toUpperCase()))))
        .isEmpty();
    assertThat(TRANSLATOR.translate(predicate("<", reference("key"), text(uuid)))).isEmpty();
    assertThat(TRANSLATOR.translate(predicate("STARTS_WITH", reference("key"), text("6f"))))
        .isEmpty();
    assertThat(TRANSLATOR.translate(predicate("=", reference("at"), text("10:00:00")))).isEmpty();
    assertThat(TRANSLATOR.translate(predicate("IS_NULL", reference("at"))))
        .contains(new Filter.IsNull(6));
  }

  @Test
  void fixed_of_another_length_and_unknown_types_are_left_to_spark() {
    Expression three = literal(new byte[3], DataTypes.BinaryType);
    assertThat(TRANSLATOR.translate(predicate("=", reference("hash"), three))).isEmpty();
    assertThat(TRANSLATOR.translate(predicate("IS_NULL", reference("new")))).isEmpty();
  }

  @Test
  void text_that_is_not_utf8_is_left_to_spark() {
    Expression broken =
        literal(UTF8String.fromBytes(new byte[] {(byte) 0xff}), DataTypes.StringType);
    assertThat(TRANSLATOR.translate(predicate("=", reference("name"), broken))).isEmpty();
  }

  @Test
  void names_with_dots_are_one_column_and_nested_fields_none() {
    assertThat(TRANSLATOR.translate(predicate("IS_NULL", reference("odd.name"))))
        .contains(new Filter.IsNull(7));
    assertThat(TRANSLATOR.translate(predicate("IS_NULL", Expressions.column("odd.name"))))
        .isEmpty();
  }

  @Test
  void conjunction_with_an_unknown_part_is_left_to_spark_whole() {
    Predicate known = predicate("=", reference("id"), integer(1));
    Predicate unknown = predicate("RLIKE", reference("name"), text("x"));
    assertThat(TRANSLATOR.translate(predicate("AND", known, unknown))).isEmpty();
    assertThat(TRANSLATOR.translate(predicate("OR", known, known))).isPresent();
    assertThat(TRANSLATOR.translate(predicate("NOT", unknown))).isEmpty();
  }
}
