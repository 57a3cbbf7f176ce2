package com.benostreamdb;

import com.benostreamdb.memory.NativeMemory;
import com.benostreamdb.proto.Wire;
import java.util.Map;

/**
 * What this process holds of the native side. All zero once everything is closed.
 *
 * @param openHandles by kind: session, table, split reader, table writer
 * @param nativeBytes bytes of batches that Java has not released
 * @param javaBytes native memory that Java allocated and has not freed
 * @param leakedHandles handles that were collected instead of closed
 * @param instance which copy of the library this class loader uses
 */
public record Metrics(
    Map<String, Long> openHandles,
    long nativeBytes,
    long javaBytes,
    long leakedHandles,
    String instance) {
  public Metrics {
    openHandles = Map.copyOf(openHandles);
  }

  /** The present state. */
  public static Metrics read() {
    Wire.Metrics metrics = Answers.parse(Native.metrics(), Wire.Metrics.parser());
    return new Metrics(
        metrics.getOpenHandlesMap(),
        metrics.getNativeBytesOutstanding(),
        NativeMemory.allocatedBytes(),
        NativeHandle.leakCount(),
        metrics.getInstanceId());
  }
}
