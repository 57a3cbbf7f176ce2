//! placeholder header for catalog
