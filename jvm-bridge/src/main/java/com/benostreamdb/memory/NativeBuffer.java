package com.benostreamdb.memory;

/** Memory that grows by doubling. Not thread safe; closed exactly once by its owner. */
public final class NativeBuffer implements AutoCloseable {
  private static final long LIMIT = Integer.MAX_VALUE;

  private long address;
  private long capacity;
  private long size;

  /** A buffer that can hold so many bytes before it grows. */
  public NativeBuffer(long capacity) {
    this.capacity = Math.max(64, capacity);
    this.address = NativeMemory.allocate(this.capacity);
  }

  /** Where the bytes lie, until the next append. */
  public long address() {
    return address;
  }

  /** Bytes in use. */
  public long size() {
    return size;
  }

  /** Forgets the bytes and keeps the memory. */
  public void clear() {
    size = 0;
  }

  /** Adds so many bytes of any content and gives their address. */
  public long extend(long bytes) {
    long end = size + bytes;
    if (end > capacity) {
      grow(end);
    }
    long at = address + size;
    size = end;
    return at;
  }

  private void grow(long needed) {
    if (needed > LIMIT) {
      throw new IllegalStateException("a column of a batch exceeds 2 GiB; write smaller batches");
    }
    long larger = Math.min(LIMIT, Math.max(needed, capacity * 2));
    address = NativeMemory.reallocate(address, capacity, larger);
    capacity = larger;
  }

  @Override
  public void close() {
    if (address != 0) {
      NativeMemory.free(address, capacity);
      address = 0;
    }
  }
}
