//! The tail of an ORC file: postscript, footer, types with their Iceberg attributes, stripes; and the footer of
//! a stripe. Whatever lies outside the file, overlaps or repeats is Corrupt.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use super::message::{Message, Wire};
use super::stream::{BLOCK_MAX, Codec, Compression, Stream};
use crate::error::{Error, Result};

/// The greatest footer, decompressed.
const FOOTER_MAX: usize = 256 << 20;
/// Types nest no deeper.
const DEPTH_MAX: usize = 64;
/// The block size of files that declare none.
const BLOCK_DEFAULT: u64 = 256 << 10;

/// The last bytes of a file, after the footer.
pub(super) struct Postscript {
    pub(super) compression: Compression,
    pub(super) footer: u64,
    /// The length of postscript and length byte.
    pub(super) length: u64,
}

impl Postscript {
    /// Reads it from the end of `tail`.
    pub(super) fn read(tail: &[u8]) -> Result<Postscript> {
        let (length, before) = tail
            .split_last()
            .ok_or_else(|| Error::corrupt("the ORC file is empty"))?;
        let start = before.len().checked_sub(usize::from(*length));
        let bytes = start
            .and_then(|start| before.get(start..))
            .ok_or_else(|| Error::corrupt("ORC: the postscript is longer than the file"))?;
        let (mut footer, mut codec, mut block) = (None, 0, BLOCK_DEFAULT);
        let (mut magic, mut version) = (String::new(), Vec::new());
        let mut message = Message::new(bytes);
        while let Some((number, wire)) = message.field()? {
            match number {
                1 => footer = Some(wire.number()?),
                2 => codec = wire.number()?,
                3 => block = wire.number()?,
                4 => version.extend(wire.numbers()?),
                8000 => magic = wire.text()?,
                _ => {}
            }
        }
        if magic != "ORC" {
            return Err(Error::corrupt("not an ORC file"));
        }
        if !matches!(version.as_slice(), [] | [0, 11 | 12]) {
            return Err(Error::unsupported(format!("ORC version {version:?}")));
        }
        if block > BLOCK_MAX {
            return Err(Error::corrupt(format!("ORC: blocks of {block} bytes")));
        }
        Ok(Postscript {
            compression: Compression {
                codec: codec_of(codec)?,
                block: usize::try_from(block).unwrap_or(usize::MAX),
            },
            footer: footer.ok_or_else(|| Error::corrupt("ORC: no footer length"))?,
            length: u64::from(*length) + 1,
        })
    }
}

fn codec_of(code: u64) -> Result<Codec> {
    match code {
        0 => Ok(Codec::None),
        1 => Ok(Codec::Zlib),
        2 => Ok(Codec::Snappy),
        4 => Ok(Codec::Lz4),
        5 => Ok(Codec::Zstd),
        3 => Err(Error::unsupported("ORC files compressed with LZO")),
        other => Err(Error::unsupported(format!("the ORC codec {other}"))),
    }
}

/// A part of the file that holds whole rows.
#[derive(Clone, Debug)]
pub(super) struct StripePlace {
    pub(super) offset: u64,
    /// Index and data streams.
    pub(super) streams: u64,
    pub(super) footer: u64,
    pub(super) rows: u64,
}

/// What the footer says.
pub(super) struct Footer {
    pub(super) rows: u64,
    pub(super) stripes: Vec<StripePlace>,
    pub(super) root: TypeNode,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    String,
    Binary,
    Timestamp,
    List,
    Map,
    Struct,
    Union,
    Decimal,
    Date,
    TimestampInstant,
}

/// One type and the types below it.
#[derive(Clone, Debug)]
pub(super) struct TypeNode {
    /// The number that streams of this type carry.
    pub(super) column: u32,
    pub(super) kind: Kind,
    pub(super) precision: u32,
    pub(super) scale: u32,
    pub(super) attributes: BTreeMap<String, String>,
    /// The names of a struct's members, then the members, or a list's element, a map's key and value.
    pub(super) names: Vec<String>,
    pub(super) children: Vec<TypeNode>,
}

struct RawType {
    kind: Kind,
    subtypes: Vec<u64>,
    names: Vec<String>,
    precision: u32,
    scale: u32,
    attributes: BTreeMap<String, String>,
}

impl Footer {
    /// Reads the footer of a file of `size` bytes.
    pub(super) fn read(compressed: Bytes, compression: Compression, size: u64) -> Result<Footer> {
        let bytes = Stream::new(compression, compressed).read_all(FOOTER_MAX)?;
        let (mut rows, mut stripes, mut types) = (0, Vec::new(), Vec::new());
        let mut message = Message::new(&bytes);
        while let Some((number, wire)) = message.field()? {
            match number {
                3 => stripes.push(stripe(wire.bytes()?, size)?),
                4 => types.push(raw_type(wire.bytes()?)?),
                6 => rows = wire.number()?,
                10 => return Err(Error::unsupported("encrypted ORC files")),
                _ => {}
            }
        }
        let held = stripes.iter().try_fold(0u64, |sum, stripe: &StripePlace| {
            sum.checked_add(stripe.rows)
        });
        if held != Some(rows) {
            return Err(Error::corrupt(format!(
                "ORC: the stripes hold {} rows, the footer says {rows}",
                held.unwrap_or(u64::MAX)
            )));
        }
        let mut used = 0;
        let root = tree(&types, 0, 0, &mut used)?;
        if root.kind != Kind::Struct {
            return Err(Error::unsupported("ORC files whose rows are no structs"));
        }
        Ok(Footer {
            rows,
            stripes,
            root,
        })
    }
}

fn stripe(bytes: &[u8], size: u64) -> Result<StripePlace> {
    let (mut offset, mut index, mut data, mut footer, mut rows) = (0, 0, 0, 0, 0);
    let mut message = Message::new(bytes);
    while let Some((number, wire)) = message.field()? {
        match number {
            1 => offset = wire.number()?,
            2 => index = wire.number()?,
            3 => data = wire.number()?,
            4 => footer = wire.number()?,
            5 => rows = wire.number()?,
            _ => {}
        }
    }
    let end = [index, data, footer]
        .iter()
        .try_fold(offset, |at: u64, length| at.checked_add(*length));
    if end.is_none_or(|end| end > size) {
        return Err(Error::corrupt(
            "ORC: a stripe lies beyond the end of the file",
        ));
    }
    Ok(StripePlace {
        offset,
        streams: index + data,
        footer,
        rows,
    })
}

fn raw_type(bytes: &[u8]) -> Result<RawType> {
    let mut raw = RawType {
        kind: Kind::Boolean,
        subtypes: Vec::new(),
        names: Vec::new(),
        precision: 0,
        scale: 0,
        attributes: BTreeMap::new(),
    };
    let mut message = Message::new(bytes);
    while let Some((number, wire)) = message.field()? {
        match number {
            1 => raw.kind = kind(wire.number()?)?,
            2 => raw.subtypes.extend(wire.numbers()?),
            3 => raw.names.push(wire.text()?),
            5 => raw.precision = wire.u32()?,
            6 => raw.scale = wire.u32()?,
            7 => {
                let (key, value) = pair(wire)?;
                raw.attributes.insert(key, value);
            }
            _ => {}
        }
    }
    Ok(raw)
}

fn pair(wire: Wire<'_>) -> Result<(String, String)> {
    let (mut key, mut value) = (String::new(), String::new());
    let mut message = Message::new(wire.bytes()?);
    while let Some((number, wire)) = message.field()? {
        match number {
            1 => key = wire.text()?,
            2 => value = wire.text()?,
            _ => {}
        }
    }
    Ok((key, value))
}

fn kind(code: u64) -> Result<Kind> {
    Ok(match code {
        0 => Kind::Boolean,
        1 => Kind::Byte,
        2 => Kind::Short,
        3 => Kind::Int,
        4 => Kind::Long,
        5 => Kind::Float,
        6 => Kind::Double,
        7 | 16 | 17 => Kind::String,
        8 => Kind::Binary,
        9 => Kind::Timestamp,
        10 => Kind::List,
        11 => Kind::Map,
        12 => Kind::Struct,
        13 => Kind::Union,
        14 => Kind::Decimal,
        15 => Kind::Date,
        18 => Kind::TimestampInstant,
        other => return Err(Error::unsupported(format!("the ORC type {other}"))),
    })
}

/// The type at `index` with all below it. Types are numbered in pre-order, so each refers to later ones only,
/// and no type is used twice.
fn tree(types: &[RawType], index: u64, depth: usize, used: &mut usize) -> Result<TypeNode> {
    let damaged = || Error::corrupt("ORC: the types do not form a tree");
    let raw = usize::try_from(index)
        .ok()
        .and_then(|index| types.get(index))
        .ok_or_else(damaged)?;
    *used += 1;
    if depth > DEPTH_MAX || *used > types.len() {
        return Err(damaged());
    }
    let wanted = match raw.kind {
        Kind::List => Some(1),
        Kind::Map => Some(2),
        Kind::Struct => Some(raw.names.len()),
        Kind::Union => None,
        _ => Some(0),
    };
    let rising = raw.subtypes.iter().all(|child| *child > index);
    if !rising || wanted.is_some_and(|wanted| wanted != raw.subtypes.len()) {
        return Err(damaged());
    }
    Ok(TypeNode {
        column: u32::try_from(index).map_err(|_| damaged())?,
        kind: raw.kind,
        precision: raw.precision,
        scale: raw.scale,
        attributes: raw.attributes.clone(),
        names: raw.names.clone(),
        children: raw
            .subtypes
            .iter()
            .map(|child| tree(types, *child, depth + 1, used))
            .collect::<Result<_>>()?,
    })
}

/// What a stream holds for its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Present,
    Data,
    Length,
    Dictionary,
    Secondary,
}

/// How a column is written in one stripe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Encoding {
    pub(super) dictionary: bool,
    /// Whether integers are in runs of version 2.
    pub(super) second: bool,
    pub(super) entries: usize,
}

/// The footer of a stripe: where its streams lie and how its columns are written.
pub(super) struct StripeFooter {
    pub(super) streams: BTreeMap<(u32, Role), Range<u64>>,
    pub(super) encodings: Vec<Encoding>,
    pub(super) zone: Option<String>,
}

impl StripeFooter {
    pub(super) fn read(
        compressed: Bytes,
        compression: Compression,
        place: &StripePlace,
    ) -> Result<StripeFooter> {
        let bytes = Stream::new(compression, compressed).read_all(FOOTER_MAX)?;
        let mut footer = StripeFooter {
            streams: BTreeMap::new(),
            encodings: Vec::new(),
            zone: None,
        };
        let mut at = place.offset;
        let end = place.offset + place.streams;
        let mut message = Message::new(&bytes);
        while let Some((number, wire)) = message.field()? {
            match number {
                1 => at = footer.stream(wire.bytes()?, at, end)?,
                2 => footer.encodings.push(encoding(wire.bytes()?)?),
                3 => footer.zone = Some(wire.text()?).filter(|zone| !zone.is_empty()),
                4 => return Err(Error::unsupported("encrypted ORC files")),
                _ => {}
            }
        }
        Ok(footer)
    }

    /// Notes the stream that starts at `at`; gives its end.
    fn stream(&mut self, bytes: &[u8], at: u64, end: u64) -> Result<u64> {
        let (mut role, mut column, mut length) = (0, 0, 0);
        let mut message = Message::new(bytes);
        while let Some((number, wire)) = message.field()? {
            match number {
                1 => role = wire.number()?,
                2 => column = wire.u32()?,
                3 => length = wire.number()?,
                _ => {}
            }
        }
        let next = at.checked_add(length).filter(|next| *next <= end);
        let next = next.ok_or_else(|| Error::corrupt("ORC: a stream reaches beyond its stripe"))?;
        let role = match role {
            0 => Role::Present,
            1 => Role::Data,
            2 => Role::Length,
            3 => Role::Dictionary,
            5 => Role::Secondary,
            // Indexes, Bloom filters and statistics.
            _ => return Ok(next),
        };
        match self.streams.insert((column, role), at..next) {
            None => Ok(next),
            Some(_) => Err(Error::corrupt(format!(
                "ORC: column {column} has two streams {role:?}"
            ))),
        }
    }
}

fn encoding(bytes: &[u8]) -> Result<Encoding> {
    let (mut kind, mut entries) = (0, 0);
    let mut message = Message::new(bytes);
    while let Some((number, wire)) = message.field()? {
        match number {
            1 => kind = wire.number()?,
            2 => entries = wire.number()?,
            _ => {}
        }
    }
    if kind > 3 {
        return Err(Error::unsupported(format!("the ORC encoding {kind}")));
    }
    Ok(Encoding {
        dictionary: kind % 2 == 1,
        second: kind >= 2,
        entries: usize::try_from(entries)
            .map_err(|_| Error::corrupt("ORC: a dictionary is too large"))?,
    })
}
