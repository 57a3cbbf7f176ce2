package com.benostreamdb.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.benostreamdb.BenoStreamException;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.junit.jupiter.api.Test;

class DistanceMetricTest {
  private static final float[] A = {1, 2, 3};
  private static final float[] B = {4, 6, 3};

  @Test
  void distance_of_each_metric_is_the_documented_unit() {
    assertThat(DistanceMetric.L2.distance(A, B)).isEqualTo(5);
    assertThat(DistanceMetric.L1.distance(A, B)).isEqualTo(7);
    assertThat(DistanceMetric.INNER_PRODUCT.distance(A, B)).isEqualTo(-25);
    assertThat(DistanceMetric.COSINE.distance(A, A)).isEqualTo(0);
    assertThat(DistanceMetric.COSINE.distance(A, new float[] {-1, -2, -3})).isEqualTo(2);
    assertThat(DistanceMetric.COSINE.distance(A, new float[3])).isNaN();
  }

  @Test
  void distance_of_unequal_or_incomplete_vectors_is_null() {
    GenericArrayData three = new GenericArrayData(A);
    assertThat(DistanceMetric.L2.distance(three, new GenericArrayData(new float[2]))).isNull();
    assertThat(DistanceMetric.L2.distance(three, new GenericArrayData(new Object[] {1f, null, 2f})))
        .isNull();
  }

  @Test
  void names_with_and_without_prefix_find_the_metric() {
    assertThat(DistanceMetric.ofFunction("L2_distance")).contains(DistanceMetric.L2);
    assertThat(DistanceMetric.ofFunction("vector_inner_product"))
        .contains(DistanceMetric.INNER_PRODUCT);
    assertThat(DistanceMetric.ofFunction("distance")).isEmpty();
    assertThatThrownBy(() -> DistanceMetric.ofOption("hamming"))
        .isInstanceOf(BenoStreamException.class)
        .hasMessageContaining("l2, cosine, inner_product, l1");
  }

  @Test
  void vector_text_in_pgvector_form_is_read_and_anything_else_refused() {
    assertThat(VectorText.parse(" [1, -2.5,3e2] ")).containsExactly(1, -2.5f, 300);
    assertThat(VectorText.parse("[]")).isEmpty();
    for (String text : new String[] {"", "1,2", "[1,]", "[a]", "[1,2"}) {
      assertThatThrownBy(() -> VectorText.parse(text)).hasMessageContaining(text);
    }
  }
}
