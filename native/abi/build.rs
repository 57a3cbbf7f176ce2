//! Generates the messages of `proto/benostream.proto` and names the build. Java and native code must
//! be of one build: release builds set `BSDB_BUILD_ID` for both, everything else is `dev`.

use std::env;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto/benostream.proto");
    println!("cargo:rerun-if-env-changed=BSDB_BUILD_ID");
    let files = protox::compile(["proto/benostream.proto"], ["proto"])?;
    prost_build::Config::new().compile_fds(files)?;
    let version = env::var("CARGO_PKG_VERSION")?;
    let build = env::var("BSDB_BUILD_ID").unwrap_or_else(|_| "dev".to_owned());
    println!("cargo:rustc-env=BSDB_BUILD={version}+{build}");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libbenostreamdb.so");
    }
    Ok(())
}
