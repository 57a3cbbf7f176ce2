package com.benostreamdb.memory;

import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Raw memory by address. Nothing here checks bounds: callers check once a column. Every byte that
 * Java allocates is counted until it is freed.
 */
@SuppressWarnings("sunapi")
public final class NativeMemory {
  private static final sun.misc.Unsafe UNSAFE = unsafe();
  private static final long BYTES = sun.misc.Unsafe.ARRAY_BYTE_BASE_OFFSET;
  private static final AtomicLong ALLOCATED = new AtomicLong();

  private NativeMemory() {}

  private static sun.misc.Unsafe unsafe() {
    try {
      Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (sun.misc.Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Bytes that Java allocated here and has not freed. */
  public static long allocatedBytes() {
    return ALLOCATED.get();
  }

  /** Memory of this size, not cleared, 16-byte aligned. */
  public static long allocate(long size) {
    long address = UNSAFE.allocateMemory(size);
    ALLOCATED.addAndGet(size);
    return address;
  }

  /** Memory of this size filled with zeros. */
  public static long allocateZeroed(long size) {
    long address = allocate(size);
    UNSAFE.setMemory(address, size, (byte) 0);
    return address;
  }

  /** The same memory made larger, perhaps elsewhere. */
  public static long reallocate(long address, long oldSize, long newSize) {
    long moved = UNSAFE.reallocateMemory(address, newSize);
    ALLOCATED.addAndGet(newSize - oldSize);
    return moved;
  }

  /** Frees memory of this size. */
  public static void free(long address, long size) {
    UNSAFE.freeMemory(address);
    ALLOCATED.addAndGet(-size);
  }

  public static byte getByte(long address) {
    return UNSAFE.getByte(address);
  }

  public static short getShort(long address) {
    return UNSAFE.getShort(address);
  }

  public static int getInt(long address) {
    return UNSAFE.getInt(address);
  }

  public static long getLong(long address) {
    return UNSAFE.getLong(address);
  }

  public static float getFloat(long address) {
    return UNSAFE.getFloat(address);
  }

  public static double getDouble(long address) {
    return UNSAFE.getDouble(address);
  }

  public static void putByte(long address, byte value) {
    UNSAFE.putByte(address, value);
  }

  public static void putShort(long address, short value) {
    UNSAFE.putShort(address, value);
  }

  public static void putInt(long address, int value) {
    UNSAFE.putInt(address, value);
  }

  public static void putLong(long address, long value) {
    UNSAFE.putLong(address, value);
  }

  public static void putFloat(long address, float value) {
    UNSAFE.putFloat(address, value);
  }

  public static void putDouble(long address, double value) {
    UNSAFE.putDouble(address, value);
  }

  /** Copies memory to memory. */
  public static void copy(long from, long to, long size) {
    UNSAFE.copyMemory(from, to, size);
  }

  /** Copies memory into an array. */
  public static void copy(long from, byte[] to, int offset, int length) {
    UNSAFE.copyMemory(null, from, to, BYTES + offset, length);
  }

  /** Copies an array into memory. */
  public static void copy(byte[] from, int offset, int length, long to) {
    UNSAFE.copyMemory(from, BYTES + offset, null, to, length);
  }

  /** Copies floats out of memory. */
  public static void copy(long from, float[] to, int offset, int length) {
    UNSAFE.copyMemory(
        null, from, to, sun.misc.Unsafe.ARRAY_FLOAT_BASE_OFFSET + 4L * offset, 4L * length);
  }

  /** Copies floats into memory. */
  public static void copy(float[] from, int offset, int length, long to) {
    UNSAFE.copyMemory(
        from, sun.misc.Unsafe.ARRAY_FLOAT_BASE_OFFSET + 4L * offset, null, to, 4L * length);
  }

  /** Fills memory with one byte. */
  public static void fill(long address, long size, byte value) {
    UNSAFE.setMemory(address, size, value);
  }

  /** A copy of this memory. */
  public static byte[] getBytes(long address, int length) {
    byte[] bytes = new byte[length];
    copy(address, bytes, 0, length);
    return bytes;
  }

  /** The text of a C string; empty for address 0. */
  public static String getCString(long address) {
    if (address == 0) {
      return "";
    }
    int length = 0;
    while (UNSAFE.getByte(address + length) != 0) {
      length++;
    }
    return new String(getBytes(address, length), StandardCharsets.UTF_8);
  }
}
