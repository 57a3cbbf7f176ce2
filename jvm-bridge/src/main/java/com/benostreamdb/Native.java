package com.benostreamdb;

/**
 * The native functions. Only {@code init} is an exported symbol; it registers the rest. Handles are
 * checked by the native side; requests and answers are the messages of {@code benostream.proto}.
 */
final class Native {
  static {
    NativeLibrary.ensureLoaded();
  }

  /** {@link #nextBatch} has no more rows. */
  static final long END = 0;

  /** {@link #nextBatch} filled the array. */
  static final long BATCH = 1;

  /** {@link #nextBatch} ran into its timeout. */
  static final long PENDING = 2;

  private Native() {}

  static native long openSession(byte[] request);

  static native byte[] catalog(long session, byte[] request);

  static native long openTable(long session, byte[] request);

  static native byte[] describe(long table);

  static native byte[] planScan(long table, byte[] request);

  /** Without accounting where {@code grantedBytes} is negative. */
  static native long openSplit(long session, byte[] split, long grantedBytes);

  static native void readerSchema(long reader, long schemaAddress);

  /** END, BATCH, PENDING, or minus the number of bytes that a grant must bring first. */
  static native long nextBatch(long reader, long arrayAddress, long timeoutMs);

  static native void grant(long reader, long bytes);

  static native void cancel(long handle);

  static native void close(long handle);

  static native void releaseArray(long address);

  static native void releaseSchema(long address);

  static native byte[] writeSpec(long table, byte[] request);

  static native long beginWrite(long session, byte[] spec);

  static native void append(long writer, long arrayAddress, long schemaAddress);

  static native void deletePositions(long writer, byte[] file, long[] positions, int count);

  static native byte[] finishWrite(long writer);

  static native void abortWrite(long writer);

  static native byte[] commit(long table, byte[] request);

  static native byte[] maintain(long table, byte[] request);

  static native byte[] buildIndexPiece(long session, byte[] piece);

  static native byte[] metrics();

  /** Address of a release function that does nothing, for structs that Java owns. */
  static native long noRelease();

  static native byte[] selfTest(
      byte[] request, long inArray, long inSchema, long outArray, long outSchema);
}
