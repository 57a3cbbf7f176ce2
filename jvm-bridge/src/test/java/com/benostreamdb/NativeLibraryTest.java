package com.benostreamdb;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The library loads into several class loaders at once, each with a copy of its own. */
final class NativeLibraryTest {
  private static URLClassLoader loader() {
    List<URL> urls = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      urls.add(url(entry));
    }
    return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
  }

  private static URL url(String entry) {
    try {
      return Path.of(entry).toUri().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static String instance(ClassLoader loader) throws ReflectiveOperationException {
    Class<?> metrics = loader.loadClass("com.benostreamdb.Metrics");
    Method read = metrics.getMethod("read");
    return (String) metrics.getMethod("instance").invoke(read.invoke(null));
  }

  @Test
  void twoClassLoadersLoadTheLibrary() throws Exception {
    try (URLClassLoader first = loader();
        URLClassLoader second = loader()) {
      assertThat(Stream.of(instance(first), instance(second), Metrics.read().instance()))
          .doesNotHaveDuplicates();
      assertThat(instance(first)).isEqualTo(instance(first));
    }
  }

  @Test
  void racingThreadsLoadTheLibraryOnce() throws Exception {
    try (URLClassLoader loader = loader()) {
      List<String> instances =
          Stream.generate(() -> loader)
              .limit(16)
              .parallel()
              .map(NativeLibraryTest::instanceUnchecked)
              .toList();
      assertThat(instances).hasSize(16).containsOnly(instances.get(0));
    }
  }

  private static String instanceUnchecked(ClassLoader loader) {
    try {
      return instance(loader);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void platformIsNamedByFamilyAndMachine() {
    assertThat(NativeLibrary.platform()).matches("(linux|darwin|windows)-(x86_64|aarch64)(-musl)?");
  }
}
