//! Integers as bytes: blocks of 128 bit-packed to one width, variable-length integers, little-endian fields.
//! Blocks are laid out in four lanes so that compilers turn packing and unpacking into vector code; the bytes are
//! the same everywhere. Reading never panics and never reads past its slice: it answers None.

/// Rows in a full block of postings.
pub(super) const BLOCK: usize = 128;
/// The values of one block.
pub(super) type Block = [u32; BLOCK];

const LANES: usize = 4;
/// Bytes that one bit of width costs in a block.
const BYTES_PER_BIT: usize = BLOCK / 8;

/// The least width that holds every value.
pub(super) fn width_of(values: &Block) -> u8 {
    let all = values.iter().fold(0, |all, value| all | value);
    u8::try_from(u32::BITS - all.leading_zeros()).unwrap_or(u8::MAX)
}

/// Bytes of a block of `width`; None where no block has that width.
pub(super) fn packed_len(width: u8) -> Option<usize> {
    (width <= 32).then(|| usize::from(width) * BYTES_PER_BIT)
}

/// Appends `values`, none of which may need more than `width` bits.
pub(super) fn pack(values: &Block, width: u8, out: &mut Vec<u8>) {
    let mut pending = [0u64; LANES];
    let mut filled = 0u32;
    for group in values.chunks_exact(LANES) {
        for (word, value) in pending.iter_mut().zip(group) {
            *word |= u64::from(*value) << filled;
        }
        filled += u32::from(width);
        if filled >= u32::BITS {
            for word in &mut pending {
                let [a, b, c, d, ..] = word.to_le_bytes();
                out.extend_from_slice(&[a, b, c, d]);
                *word >>= u32::BITS;
            }
            filled -= u32::BITS;
        }
    }
}

/// Reads a block that `pack` wrote with `width`; `bytes` must have exactly its length.
pub(super) fn unpack(bytes: &[u8], width: u8, out: &mut Block) -> Option<()> {
    if bytes.len() != packed_len(width)? {
        return None;
    }
    let mut words = [[0u32; LANES]; 34];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4 * LANES)) {
        for (lane, bytes) in word.iter_mut().zip(bytes.chunks_exact(4)) {
            *lane = u32::from_le_bytes(bytes.try_into().ok()?);
        }
    }
    let width = u32::from(width);
    let mask = u32::MAX.checked_shr(u32::BITS - width).unwrap_or(0);
    let mut bit = 0u32;
    for group in out.chunks_exact_mut(LANES) {
        let at = (bit / u32::BITS) as usize;
        let shift = bit % u32::BITS;
        let low = words.get(at)?;
        let high = words.get(at + 1)?;
        for ((value, low), high) in group.iter_mut().zip(low).zip(high) {
            // two shifts, because one by 32 is none
            *value = ((low >> shift) | ((high << 1) << (31 - shift))) & mask;
        }
        bit += width;
    }
    Some(())
}

/// Appends a variable-length integer, seven bits a byte.
pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while let Some(low) = u8::try_from(value & 0x7f).ok().filter(|_| value >= 0x80) {
        out.push(low | 0x80);
        value >>= 7;
    }
    out.extend(u8::try_from(value));
}

/// Takes a variable-length integer off the front.
pub(super) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if part.checked_shl(shift)? >> shift != part {
            return None;
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Takes a variable-length integer that fits 32 bits.
pub(super) fn take_varint32(bytes: &mut &[u8]) -> Option<u32> {
    take_varint(bytes).and_then(|value| u32::try_from(value).ok())
}

/// Takes `length` bytes off the front.
pub(super) fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

/// The little-endian 32-bit integer at byte `at`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

/// The little-endian 64-bit integer at byte `at`.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}
