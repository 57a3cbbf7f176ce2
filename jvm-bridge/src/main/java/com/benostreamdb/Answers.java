package com.benostreamdb;

import com.benostreamdb.BenoStreamException.Kind;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;

/** Reads the engine's answers. */
final class Answers {
  private Answers() {}

  static <T> T parse(byte[] answer, Parser<T> parser) {
    try {
      return parser.parseFrom(answer);
    } catch (InvalidProtocolBufferException e) {
      throw new BenoStreamException(Kind.INTERNAL, "the engine's answer is not readable", e);
    }
  }
}
