package com.benostreamdb.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** A procedure, independent of how a Spark line calls it. */
interface Procedure {
  String name();

  String description();

  List<Parameter> parameters();

  StructType output();

  /** Runs it. The arguments stand in the order of the parameters; optional ones may be NULL. */
  InternalRow[] run(InternalRow arguments);

  /** A parameter; optional ones default to NULL. */
  record Parameter(String name, DataType type, boolean optional) {
    static Parameter required(String name, DataType type) {
      return new Parameter(name, type, false);
    }

    static Parameter optional(String name, DataType type) {
      return new Parameter(name, type, true);
    }
  }
}
