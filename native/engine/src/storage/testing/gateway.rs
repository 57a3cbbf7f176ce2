//! A real S3 server for tests: versitygw on the loopback, over a folder that vanishes with it. `scripts/test-servers.sh`
//! installs it. Tests that run at the same time share one server; it ends with the last of them, and with the
//! process that started it, however that ends.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::{TempFolder, tool};

/// The access key of the server.
pub const KEY_ID: &str = "gateway-key";
/// The secret key of the server: a text that nothing else holds.
pub const SECRET: &str = "gw-s3cr3t-5f0b1c9e";

/// Ends the server when this process closes its end of the pipe.
const KEEPER: &str =
    r#"exec 3<&0; "$@" </dev/null >/dev/null 2>&1 & server=$!; read -r _ <&3; kill $server"#;
const STARTS_MAX: u32 = 3;
const WAITS_MAX: u32 = 200;
const WAIT: Duration = Duration::from_millis(50);

static RUNNING: Mutex<Weak<Gateway>> = Mutex::new(Weak::new());

/// A running server.
#[derive(Debug)]
pub struct Gateway {
    folder: TempFolder,
    port: u16,
    keeper: Child,
}

impl Gateway {
    /// The server of this process. Errors where it is not installed or does not start.
    pub fn shared() -> io::Result<Arc<Gateway>> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gateway) = running.upgrade() {
            return Ok(gateway);
        }
        let gateway = Arc::new(Gateway::start()?);
        *running = Arc::downgrade(&gateway);
        Ok(gateway)
    }

    /// Starts a server of its own.
    pub fn start() -> io::Result<Gateway> {
        let binary = tool("bin/versitygw")?;
        let mut failure = io::Error::other("the server was not started");
        for _ in 0..STARTS_MAX {
            match Gateway::start_once(&binary) {
                Ok(gateway) => return Ok(gateway),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn start_once(binary: &Path) -> io::Result<Gateway> {
        let folder = TempFolder::new()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(binary)
            .args([
                "--quiet",
                "--keep-alive",
                "--access",
                KEY_ID,
                "--secret",
                SECRET,
            ])
            .args(["--port", &format!("127.0.0.1:{port}"), "posix"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let gateway = Gateway {
            folder,
            port,
            keeper,
        };
        for _ in 0..WAITS_MAX {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(gateway);
            }
            std::thread::sleep(WAIT);
        }
        Err(io::Error::other(format!(
            "{} does not answer",
            binary.display()
        )))
    }

    /// Where it answers.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The options of a session that may use every bucket.
    pub fn options(&self) -> BTreeMap<String, String> {
        [
            ("s3.endpoint", self.endpoint().as_str()),
            ("s3.access-key-id", KEY_ID),
            ("s3.secret-access-key", SECRET),
            ("client.region", "us-east-1"),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .into()
    }

    /// Makes an empty bucket and tells its name.
    pub fn bucket(&self) -> io::Result<String> {
        let name = format!("b-{}", uuid::Uuid::new_v4());
        std::fs::create_dir(self.folder.path().join(&name))?;
        Ok(name)
    }

    /// The folder that holds the objects of a bucket as files.
    pub fn files(&self, bucket: &str) -> PathBuf {
        self.folder.path().join(bucket)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The server ends by itself where its keeper cannot be waited for.
        let _ = self.keeper.wait();
    }
}
