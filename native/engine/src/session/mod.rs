//! placeholder header for session
