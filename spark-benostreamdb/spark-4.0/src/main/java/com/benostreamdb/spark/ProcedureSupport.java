package com.benostreamdb.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** Offers our procedures through Spark 4's own CALL. */
abstract class ProcedureSupport implements ProcedureCatalog {
  /** The procedure of a name. Errors: unknown names, which list what is known. */
  abstract Procedure procedure(Identifier identifier);

  @Override
  public final UnboundProcedure loadProcedure(Identifier identifier) {
    return Failures.analyzed(() -> new Adapter(procedure(identifier)));
  }

  /** Named by Spark 4.1 and later; the same list serves the error for unknown names. */
  public final Identifier[] listProcedures(String[] namespace) {
    return Procedures.NAMES.stream()
        .map(name -> Identifier.of(namespace, name))
        .toArray(Identifier[]::new);
  }

  /** One of our procedures as Spark calls it: parameters do not depend on the input types. */
  private static final class Adapter implements UnboundProcedure, BoundProcedure {
    private final Procedure procedure;

    Adapter(Procedure procedure) {
      this.procedure = procedure;
    }

    @Override
    public String name() {
      return procedure.name();
    }

    @Override
    public String description() {
      return procedure.description();
    }

    @Override
    public BoundProcedure bind(StructType input) {
      return this;
    }

    @Override
    public ProcedureParameter[] parameters() {
      List<ProcedureParameter> result = new ArrayList<>();
      for (Procedure.Parameter parameter : procedure.parameters()) {
        ProcedureParameter.Builder builder =
            ProcedureParameter.in(parameter.name(), parameter.type());
        if (parameter.optional()) {
          builder.defaultValue("NULL");
        }
        result.add(builder.build());
      }
      return result.toArray(new ProcedureParameter[0]);
    }

    @Override
    public boolean isDeterministic() {
      return false;
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      return List.<Scan>of(
              new Rows(procedure.output(), Failures.analyzed(() -> procedure.run(input))))
          .iterator();
    }
  }

  /** Rows that are there already. */
  private record Rows(StructType schema, InternalRow[] rows) implements LocalScan {
    @Override
    public StructType readSchema() {
      return schema;
    }
  }
}
