package com.benostreamdb.arrow;

/** Layout of the structs of the Arrow C data interface on 64-bit machines. */
final class CData {
  static final int ARRAY_SIZE = 80;
  static final int ARRAY_LENGTH = 0;
  static final int ARRAY_NULL_COUNT = 8;
  static final int ARRAY_OFFSET = 16;
  static final int ARRAY_BUFFER_COUNT = 24;
  static final int ARRAY_CHILD_COUNT = 32;
  static final int ARRAY_BUFFERS = 40;
  static final int ARRAY_CHILDREN = 48;
  static final int ARRAY_RELEASE = 64;

  static final int SCHEMA_SIZE = 72;
  static final int SCHEMA_FORMAT = 0;
  static final int SCHEMA_NAME = 8;
  static final int SCHEMA_METADATA = 16;
  static final int SCHEMA_FLAGS = 24;
  static final int SCHEMA_CHILD_COUNT = 32;
  static final int SCHEMA_CHILDREN = 40;
  static final int SCHEMA_RELEASE = 56;

  static final long FLAG_NULLABLE = 2;

  private CData() {}
}
