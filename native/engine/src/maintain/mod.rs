//! placeholder header for maintain
