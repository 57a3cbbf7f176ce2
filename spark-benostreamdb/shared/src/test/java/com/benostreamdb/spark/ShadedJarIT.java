package com.benostreamdb.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;

/** The fat JAR itself: what it holds, and that it works in a class loader of its own, twice. */
class ShadedJarIT {
  private static final Path JAR = Path.of(System.getProperty("benostream.jar"));

  @Test
  void jar_holds_our_classes_the_library_and_nothing_else() throws Exception {
    try (JarFile jar = new JarFile(JAR.toFile())) {
      assertThat(jar.stream().map(JarEntry::getName))
          .allMatch(name -> name.startsWith("com/") || name.startsWith("META-INF/"))
          .filteredOn(name -> name.startsWith("com/") && name.length() > 4)
          .allMatch(name -> name.startsWith("com/benostreamdb/"));
      assertThat(jar.stream().map(JarEntry::getName))
          .noneMatch(name -> name.endsWith(".proto") || name.endsWith("module-info.class"))
          .noneMatch(name -> name.endsWith(".SF") || name.endsWith(".RSA"))
          .anyMatch(name -> name.matches("com/benostreamdb/native/[a-z0-9_-]+/libbenostreamdb.so"))
          .contains("META-INF/services/org.apache.spark.sql.sources.DataSourceRegister");
    }
  }

  @Test
  void two_class_loaders_use_the_jar_side_by_side() throws Exception {
    try (URLClassLoader first = loader();
        URLClassLoader second = loader()) {
      AutoCloseable one = session(first);
      AutoCloseable two = session(second);
      assertThat(one.getClass()).isNotSameAs(two.getClass());
      createNamespace(one);
      createNamespace(two);
      one.close();
      two.close();
    }
  }

  private static URLClassLoader loader() throws Exception {
    ClassLoader withoutOurs =
        new ClassLoader(ShadedJarIT.class.getClassLoader()) {
          @Override
          protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("com.benostreamdb") || name.startsWith("com.google.protobuf")) {
              throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
          }

          @Override
          public URL getResource(String name) {
            return name.startsWith("com/benostreamdb") ? null : super.getResource(name);
          }
        };
    return new URLClassLoader(new URL[] {JAR.toUri().toURL()}, withoutOurs);
  }

  private static AutoCloseable session(ClassLoader loader) throws Exception {
    String warehouse = Files.createTempDirectory("benostream-loader").toRealPath().toString();
    return (AutoCloseable)
        loader
            .loadClass("com.benostreamdb.Session")
            .getMethod("open", Map.class)
            .invoke(null, Map.of("warehouse", warehouse));
  }

  private static void createNamespace(Object session) throws Exception {
    session.getClass().getMethod("createNamespace", List.class).invoke(session, List.of("ns"));
    Object exists =
        session.getClass().getMethod("namespaceExists", List.class).invoke(session, List.of("ns"));
    assertThat(exists).isEqualTo(true);
  }
}
