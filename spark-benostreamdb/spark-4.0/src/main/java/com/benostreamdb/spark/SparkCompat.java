package com.benostreamdb.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * What differs between Spark's lines: Scala's sequence type, constructors of plan nodes, packages.
 */
final class SparkCompat {
  private SparkCompat() {}

  /** Registers a table function under a one-part name, with what DESCRIBE FUNCTION says of it. */
  static void injectTableFunction(
      SparkSessionExtensions extensions,
      String name,
      String usage,
      String example,
      Function<List<Expression>, LogicalPlan> builder) {
    ExpressionInfo info =
        new ExpressionInfo(
            BenoStreamExtensions.class.getName(),
            null,
            name,
            usage,
            "",
            "\n    Examples:\n      > " + example + "\n  ",
            "",
            "",
            "",
            "",
            "scala_udf");
    extensions.injectTableFunction(
        new Tuple3<>(
            FunctionIdentifier.apply(name),
            info,
            new AbstractFunction1<Seq<Expression>, LogicalPlan>() {
              @Override
              public LogicalPlan apply(Seq<Expression> arguments) {
                return builder.apply(toJava(arguments));
              }
            }));
  }

  /** Shows {@code check} every part of an optimized plan, before Spark makes it physical. */
  static void injectPlanCheck(SparkSessionExtensions extensions, Consumer<LogicalPlan> check) {
    extensions.injectPlannerStrategy(
        new AbstractFunction1<org.apache.spark.sql.SparkSession, SparkStrategy>() {
          @Override
          public SparkStrategy apply(org.apache.spark.sql.SparkSession session) {
            return new PlanCheck(check);
          }
        });
  }

  /** A strategy that plans nothing. */
  private static final class PlanCheck extends SparkStrategy {
    private final transient Consumer<LogicalPlan> check;

    PlanCheck(Consumer<LogicalPlan> check) {
      this.check = check;
    }

    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      check.accept(plan);
      return seq(List.of());
    }
  }

  static List<LogicalPlan> children(LogicalPlan plan) {
    return toJava(plan.children());
  }

  static Map<String, String> settings(SQLConf conf) {
    return CollectionConverters.asJava(conf.getAllConfs());
  }

  static CatalogManager catalogManager() {
    return SparkSession.active().sessionState().catalogManager();
  }

  private static ParserInterface parser() {
    return SparkSession.active().sessionState().sqlParser();
  }

  static Expression parseExpression(String text) {
    try {
      return parser().parseExpression(text);
    } catch (ParseException e) {
      throw Failures.invalidInput("the filter '" + text + "' is no SQL: " + e.getMessage());
    }
  }

  /** The parts of a name as SQL writes it. */
  static List<String> parseName(String text) {
    try {
      return toJava(parser().parseMultipartIdentifier(text));
    } catch (ParseException e) {
      throw Failures.invalidInput("'" + text + "' names no table: " + e.getMessage());
    }
  }

  static Expression cast(Expression child, DataType type) {
    return new Cast(child, type, Option.empty(), EvalMode.LEGACY());
  }

  static List<Attribute> output(LogicalPlan plan) {
    return toJava(plan.output());
  }

  static LogicalPlan filter(Expression condition, LogicalPlan child) {
    return new Filter(condition, child);
  }

  static SortOrder sortOrder(Expression child, SortDirection direction) {
    return new SortOrder(child, direction, direction.defaultNullOrdering(), seq(List.of()));
  }

  static SortDirection ascending() {
    return Ascending$.MODULE$;
  }

  static SortDirection descending() {
    return Descending$.MODULE$;
  }

  static LogicalPlan sort(List<SortOrder> orders, LogicalPlan child) {
    return new Sort(seq(orders), true, child, Option.empty());
  }

  static LogicalPlan limit(int count, LogicalPlan child) {
    Expression limit = Literal$.MODULE$.apply(count);
    return new GlobalLimit(limit, new LocalLimit(limit, child));
  }

  static LogicalPlan project(List<? extends NamedExpression> columns, LogicalPlan child) {
    return new Project(seq(List.<NamedExpression>copyOf(columns)), child);
  }

  /** What identifies the statement that is being planned on this thread, or null outside of one. */
  static Object currentStatement() {
    Option<QueryPlanningTracker> tracker = QueryPlanningTracker.get();
    return tracker.isDefined() ? tracker.get() : null;
  }

  private static <A> Seq<A> seq(List<A> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  private static <A> List<A> toJava(Seq<A> seq) {
    return new ArrayList<>(CollectionConverters.asJava(seq));
  }
}
