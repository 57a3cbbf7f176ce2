//! A real REST catalog for tests: Iceberg's own, in memory, on the loopback (`tests/catalog-server`), on libraries
//! that `scripts/test-servers.sh` fetches. It ends with the process that started it, however that ends.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::tool;

/// A running server.
#[derive(Debug)]
pub struct CatalogServer {
    server: Child,
    address: String,
}

impl CatalogServer {
    /// Starts a server whose tables lie below `warehouse`; with a secret only clients that know it are let in.
    pub fn start(warehouse: &str, secret: Option<&str>) -> io::Result<CatalogServer> {
        CatalogServer::start_with(&[warehouse, secret.unwrap_or_default()])
    }

    /// Starts a server that gives every client these credentials (a JSON list) with every table.
    pub fn vending(warehouse: &str, credentials: &str) -> io::Result<CatalogServer> {
        CatalogServer::start_with(&[warehouse, "", credentials])
    }

    fn start_with(arguments: &[&str]) -> io::Result<CatalogServer> {
        let libraries = tool("catalog-server")?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/catalog-server/CatalogServer.java");
        let java = std::env::var_os("JAVA_HOME")
            .map_or("java".into(), |home| Path::new(&home).join("bin/java"));
        let mut server = Command::new(java)
            .args(["-XX:TieredStopAtLevel=1", "-Xmx256m", "--class-path"])
            .arg(libraries.join("*"))
            .arg(source)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        if let Some(output) = server.stdout.take() {
            BufReader::new(output).read_line(&mut address)?;
        }
        let address = address.trim().trim_end_matches('/').to_string();
        let server = CatalogServer { server, address };
        match server.address.is_empty() {
            true => Err(io::Error::other("the catalog server did not start")),
            false => Ok(server),
        }
    }

    /// Where it answers.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for CatalogServer {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        // The server ends by itself where it cannot be waited for.
        let _ = self.server.wait();
    }
}
