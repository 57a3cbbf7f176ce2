//! placeholder header for storage
