//! The Iceberg field ids of manifest lists and manifests (Iceberg spec, manifests).

pub(super) mod list {
    pub(in super::super) const PATH: i32 = 500;
    pub(in super::super) const LENGTH: i32 = 501;
    pub(in super::super) const SPEC_ID: i32 = 502;
    pub(in super::super) const ADDED_SNAPSHOT_ID: i32 = 503;
    pub(in super::super) const ADDED_FILES: i32 = 504;
    pub(in super::super) const EXISTING_FILES: i32 = 505;
    pub(in super::super) const DELETED_FILES: i32 = 506;
    pub(in super::super) const PARTITIONS: i32 = 507;
    pub(in super::super) const PARTITION: i32 = 508;
    pub(in super::super) const CONTAINS_NULL: i32 = 509;
    pub(in super::super) const LOWER_BOUND: i32 = 510;
    pub(in super::super) const UPPER_BOUND: i32 = 511;
    pub(in super::super) const ADDED_ROWS: i32 = 512;
    pub(in super::super) const EXISTING_ROWS: i32 = 513;
    pub(in super::super) const DELETED_ROWS: i32 = 514;
    pub(in super::super) const SEQUENCE_NUMBER: i32 = 515;
    pub(in super::super) const MIN_SEQUENCE_NUMBER: i32 = 516;
    pub(in super::super) const CONTENT: i32 = 517;
    pub(in super::super) const CONTAINS_NAN: i32 = 518;
    pub(in super::super) const KEY_METADATA: i32 = 519;
    pub(in super::super) const FIRST_ROW_ID: i32 = 520;
}

pub(super) mod entry {
    pub(in super::super) const STATUS: i32 = 0;
    pub(in super::super) const SNAPSHOT_ID: i32 = 1;
    pub(in super::super) const DATA_FILE: i32 = 2;
    pub(in super::super) const SEQUENCE_NUMBER: i32 = 3;
    pub(in super::super) const FILE_SEQUENCE_NUMBER: i32 = 4;
    pub(in super::super) const FILE_PATH: i32 = 100;
    pub(in super::super) const FILE_FORMAT: i32 = 101;
    pub(in super::super) const PARTITION: i32 = 102;
    pub(in super::super) const RECORD_COUNT: i32 = 103;
    pub(in super::super) const FILE_SIZE: i32 = 104;
    pub(in super::super) const BLOCK_SIZE: i32 = 105;
    pub(in super::super) const COLUMN_SIZES: i32 = 108;
    pub(in super::super) const VALUE_COUNTS: i32 = 109;
    pub(in super::super) const NULL_VALUE_COUNTS: i32 = 110;
    pub(in super::super) const LOWER_BOUNDS: i32 = 125;
    pub(in super::super) const UPPER_BOUNDS: i32 = 128;
    pub(in super::super) const KEY_METADATA: i32 = 131;
    pub(in super::super) const SPLIT_OFFSETS: i32 = 132;
    pub(in super::super) const CONTENT: i32 = 134;
    pub(in super::super) const EQUALITY_IDS: i32 = 135;
    pub(in super::super) const NAN_VALUE_COUNTS: i32 = 137;
    pub(in super::super) const SORT_ORDER_ID: i32 = 140;
    pub(in super::super) const FIRST_ROW_ID: i32 = 142;
    pub(in super::super) const REFERENCED_DATA_FILE: i32 = 143;
    pub(in super::super) const CONTENT_OFFSET: i32 = 144;
    pub(in super::super) const CONTENT_SIZE: i32 = 145;
}
