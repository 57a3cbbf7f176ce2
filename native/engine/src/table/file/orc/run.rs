//! The run-length encodings of ORC: integers in versions 1 and 2, bytes, and bits. A reader that is asked for
//! more values than its stream holds says so; it never makes values up.

use super::stream::Stream;
use crate::error::{Error, Result};

/// A stream of integers.
pub(super) struct Integers {
    stream: Stream,
    signed: bool,
    second: bool,
    /// The decoded run, at most 512 values, and how many of them are used.
    run: Vec<i64>,
    used: usize,
}

impl Integers {
    /// `second`: whether the runs are those of version 2.
    pub(super) fn new(stream: Stream, signed: bool, second: bool) -> Self {
        Integers {
            stream,
            signed,
            second,
            run: Vec::new(),
            used: 0,
        }
    }

    pub(super) fn read(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut values = Vec::new();
        while values.len() < count {
            let part = self.part(count - values.len())?;
            values.extend_from_slice(part);
        }
        Ok(values)
    }

    pub(super) fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            count -= self.part(count)?.len();
        }
        Ok(())
    }

    /// The sum of the next lengths, which are not negative.
    pub(super) fn skip_lengths(&mut self, mut count: usize) -> Result<usize> {
        let mut sum = 0usize;
        while count > 0 {
            let part = self.part(count)?;
            count -= part.len();
            for length in part {
                sum = length_of(*length)
                    .and_then(|n| sum.checked_add(n))
                    .ok_or_else(bad_length)?;
            }
        }
        Ok(sum)
    }

    /// Between 1 and `most` of the next values.
    fn part(&mut self, most: usize) -> Result<&[i64]> {
        if self.used == self.run.len() {
            self.run.clear();
            self.used = 0;
            if self.second {
                self.run_2()?;
            } else {
                self.run_1()?;
            }
        }
        let start = self.used;
        self.used = self.run.len().min(start + most);
        self.run
            .get(start..self.used)
            .ok_or_else(|| Error::internal("ORC: a run is shorter than its values"))
    }

    fn signed(&self, value: u64) -> i64 {
        if self.signed {
            zigzag(value)
        } else {
            value.cast_signed()
        }
    }

    fn run_1(&mut self) -> Result<()> {
        let control = self.stream.byte()?.cast_signed();
        if control < 0 {
            for _ in 0..control.unsigned_abs() {
                let value = self.stream.varint()?;
                self.run.push(self.signed(value));
            }
            return Ok(());
        }
        let count = i64::from(control) + 3;
        let step = i64::from(self.stream.byte()?.cast_signed());
        let base = self.stream.varint()?;
        let base = self.signed(base);
        self.run
            .extend((0..count).map(|i| base.wrapping_add(step.wrapping_mul(i))));
        Ok(())
    }

    fn run_2(&mut self) -> Result<()> {
        let first = self.stream.byte()?;
        match first >> 6 {
            0 => self.short_repeat(first),
            1 => self.direct(first),
            2 => self.patched(first),
            _ => self.delta(first),
        }
    }

    fn short_repeat(&mut self, first: u8) -> Result<()> {
        let width = u32::from(first >> 3 & 7) + 1;
        let value = self.big_endian(width)?;
        let value = self.signed(value);
        self.run
            .extend(std::iter::repeat_n(value, usize::from(first & 7) + 3));
        Ok(())
    }

    /// The length of a run: nine bits over two bytes.
    fn length(&mut self, first: u8) -> Result<usize> {
        Ok((usize::from(first & 1) << 8) | usize::from(self.stream.byte()?))
    }

    fn direct(&mut self, first: u8) -> Result<()> {
        let width = width(first >> 1 & 31);
        let count = self.length(first)? + 1;
        let values = self.packed(count, width)?;
        let signed = self.signed;
        self.run.extend(values.into_iter().map(|value| {
            if signed {
                zigzag(value)
            } else {
                value.cast_signed()
            }
        }));
        Ok(())
    }

    fn patched(&mut self, first: u8) -> Result<()> {
        let data_width = width(first >> 1 & 31);
        let count = self.length(first)? + 1;
        let third = self.stream.byte()?;
        let fourth = self.stream.byte()?;
        let base_bytes = u32::from(third >> 5) + 1;
        let patch_width = width(third & 31);
        let gap_width = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 31);
        let base = self.sign_and_magnitude(base_bytes)?;
        let mut values = self.packed(count, data_width)?;
        let entry_width = closest_width(patch_width + gap_width)?;
        let mut at = 0;
        for entry in self.packed(patches, entry_width)? {
            let gap = entry.checked_shr(patch_width).unwrap_or(0);
            let patch = entry & mask(patch_width);
            at += usize::try_from(gap).unwrap_or(usize::MAX).min(255);
            // A gap too wide for one entry goes on in the next, marked by an empty patch.
            if gap == 255 && patch == 0 {
                continue;
            }
            let value = values
                .get_mut(at)
                .ok_or_else(|| Error::corrupt("ORC: a patch lies beyond its run"))?;
            *value |= patch.checked_shl(data_width).unwrap_or(0);
        }
        self.run
            .extend(values.iter().map(|v| base.wrapping_add(v.cast_signed())));
        Ok(())
    }

    fn delta(&mut self, first: u8) -> Result<()> {
        let code = first >> 1 & 31;
        let more = self.length(first)?;
        let base = self.stream.varint()?;
        let base = self.signed(base);
        let step = zigzag(self.stream.varint()?);
        self.run.push(base);
        let mut last = base;
        if code == 0 {
            for _ in 0..more {
                last = last.wrapping_add(step);
                self.run.push(last);
            }
            return Ok(());
        }
        if more == 0 {
            return Ok(());
        }
        last = last.wrapping_add(step);
        self.run.push(last);
        for change in self.packed(more - 1, width(code))? {
            let change = change.cast_signed();
            last = if step < 0 {
                last.wrapping_sub(change)
            } else {
                last.wrapping_add(change)
            };
            self.run.push(last);
        }
        Ok(())
    }

    fn big_endian(&mut self, bytes: u32) -> Result<u64> {
        let mut value = 0;
        for _ in 0..bytes {
            value = value << 8 | u64::from(self.stream.byte()?);
        }
        Ok(value)
    }

    fn sign_and_magnitude(&mut self, bytes: u32) -> Result<i64> {
        let value = self.big_endian(bytes)?;
        let sign = 1u64 << (bytes * 8 - 1);
        let magnitude = (value & !sign).cast_signed();
        Ok(if value & sign == 0 {
            magnitude
        } else {
            magnitude.wrapping_neg()
        })
    }

    /// Values of `width` bits, the highest bit first; the last byte is filled up.
    fn packed(&mut self, count: usize, width: u32) -> Result<Vec<u64>> {
        let mut values = Vec::with_capacity(count.min(512));
        let (mut bits, mut held) = (0u128, 0u32);
        for _ in 0..count {
            while held < width {
                bits = bits << 8 | u128::from(self.stream.byte()?);
                held += 8;
            }
            held -= width;
            let value = u64::try_from(bits >> held).unwrap_or(0);
            values.push(value);
            bits &= (1u128 << held) - 1;
        }
        Ok(values)
    }
}

/// A list's or a string's length.
pub(super) fn length_of(length: i64) -> Option<usize> {
    usize::try_from(length).ok()
}

/// A length that no value can have.
pub(super) fn bad_length() -> Error {
    Error::corrupt("ORC: a length is negative or too large")
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(64 - width.min(64)).unwrap_or(0)
}

/// The width that a code of five bits stands for.
fn width(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The least width that a code can stand for and that holds `bits`.
fn closest_width(bits: u32) -> Result<u32> {
    match bits {
        0..=24 => Ok(bits.max(1)),
        25..=26 => Ok(26),
        27..=28 => Ok(28),
        29..=30 => Ok(30),
        31..=32 => Ok(32),
        33..=40 => Ok(40),
        41..=48 => Ok(48),
        49..=56 => Ok(56),
        57..=64 => Ok(64),
        _ => Err(Error::corrupt("ORC: patches are wider than 64 bits")),
    }
}

/// A stream of bytes in runs.
pub(super) struct ByteRuns {
    stream: Stream,
    /// How many values are left of the run, and the value that repeats.
    left: usize,
    repeated: Option<u8>,
}

impl ByteRuns {
    pub(super) fn new(stream: Stream) -> Self {
        ByteRuns {
            stream,
            left: 0,
            repeated: None,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<u8> {
        if self.left == 0 {
            let control = self.stream.byte()?.cast_signed();
            if control < 0 {
                self.left = usize::from(control.unsigned_abs());
                self.repeated = None;
            } else {
                self.left = usize::from(control.unsigned_abs()) + 3;
                self.repeated = Some(self.stream.byte()?);
            }
        }
        self.left -= 1;
        match self.repeated {
            Some(value) => Ok(value),
            None => self.stream.byte(),
        }
    }

    pub(super) fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.next()?);
        }
        Ok(values)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            self.next()?;
        }
        Ok(())
    }
}

/// A stream of bits, the highest of a byte first.
pub(super) struct Bits {
    bytes: ByteRuns,
    byte: u8,
    left: u32,
}

impl Bits {
    pub(super) fn new(stream: Stream) -> Self {
        Bits {
            bytes: ByteRuns::new(stream),
            byte: 0,
            left: 0,
        }
    }

    #[inline]
    fn next(&mut self) -> Result<bool> {
        if self.left == 0 {
            self.byte = self.bytes.next()?;
            self.left = 8;
        }
        self.left -= 1;
        Ok(self.byte >> self.left & 1 == 1)
    }

    pub(super) fn read(&mut self, count: usize) -> Result<Vec<bool>> {
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.next()?);
        }
        Ok(values)
    }

    /// How many of the next `count` bits are set.
    pub(super) fn count(&mut self, count: usize) -> Result<usize> {
        let mut set = 0;
        for _ in 0..count {
            set += usize::from(self.next()?);
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::stream::{Codec, Compression};
    use super::*;

    fn stream(bytes: &[u8]) -> Stream {
        let compression = Compression {
            codec: Codec::None,
            block: 1 << 18,
        };
        Stream::new(compression, Bytes::copy_from_slice(bytes))
    }

    fn read(bytes: &[u8], signed: bool, second: bool, count: usize) -> Vec<i64> {
        let mut integers = Integers::new(stream(bytes), signed, second);
        let values = integers.read(count).unwrap();
        assert!(integers.read(1).is_err(), "more values than were written");
        values
    }

    /// The examples of the ORC specification.
    #[test]
    fn integers_of_the_specification_are_read() {
        assert_eq!(read(&[0x61, 0, 7], false, false, 100), vec![7; 100]);
        let falling: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(read(&[0x61, 0xff, 100], false, false, 100), falling);
        assert_eq!(
            read(&[0xfb, 2, 3, 6, 7, 0xb], false, false, 5),
            [2, 3, 6, 7, 11]
        );
        assert_eq!(read(&[0x0a, 0x27, 0x10], false, true, 5), vec![10_000; 5]);
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(
            read(&direct, false, true, 4),
            [23_713, 43_806, 57_005, 48_879]
        );
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46,
            0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        assert_eq!(
            read(&patched, false, true, 20),
            [
                2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120,
                2130, 2140, 2150, 2160, 2170, 2180, 2190
            ]
        );
        let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(
            read(&delta, false, true, 10),
            [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
        );
    }

    #[test]
    fn bytes_and_bits_of_the_specification_are_read() {
        let mut runs = ByteRuns::new(stream(&[0x61, 0x00, 0xfe, 0x44, 0x45]));
        runs.skip(99).unwrap();
        assert_eq!(runs.read(3).unwrap(), [0, 0x44, 0x45]);
        assert!(runs.next().is_err());
        let mut bits = Bits::new(stream(&[0xff, 0x80]));
        assert_eq!(
            bits.read(8).unwrap(),
            [true, false, false, false, false, false, false, false]
        );
        assert!(bits.count(1).is_err());
    }

    #[test]
    fn lengths_that_no_value_has_are_corrupt() {
        // Version 2, short repeat of eight bytes, all ones: negative as a length.
        let bytes = [0x38, 255, 255, 255, 255, 255, 255, 255, 255];
        let mut lengths = Integers::new(stream(&bytes), false, true);
        assert!(lengths.skip_lengths(3).is_err());
    }
}
