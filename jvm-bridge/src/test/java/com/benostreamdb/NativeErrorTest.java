package com.benostreamdb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.benostreamdb.BenoStreamException.Kind;
import com.benostreamdb.proto.Wire;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whatever goes wrong in native code or is misused arrives as the one exception. */
final class NativeErrorTest {
  private static BenoStreamException thrown(ThrowingCallable call) {
    return catchThrowableOfType(BenoStreamException.class, call);
  }

  private static byte[] selfTest(Wire.SelfTest.Builder test) {
    return Native.selfTest(test.build().toByteArray(), 0, 0, 0, 0);
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void errorKeepsKindTextAndFlag(Kind kind) {
    for (boolean retryable : new boolean[] {false, true}) {
      Wire.Failure failure =
          Wire.Failure.newBuilder()
              .setKind(kind.code())
              .setMessage("table Grüße 😀 \0 end")
              .setRetryable(retryable)
              .build();
      BenoStreamException e = thrown(() -> selfTest(Wire.SelfTest.newBuilder().setFail(failure)));
      assertThat(e.kind()).isEqualTo(kind);
      assertThat(e.retryable()).isEqualTo(retryable);
      assertThat(e).hasMessage("table Grüße 😀 \\0 end");
    }
  }

  @Test
  void panicIsInternalWithItsText() {
    BenoStreamException e =
        thrown(() -> selfTest(Wire.SelfTest.newBuilder().setPanic("broken \0 assumption")));
    assertThat(e.kind()).isEqualTo(Kind.INTERNAL);
    assertThat(e).hasMessageContaining("panic: broken \\0 assumption");
  }

  @Test
  void nullAndGarbageAreInvalidInput() {
    byte[] garbage = {(byte) 0xff, 1, 2, 3};
    try (Session session = Session.open(Map.of())) {
      long handle = session.handle();
      List<ThrowingCallable> calls =
          List.of(
              () -> Native.openSession(null),
              () -> Native.openSession(garbage),
              () -> Native.catalog(handle, garbage),
              () -> Native.openTable(handle, null),
              () -> Native.openSplit(handle, garbage, -1),
              () -> Native.beginWrite(handle, new byte[0]),
              () -> Native.buildIndexPiece(handle, garbage),
              () -> Native.append(handle, 0, 0),
              () -> Native.deletePositions(handle, new byte[0], null, 0),
              () -> Native.deletePositions(handle, new byte[0], new long[1], 2),
              () -> Native.deletePositions(handle, new byte[0], new long[] {-1}, 1),
              () -> Native.nextBatch(handle, 0, 10),
              () -> Native.describe(handle),
              () -> Native.close(0),
              () -> Native.close(-1),
              () -> Native.cancel(12345));
      for (int i = 0; i < calls.size(); i++) {
        BenoStreamException e = thrown(calls.get(i));
        assertThat(e).as("call %d", i).isNotNull();
        assertThat(e.kind()).as("call %d: %s", i, e).isIn(Kind.INVALID_INPUT, Kind.UNSUPPORTED);
      }
      Native.releaseArray(0);
      Native.releaseSchema(0);
    }
  }

  @Test
  void handleClosedTwiceIsAnErrorThatNamesItsKind() {
    long session =
        Native.openSession(Wire.OpenSession.newBuilder().setAbiVersion(1).build().toByteArray());
    Native.close(session);
    BenoStreamException e = thrown(() -> Native.close(session));
    assertThat(e.kind()).isEqualTo(Kind.INVALID_INPUT);
    assertThat(e).hasMessageContaining("session handle").hasMessageContaining("is closed");
  }

  @Test
  void closingTwiceInJavaIsHarmlessAndUseAfterCloseIsAnError() {
    Session session = Session.open(Map.of());
    session.close();
    session.close();
    assertThat(thrown(() -> session.tableExists(TableName.at("/t"))))
        .hasMessage("session is closed");
  }

  @Test
  void handleThatNobodyClosedIsClosedWhenCollectedAndCounted() throws InterruptedException {
    long before = Metrics.read().leakedHandles();
    assertThat(Session.open(Map.of()).handle()).isPositive();
    for (int i = 0; i < 200 && Metrics.read().leakedHandles() == before; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertThat(Metrics.read().leakedHandles()).isEqualTo(before + 1);
    assertThat(Metrics.read().openHandles()).containsEntry("session", 0L);
  }

  @Test
  void sharedSessionIsClosedWhenCollectedAndIsNoLeak() throws InterruptedException {
    long before = Metrics.read().leakedHandles();
    assertThat(Session.openShared(Map.of()).handle()).isPositive();
    for (int i = 0; i < 200 && Metrics.read().openHandles().get("session") > 0; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertThat(Metrics.read().openHandles()).containsEntry("session", 0L);
    assertThat(Metrics.read().leakedHandles()).isEqualTo(before);
  }

  @Test
  void closingFromManyThreadsClosesOnce() {
    for (int round = 0; round < 50; round++) {
      long session =
          Native.openSession(Wire.OpenSession.newBuilder().setAbiVersion(1).build().toByteArray());
      AtomicInteger closed = new AtomicInteger();
      Stream<Integer> threads = IntStream.range(0, 4).boxed().parallel();
      threads.forEach(
          i -> {
            if (thrown(() -> Native.close(session)) == null) {
              closed.incrementAndGet();
            }
          });
      assertThat(closed).hasValue(1);
    }
  }
}
