//! The messages of `proto/benostream.proto` and the envelope around bytes that leave a process.
//! Bytes of another version or build, of another kind or damaged, are refused with a sentence.

use benostreamdb::{Error, Result};
use prost::Message;

#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
mod messages {
    include!(concat!(env!("OUT_DIR"), "/benostream.v1.rs"));
}

pub(crate) use messages::envelope::Kind;
pub(crate) use messages::*;

/// Raised with every incompatible change of the functions or messages.
pub(crate) const ABI_VERSION: u32 = crate::capi::BSDB_ABI_VERSION;

/// Version and build of this library.
pub(crate) const BUILD_ID: &str = env!("BSDB_BUILD");

/// Reads a request.
pub(crate) fn parse<M: Message + Default>(bytes: &[u8], what: &str) -> Result<M> {
    M::decode(bytes)
        .map_err(|error| Error::invalid_input(format!("{what} is not readable: {error}")))
}

/// Refuses a request of another ABI version.
pub(crate) fn check_version(version: u32, what: &str) -> Result<()> {
    if version == ABI_VERSION {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "{what} is of ABI version {version}, this library speaks {ABI_VERSION}"
    )))
}

/// Wraps bytes that may leave the process.
pub(crate) fn seal(kind: Kind, body: Vec<u8>) -> Vec<u8> {
    Envelope {
        abi_version: ABI_VERSION,
        build_id: BUILD_ID.to_owned(),
        kind: kind.into(),
        body,
    }
    .encode_to_vec()
}

/// Unwraps bytes that came from any process.
pub(crate) fn unseal(kind: Kind, bytes: &[u8]) -> Result<Vec<u8>> {
    let what = name(kind);
    let envelope: Envelope = parse(bytes, what)?;
    check_version(envelope.abi_version, what)?;
    if envelope.build_id != BUILD_ID {
        return Err(Error::unsupported(format!(
            "{what} was made by build {}, this library is build {BUILD_ID}",
            envelope.build_id
        )));
    }
    if envelope.kind() != kind {
        return Err(Error::invalid_input(format!(
            "{what} expected, got {}",
            name(envelope.kind())
        )));
    }
    Ok(envelope.body)
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Unspecified => "bytes of unknown kind",
        Kind::Split => "split",
        Kind::WriteSpec => "write specification",
        Kind::CommitMessage => "commit message",
        Kind::IndexPlan => "index build plan",
        Kind::IndexPiece => "index piece",
        Kind::IndexMessage => "index message",
    }
}
