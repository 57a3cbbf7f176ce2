package com.benostreamdb.spark;

import static com.benostreamdb.spark.SparkFixture.newTable;
import static com.benostreamdb.spark.SparkFixture.sql;
import static org.assertj.core.api.Assertions.assertThat;

import com.benostreamdb.TableName;
import java.util.ArrayList;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Session options may hold credentials: they stand in no text that Spark logs or shows. */
class SecretTest {
  private static final Map<String, String> OPTIONS =
      Map.of("s3.secret-access-key", "hidden", "warehouse", "hidden-too");

  @Test
  void texts_of_what_spark_logs_hold_no_options() {
    WriteTask task =
        new WriteTask(
            TableName.at("/t"),
            new byte[0],
            new StructType(),
            new ArrayList<>(),
            new TreeMap<>(OPTIONS));
    assertThat(
            Stream.of(
                task,
                BenoStreamDataWriter.factory(task),
                DeltaDataWriter.factory(task),
                new SplitReaderFactory(OPTIONS, new StructType()),
                new PieceBuild(OPTIONS)))
        .allSatisfy(shown -> assertThat(shown.toString()).doesNotContain("hidden"));
  }

  @Test
  void plans_of_scans_and_writes_name_the_table_and_not_the_options() {
    String table = newTable();
    sql("CREATE TABLE bs.%s (i int)", table);
    for (String statement :
        new String[] {
          "SELECT * FROM bs." + table,
          "EXPLAIN EXTENDED INSERT INTO bs." + table + " VALUES (1)",
          "EXPLAIN EXTENDED DELETE FROM bs." + table + " WHERE i = 1"
        }) {
      Dataset<Row> data = (Dataset<Row>) sql("%s", statement);
      String text = data.queryExecution().toString() + data.collectAsList();
      assertThat(text).contains(table).doesNotContain(SparkFixture.WAREHOUSE + ",");
      assertThat(text).doesNotContain("options={");
    }
  }
}
