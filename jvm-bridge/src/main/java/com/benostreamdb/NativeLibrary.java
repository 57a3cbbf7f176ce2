package com.benostreamdb;

import com.benostreamdb.BenoStreamException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Properties;

/**
 * Loads the native library of this class loader, once: from an explicit path, else from the bundle.
 * The file that is loaded is always a fresh copy, because a second class loader may not load the
 * same path.
 */
final class NativeLibrary {
  /** System property: the library file to load instead of the bundled one. */
  static final String PATH_PROPERTY = "benostream.native.path";

  /** Environment variable with the same meaning, read after the property. */
  static final String PATH_VARIABLE = "BSDB_NATIVE_PATH";

  /** System property: where the bundled library is unpacked; must allow execution. */
  static final String TEMP_PROPERTY = "benostream.native.tmpdir";

  /** The ABI this Java code speaks; see {@code native/abi}. */
  static final int ABI_VERSION = 1;

  private static final String FILE = "libbenostreamdb.so";

  private NativeLibrary() {}

  /** The virtual machine runs this once and keeps a failure for every later caller. */
  private static final class Holder {
    static final String BUILD_ID = load();
  }

  /** Loads the library if that has not happened yet. */
  static void ensureLoaded() {
    if (Holder.BUILD_ID.isEmpty()) {
      throw new BenoStreamException(Kind.INTERNAL, "the native library names no build");
    }
  }

  /** The build that both sides were made by. */
  static String buildId() {
    return Holder.BUILD_ID;
  }

  private static native String init(Class<?> natives, Class<?> exception);

  private static String load() {
    String explicit = explicitPath();
    try {
      if (explicit.isEmpty()) {
        loadBundled();
      } else {
        loadCopy(Path.of(explicit));
      }
    } catch (IOException e) {
      throw new BenoStreamException(
          Kind.UNAVAILABLE, "cannot unpack " + FILE + " (set " + TEMP_PROPERTY + "): " + e, e);
    } catch (UnsatisfiedLinkError e) {
      throw new BenoStreamException(
          Kind.UNSUPPORTED,
          "cannot load " + FILE + " (a folder without execution? set " + TEMP_PROPERTY + "): " + e,
          e);
    }
    return check(init(nativesClass(), BenoStreamException.class));
  }

  /** Native's own initialiser waits for this one, so it is looked up without running it. */
  private static Class<?> nativesClass() {
    try {
      return Class.forName("com.benostreamdb.Native", false, NativeLibrary.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new BenoStreamException(Kind.INTERNAL, "class Native is missing", e);
    }
  }

  private static String explicitPath() {
    String property = System.getProperty(PATH_PROPERTY, "");
    if (!property.isEmpty()) {
      return property;
    }
    String variable = System.getenv(PATH_VARIABLE);
    return variable == null ? "" : variable;
  }

  private static void loadBundled() throws IOException {
    String resource = "/com/benostreamdb/native/" + platform() + "/" + FILE;
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new BenoStreamException(
            Kind.UNSUPPORTED,
            "no native library for this platform in the JAR: "
                + resource
                + " (set "
                + PATH_PROPERTY
                + ")");
      }
      loadStream(in);
    }
  }

  private static void loadCopy(Path library) throws IOException {
    if (!Files.isRegularFile(library)) {
      throw new BenoStreamException(
          Kind.NOT_FOUND, PATH_PROPERTY + " names no file: " + library.toAbsolutePath());
    }
    try (InputStream in = Files.newInputStream(library)) {
      loadStream(in);
    }
  }

  private static void loadStream(InputStream in) throws IOException {
    String folder = System.getProperty(TEMP_PROPERTY, "");
    Path file =
        folder.isEmpty()
            ? Files.createTempFile("benostreamdb-", ".so")
            : Files.createTempFile(Path.of(folder), "benostreamdb-", ".so");
    try {
      Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
      System.load(file.toAbsolutePath().toString());
    } finally {
      // The mapping outlives the name, so nothing is left behind even after a crash.
      Files.delete(file);
    }
  }

  /** For example {@code linux-x86_64} or {@code linux-aarch64-musl}. */
  static String platform() {
    String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
    String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    String family = os.startsWith("mac") ? "darwin" : os.startsWith("windows") ? "windows" : os;
    String machine =
        switch (arch) {
          case "amd64", "x86_64", "x64" -> "x86_64";
          case "arm64", "aarch64" -> "aarch64";
          default -> arch;
        };
    return family + "-" + machine + (family.equals("linux") && isMusl() ? "-musl" : "");
  }

  /** Looks at the C library this process runs on; trying to load the wrong one could crash. */
  private static boolean isMusl() {
    try {
      String maps = Files.readString(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1);
      return maps.contains("/ld-musl-") || maps.contains("/libc.musl-");
    } catch (IOException e) {
      return false;
    }
  }

  private static String check(String library) {
    String expected = ABI_VERSION + " " + javaBuildId();
    if (!library.equals(expected)) {
      throw new BenoStreamException(
          Kind.UNSUPPORTED,
          "the native library is of another build: it says '"
              + library
              + "', the Java classes say '"
              + expected
              + "'");
    }
    return javaBuildId();
  }

  private static String javaBuildId() {
    Properties properties = new Properties();
    try (InputStream in =
        NativeLibrary.class.getResourceAsStream("/com/benostreamdb/build.properties")) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      throw new BenoStreamException(Kind.INTERNAL, "cannot read build.properties", e);
    }
    return properties.getProperty("build.id", "unknown");
  }
}
