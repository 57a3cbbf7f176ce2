package com.benostreamdb.spark;

import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * A real S3 server on the loopback, over a folder: versitygw, which {@code scripts/test-servers.sh}
 * installs. It ends when it is closed or when this JVM ends.
 */
final class S3Server implements AutoCloseable {
  static final String KEY_ID = "gateway-key";
  static final String SECRET = "gw-s3cr3t-5f0b1c9e";

  /** Ends the server when its standard input is closed. */
  private static final String KEEPER =
      "exec 3<&0; \"$@\" </dev/null >/dev/null 2>&1 & server=$!; read -r _ <&3; kill $server";

  private final Path folder = SparkFixture.temporaryFolder("s3");
  private final int port;
  private final Process keeper;

  S3Server() throws IOException, InterruptedException {
    Path binary = tool("bin/versitygw");
    InetAddress loopback = InetAddress.getLoopbackAddress();
    try (ServerSocket free = new ServerSocket(0, 1, loopback)) {
      port = free.getLocalPort();
    }
    keeper =
        new ProcessBuilder(
                "sh",
                "-c",
                KEEPER,
                "sh",
                binary.toString(),
                "--quiet",
                "--access",
                KEY_ID,
                "--secret",
                SECRET,
                "--port",
                "127.0.0.1:" + port,
                "posix",
                folder.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    for (int tries = 1; ; tries++) {
      try (Socket answered = new Socket(loopback, port)) {
        break;
      } catch (IOException e) {
        if (tries == 200) {
          throw e;
        }
        Thread.sleep(50);
      }
    }
  }

  /** What {@code scripts/test-servers.sh} has put below the tools of the cache. */
  static Path tool(String name) {
    String cache =
        Optional.ofNullable(System.getenv("BSDB_CACHE"))
            .orElse(System.getProperty("user.home") + "/.cache/benostreamdb");
    Path tool = Path.of(cache, "tools").resolve(name);
    assumeThat(tool).as("%s (scripts/test-servers.sh installs it)", tool).exists();
    return tool;
  }

  /** Makes an empty bucket and tells its name. */
  String bucket() throws IOException {
    String name = "b-" + UUID.randomUUID();
    Files.createDirectory(folder.resolve(name));
    return name;
  }

  /** The folder that holds the objects of a bucket as files. */
  Path files(String bucket) {
    return folder.resolve(bucket);
  }

  /** The options of a catalog or reader that may use every bucket. */
  Map<String, String> options() {
    return Map.of(
        "s3.endpoint",
        "http://127.0.0.1:" + port,
        "s3.access-key-id",
        KEY_ID,
        "s3.secret-access-key",
        SECRET,
        "client.region",
        "us-east-1");
  }

  @Override
  public void close() throws IOException {
    keeper.getOutputStream().close();
  }
}
