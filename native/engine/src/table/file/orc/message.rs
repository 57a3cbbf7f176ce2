//! Walks the protobuf messages of an ORC file: numbers and byte strings by field number. Every length is
//! checked against what is left; field kinds that ORC does not use here are passed over.

use crate::error::{Error, Result};

/// The value of one field.
#[derive(Clone, Copy)]
pub(super) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    pub(super) fn number(self) -> Result<u64> {
        match self {
            Wire::Number(n) => Ok(n),
            Wire::Bytes(_) => Err(damaged("bytes where a number belongs")),
        }
    }

    pub(super) fn u32(self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| damaged("a number beyond 32 bits"))
    }

    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            Wire::Number(_) => Err(damaged("a number where bytes belong")),
        }
    }

    pub(super) fn text(self) -> Result<String> {
        let text = std::str::from_utf8(self.bytes()?);
        Ok(text
            .map_err(|_| damaged("text that is not UTF-8"))?
            .to_owned())
    }

    /// The values of a repeated number, packed or not.
    pub(super) fn numbers(self) -> Result<Vec<u64>> {
        match self {
            Wire::Number(n) => Ok(vec![n]),
            Wire::Bytes(bytes) => {
                let mut message = Message { rest: bytes };
                let mut numbers = Vec::new();
                while !message.rest.is_empty() {
                    numbers.push(message.varint()?);
                }
                Ok(numbers)
            }
        }
    }
}

/// The fields of a message, in the order of the bytes.
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Message { rest: bytes }
    }

    /// The next field; None at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Wire<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number =
            u32::try_from(key >> 3).map_err(|_| damaged("a field number beyond 32 bits"))?;
        let wire = match key & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Bytes(self.take(8)?),
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Bytes(self.take(4)?),
            _ => return Err(damaged("a field of an unknown kind")),
        };
        Ok(Some((number, wire)))
    }

    fn varint(&mut self) -> Result<u64> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let Some((&byte, rest)) = self.rest.split_first() else {
                return Err(damaged("a truncated number"));
            };
            self.rest = rest;
            if shift == 63 && byte > 1 {
                return Err(damaged("a number beyond 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length));
        let Some((taken, rest)) = split else {
            return Err(damaged("a length beyond its end"));
        };
        self.rest = rest;
        Ok(taken)
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("ORC: the footer holds {what}"))
}
