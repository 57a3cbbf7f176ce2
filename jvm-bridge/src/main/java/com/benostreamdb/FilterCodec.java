package com.benostreamdb;

import com.benostreamdb.proto.Wire;
import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;

/** Filters and literals as messages. */
final class FilterCodec {
  private FilterCodec() {}

  static Wire.Filter filter(Filter filter) {
    Wire.Filter.Builder message = Wire.Filter.newBuilder();
    if (filter instanceof Filter.And and) {
      message.setAnd(filters(and.filters()));
    } else if (filter instanceof Filter.Or or) {
      message.setOr(filters(or.filters()));
    } else if (filter instanceof Filter.Not not) {
      message.setNot(filter(not.filter()));
    } else if (filter instanceof Filter.Constant constant) {
      Wire.Constant.Builder value = Wire.Constant.newBuilder();
      constant.value().ifPresent(value::setValue);
      message.setConstant(value);
    } else {
      leaf(filter, message);
    }
    return message.build();
  }

  private static Wire.Filters filters(List<Filter> filters) {
    Wire.Filters.Builder message = Wire.Filters.newBuilder();
    filters.forEach(filter -> message.addFilters(filter(filter)));
    return message.build();
  }

  private static void leaf(Filter filter, Wire.Filter.Builder message) {
    if (filter instanceof Filter.Compare compare) {
      message.setCompare(
          Wire.Compare.newBuilder()
              .setColumn(compare.column())
              .setOp(Wire.Compare.Op.valueOf(compare.op().name()))
              .setValue(value(compare.value())));
    } else if (filter instanceof Filter.NullSafeEq equal) {
      Wire.NullSafeEq.Builder leaf = Wire.NullSafeEq.newBuilder().setColumn(equal.column());
      equal.value().ifPresent(literal -> leaf.setValue(value(literal)));
      message.setNullSafeEq(leaf);
    } else if (filter instanceof Filter.In in) {
      Wire.In.Builder leaf = Wire.In.newBuilder().setColumn(in.column()).setHasNull(in.hasNull());
      in.values().forEach(literal -> leaf.addValues(value(literal)));
      message.setIn(leaf);
    } else if (filter instanceof Filter.IsNull isNull) {
      message.setIsNull(isNull.column());
    } else if (filter instanceof Filter.IsNan isNan) {
      message.setIsNan(isNan.column());
    } else if (filter instanceof Filter.Match match) {
      message.setMatch(
          Wire.Match.newBuilder()
              .setColumn(match.column())
              .setOp(Wire.Match.Op.valueOf(match.op().name()))
              .setPattern(match.pattern()));
    } else {
      throw BenoStreamException.invalidInput("unknown filter " + filter);
    }
  }

  static Wire.Value value(Value value) {
    Wire.Value.Builder message = Wire.Value.newBuilder();
    if (value instanceof Value.BooleanValue v) {
      message.setBoolean(v.value());
    } else if (value instanceof Value.IntValue v) {
      message.setInt(v.value());
    } else if (value instanceof Value.LongValue v) {
      message.setLong(v.value());
    } else if (value instanceof Value.FloatValue v) {
      message.setFloatBits(Float.floatToRawIntBits(v.value()));
    } else if (value instanceof Value.DoubleValue v) {
      message.setDoubleBits(Double.doubleToRawLongBits(v.value()));
    } else if (value instanceof Value.DecimalValue v) {
      message.setDecimal(decimal(v));
    } else if (value instanceof Value.StringValue v) {
      message.setString(v.value());
    } else if (value instanceof Value.UuidValue v) {
      message.setUuid(ByteString.copyFrom(uuid(v.value())));
    } else if (value instanceof Value.FixedValue v) {
      message.setFixed(ByteString.copyFrom(v.value()));
    } else if (value instanceof Value.BinaryValue v) {
      message.setBinary(ByteString.copyFrom(v.value()));
    } else {
      temporal(value, message);
    }
    return message.build();
  }

  private static void temporal(Value value, Wire.Value.Builder message) {
    if (value instanceof Value.DateValue v) {
      message.setDateDays(v.days());
    } else if (value instanceof Value.TimeValue v) {
      message.setTimeMicros(v.micros());
    } else if (value instanceof Value.TimestampValue v) {
      message.setTimestampMicros(v.micros());
    } else if (value instanceof Value.TimestampTzValue v) {
      message.setTimestamptzMicros(v.micros());
    } else {
      throw BenoStreamException.invalidInput("unknown literal " + value);
    }
  }

  private static Wire.Decimal decimal(Value.DecimalValue decimal) {
    if (decimal.value().scale() < 0) {
      throw BenoStreamException.invalidInput("negative scale of decimal " + decimal.value());
    }
    return Wire.Decimal.newBuilder()
        .setUnscaled(ByteString.copyFrom(decimal.value().unscaledValue().toByteArray()))
        .setPrecision(decimal.precision())
        .setScale(decimal.value().scale())
        .build();
  }

  private static byte[] uuid(UUID uuid) {
    return ByteBuffer.allocate(16)
        .putLong(uuid.getMostSignificantBits())
        .putLong(uuid.getLeastSignificantBits())
        .array();
  }
}
