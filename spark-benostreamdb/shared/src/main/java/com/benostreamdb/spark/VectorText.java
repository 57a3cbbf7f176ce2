package com.benostreamdb.spark;

/** Vectors as text in pgvector's form: {@code [0.1, -2, 3e-4]}. */
final class VectorText {
  private VectorText() {}

  static float[] parse(String text) {
    String trimmed = text.trim();
    if (trimmed.length() < 2 || !trimmed.startsWith("[") || !trimmed.endsWith("]")) {
      throw malformed(text);
    }
    String inner = trimmed.substring(1, trimmed.length() - 1).trim();
    if (inner.isEmpty()) {
      return new float[0];
    }
    String[] parts = inner.split(",", -1);
    float[] vector = new float[parts.length];
    for (int i = 0; i < parts.length; i++) {
      try {
        vector[i] = Float.parseFloat(parts[i].trim());
      } catch (NumberFormatException e) {
        throw malformed(text);
      }
    }
    return vector;
  }

  private static RuntimeException malformed(String text) {
    String shown = text.length() <= 60 ? text : text.substring(0, 60) + "..";
    return Failures.invalidInput("a vector is written like '[0.1, 0.2]', not '" + shown + "'");
  }
}
