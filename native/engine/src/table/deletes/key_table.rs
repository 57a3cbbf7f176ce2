//! The keys of equality deletes as one hash table: from the compared values of a row to the newest sequence number
//! that deletes it. Single numbers are keys as they are, everything else in Arrow's row format.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, Int64Array};
use arrow::compute::{cast, nullif};
use arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type, Int64Type};
use arrow::row::{RowConverter, SortField};

use crate::error::{Error, Result};

/// More memory than this is not spent on the keys of one set of delete files.
const KEY_BYTES_MAX: usize = 4 << 30;
/// What a key costs in a table beside its bytes.
const ENTRY_BYTES: usize = 48;

/// Whether keys of so many bytes are held. Errors: ResourceExhausted.
pub(super) fn check_bytes(bytes: usize) -> Result<()> {
    if bytes <= KEY_BYTES_MAX {
        return Ok(());
    }
    Err(Error::resource_exhausted(format!(
        "equality deletes need more than {KEY_BYTES_MAX} bytes for their keys; compact the table"
    )))
}

/// The keys of several delete files of the same columns, each with the newest sequence number that deletes it.
pub(super) struct KeyTable {
    /// The top-level columns compared.
    pub(super) fields: Vec<FieldRef>,
    keys: Keys,
    bytes: usize,
}

enum Keys {
    /// One column of whole numbers, the usual case.
    Numbers {
        newest: HashMap<i64, i64, NumberHash>,
        null: Option<i64>,
    },
    Rows {
        newest: HashMap<Box<[u8]>, i64>,
        converter: RowConverter,
    },
}

impl KeyTable {
    /// A table without keys. Errors: Unsupported for a column that cannot be compared.
    pub(super) fn new(fields: Vec<FieldRef>) -> Result<KeyTable> {
        let mut types = Vec::new();
        fields
            .iter()
            .for_each(|field| leaf_types(field.data_type(), &mut types));
        let keys = match types.as_slice() {
            [one] if is_number(one) => Keys::Numbers {
                newest: HashMap::with_hasher(NumberHash::new()),
                null: None,
            },
            _ => Keys::Rows {
                newest: HashMap::new(),
                converter: RowConverter::new(types.into_iter().map(SortField::new).collect())?,
            },
        };
        Ok(KeyTable {
            fields,
            keys,
            bytes: 0,
        })
    }

    /// What the table takes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the rows of a delete file. Errors: ResourceExhausted beyond the limit on keys.
    pub(super) fn add(&mut self, columns: &[ArrayRef], sequence_number: i64) -> Result<()> {
        let later = |newest: &mut i64| *newest = (*newest).max(sequence_number);
        let leaves = leaves(columns)?;
        match &mut self.keys {
            Keys::Numbers { newest, null } => {
                for key in numbers(&leaves)?.iter() {
                    match key {
                        Some(key) => later(newest.entry(key).or_insert(sequence_number)),
                        None => later(null.get_or_insert(sequence_number)),
                    }
                }
                self.bytes = newest.len() * ENTRY_BYTES;
            }
            Keys::Rows { newest, converter } => {
                for row in &converter.convert_columns(&leaves)? {
                    match newest.get_mut(row.data()) {
                        Some(newest) => later(newest),
                        None => {
                            self.bytes += row.data().len() + ENTRY_BYTES;
                            newest.insert(row.data().into(), sequence_number);
                        }
                    }
                }
            }
        }
        check_bytes(self.bytes)
    }

    /// Clears the rows that a file newer than the data deletes.
    pub(super) fn clear_dead(
        &self,
        columns: &[ArrayRef],
        data_sequence_number: i64,
        live: &mut BooleanBufferBuilder,
    ) -> Result<()> {
        let dead = |newest: Option<&i64>| newest.is_some_and(|n| *n > data_sequence_number);
        let leaves = leaves(columns)?;
        match &self.keys {
            Keys::Numbers { newest, null } => {
                for (row, key) in numbers(&leaves)?.iter().enumerate() {
                    if dead(key.map_or(null.as_ref(), |key| newest.get(&key))) {
                        live.set_bit(row, false);
                    }
                }
            }
            Keys::Rows { newest, converter } => {
                for (row, key) in converter.convert_columns(&leaves)?.iter().enumerate() {
                    if dead(newest.get(key.data())) {
                        live.set_bit(row, false);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Hashes one number by one multiplication, a third of the time of the standard hasher; nobody can foresee the seed.
#[derive(Clone)]
struct NumberHash {
    seed: u64,
}

impl NumberHash {
    fn new() -> NumberHash {
        NumberHash {
            seed: RandomState::new().hash_one(0),
        }
    }
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    fn build_hasher(&self) -> NumberHasher {
        NumberHasher(self.seed)
    }
}

struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_i64(i64::from(*byte));
        }
    }

    fn write_i64(&mut self, number: i64) {
        // An odd multiplier without pattern: the fractional part of the golden ratio.
        const MULTIPLIER: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
        let bytes = u128::from(number.cast_unsigned() ^ self.0)
            .wrapping_mul(MULTIPLIER)
            .to_le_bytes();
        let (low, high) = bytes.split_at(8);
        let half = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        self.0 = half(low) ^ half(high);
    }
}

fn is_number(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Time64(_)
            | DataType::Timestamp(..)
    )
}

/// The single column as longs.
fn numbers(leaves: &[ArrayRef]) -> Result<Int64Array> {
    let [leaf] = leaves else {
        return Err(Error::internal("a key of several columns is no number"));
    };
    let wide = match leaf.data_type() {
        DataType::Date32 => cast(&cast(leaf, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(leaf, &DataType::Int64)?,
    };
    Ok(wide.as_primitive::<Int64Type>().clone())
}

fn leaf_types(ty: &DataType, types: &mut Vec<DataType>) {
    match ty {
        DataType::Struct(members) => {
            members
                .iter()
                .for_each(|m| leaf_types(m.data_type(), types));
        }
        leaf => types.push(leaf.clone()),
    }
}

/// The compared values: struct members on their own, NULL where their struct is; NaN is one value, as Java has it.
fn leaves(columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let mut found = Vec::new();
    for column in columns {
        push_leaves(column, &mut found)?;
    }
    Ok(found)
}

fn push_leaves(column: &ArrayRef, found: &mut Vec<ArrayRef>) -> Result<()> {
    match column.data_type() {
        DataType::Struct(_) => {
            let members = column.as_struct();
            for member in members.columns() {
                match members.nulls() {
                    Some(nulls) => {
                        let absent = BooleanArray::new(!nulls.inner(), None);
                        push_leaves(&nullif(member, &absent)?, found)?;
                    }
                    None => push_leaves(member, found)?,
                }
            }
        }
        DataType::Float32 => {
            let one_nan = |v: f32| if v.is_nan() { f32::NAN } else { v };
            let floats = column.as_primitive::<Float32Type>();
            found.push(Arc::new(floats.unary::<_, Float32Type>(one_nan)));
        }
        DataType::Float64 => {
            let one_nan = |v: f64| if v.is_nan() { f64::NAN } else { v };
            let floats = column.as_primitive::<Float64Type>();
            found.push(Arc::new(floats.unary::<_, Float64Type>(one_nan)));
        }
        _ => found.push(Arc::clone(column)),
    }
    Ok(())
}
