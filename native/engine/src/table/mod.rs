//! placeholder header for table
