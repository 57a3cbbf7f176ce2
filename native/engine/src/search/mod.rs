//! placeholder header for search
