//! placeholder header for sql
