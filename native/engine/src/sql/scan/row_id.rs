//! Names of the columns that identify a row: no identifier that a user types spells them.

use crate::iceberg::predicate::reserved;
use crate::table::SEQUENCE;

/// The data file's path.
pub(crate) const FILE: &str = "\u{1}file";

/// The physical position in the file.
pub(crate) const POSITION: &str = "\u{1}pos";

/// The file's data sequence number.
pub(crate) const SEQUENCE_NUMBER: &str = "\u{1}seq";

/// The column that a vector search adds.
pub(crate) const DISTANCE: &str = "_distance";

/// The order of equal distances and scores.
pub(crate) const ORDER: [&str; 3] = [SEQUENCE_NUMBER, FILE, POSITION];

/// The field ids of [`ORDER`].
pub(crate) const ORDER_IDS: [i32; 3] = [SEQUENCE, reserved::FILE, reserved::POS];
