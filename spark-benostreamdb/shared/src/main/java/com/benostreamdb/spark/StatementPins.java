package com.benostreamdb.spark;

import com.benostreamdb.Table;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Which snapshot a statement reads of each table: the newest when the statement first plans a scan
 * of it, and that one to the end, however often the table is named.
 */
final class StatementPins {
  private static final Map<Object, Map<Object, Table>> PINS = new WeakHashMap<>();

  private StatementPins() {}

  /** The statement's table, from {@code newest} if it is the first to ask. */
  static Table pin(Object key, Supplier<Table> newest) {
    Object statement = SparkCompat.currentStatement();
    if (statement == null) {
      return newest.get();
    }
    Map<Object, Table> pins;
    synchronized (PINS) {
      pins = PINS.computeIfAbsent(statement, s -> new ConcurrentHashMap<>());
    }
    return pins.computeIfAbsent(key, k -> newest.get());
  }
}
