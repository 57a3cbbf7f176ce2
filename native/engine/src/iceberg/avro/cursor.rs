//! A reading position in Avro binary data. Every length and count is checked against what is left.

use super::schema::AvroType;
use crate::error::{Error, Result};

/// The most fields an Avro value may need to skip per byte: null items take no bytes at all.
const MAX_EMPTY_ITEMS: usize = 1 << 20;

/// A position in a slice.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// A zigzag varint. A number beyond 64 bits is refused, never wrapped.
    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let Some((&byte, rest)) = self.rest.split_first() else {
                return Err(Error::corrupt("avro: truncated number"));
            };
            self.rest = rest;
            if shift == 63 && byte > 1 {
                return Err(Error::corrupt("avro: a number exceeds 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
            shift += 7;
        }
    }

    pub(crate) fn int(&mut self) -> Result<i32> {
        i32::try_from(self.long()?).map_err(|_| Error::corrupt("avro: a number exceeds 32 bits"))
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(Error::corrupt("avro: truncated value"));
        };
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?
            .try_into()
            .map_err(|_| Error::internal("avro: wrong length"))
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length =
            usize::try_from(self.long()?).map_err(|_| Error::corrupt("avro: negative length"))?;
        self.take(length)
    }

    pub(crate) fn str(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| Error::corrupt("avro: a string is not UTF-8"))
    }

    pub(crate) fn boolean(&mut self) -> Result<bool> {
        Ok(self.array::<1>()? != [0])
    }

    /// The head of a block of array or map items: how many (0 ends) and, if the writer said so, how many bytes.
    #[inline]
    fn block(&mut self) -> Result<(usize, Option<usize>)> {
        let count = self.long()?;
        let size = match count {
            0.. => None,
            _ => Some(
                usize::try_from(self.long()?)
                    .map_err(|_| Error::corrupt("avro: negative block size"))?,
            ),
        };
        let count = usize::try_from(count.unsigned_abs())
            .map_err(|_| Error::corrupt("avro: too many items"))?;
        Ok((count, size))
    }

    /// Calls `f` once for each item of an array.
    pub(crate) fn items(&mut self, mut f: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let mut empty = 0;
        loop {
            let (count, _) = self.block()?;
            if count == 0 {
                return Ok(());
            }
            for _ in 0..count {
                let before = self.rest.len();
                f(self)?;
                empty += usize::from(before == self.rest.len());
                if empty > MAX_EMPTY_ITEMS {
                    return Err(Error::corrupt("avro: too many items"));
                }
            }
        }
    }

    /// Goes over an array without looking at its items where the writer gave their size.
    pub(crate) fn skip_items(&mut self, mut f: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let mut empty = 0;
        loop {
            let (count, size) = self.block()?;
            if let Some(size) = size {
                self.take(size)?;
                continue;
            }
            if count == 0 {
                return Ok(());
            }
            for _ in 0..count {
                let before = self.rest.len();
                f(self)?;
                empty += usize::from(before == self.rest.len());
                if empty > MAX_EMPTY_ITEMS {
                    return Err(Error::corrupt("avro: too many items"));
                }
            }
        }
    }

    /// Goes over one value.
    pub(crate) fn skip(&mut self, ty: &AvroType) -> Result<()> {
        match ty {
            AvroType::Null => {}
            AvroType::Boolean => drop(self.take(1)?),
            AvroType::Int | AvroType::Long | AvroType::Enum => drop(self.long()?),
            AvroType::Float => drop(self.take(4)?),
            AvroType::Double => drop(self.take(8)?),
            AvroType::Bytes | AvroType::String => drop(self.bytes()?),
            AvroType::Fixed(length) => drop(self.take(*length)?),
            AvroType::Union(branches) => {
                let branch = self.branch(branches)?;
                self.skip(branch)?;
            }
            AvroType::Record(fields) => fields.iter().try_for_each(|field| self.skip(&field.ty))?,
            AvroType::Array(item) => self.skip_items(|c| c.skip(item))?,
            AvroType::Map(value) => self.skip_items(|c| {
                c.bytes()?;
                c.skip(value)
            })?,
        }
        Ok(())
    }

    fn branch<'t>(&mut self, branches: &'t [AvroType]) -> Result<&'t AvroType> {
        let index = self.long()?;
        let branch = usize::try_from(index).ok().and_then(|i| branches.get(i));
        branch.ok_or_else(|| Error::corrupt(format!("avro: a union has no branch {index}")))
    }

    /// The type of the value that comes next: a union resolved; None for null.
    #[inline]
    pub(crate) fn present<'t>(&mut self, ty: &'t AvroType) -> Result<Option<&'t AvroType>> {
        let ty = match ty {
            AvroType::Union(branches) => self.branch(branches)?,
            other => other,
        };
        Ok(if matches!(ty, AvroType::Null) {
            None
        } else {
            Some(ty)
        })
    }

    pub(crate) fn optional_long(&mut self, ty: &AvroType) -> Result<Option<i64>> {
        match self.present(ty)? {
            None => Ok(None),
            Some(AvroType::Int | AvroType::Long) => self.long().map(Some),
            Some(other) => Err(Error::corrupt(format!(
                "avro: expected a number, found {other:?}"
            ))),
        }
    }

    pub(crate) fn optional_bool(&mut self, ty: &AvroType) -> Result<Option<bool>> {
        match self.present(ty)? {
            None => Ok(None),
            Some(AvroType::Boolean) => self.boolean().map(Some),
            Some(other) => Err(Error::corrupt(format!(
                "avro: expected a boolean, found {other:?}"
            ))),
        }
    }

    pub(crate) fn optional_bytes(&mut self, ty: &AvroType) -> Result<Option<&'a [u8]>> {
        match self.present(ty)? {
            None => Ok(None),
            Some(AvroType::Bytes | AvroType::String) => self.bytes().map(Some),
            Some(AvroType::Fixed(length)) => self.take(*length).map(Some),
            Some(other) => Err(Error::corrupt(format!(
                "avro: expected bytes, found {other:?}"
            ))),
        }
    }

    pub(crate) fn optional_str(&mut self, ty: &AvroType) -> Result<Option<&'a str>> {
        let text = self
            .optional_bytes(ty)?
            .map(std::str::from_utf8)
            .transpose();
        text.map_err(|_| Error::corrupt("avro: a string is not UTF-8"))
    }
}
