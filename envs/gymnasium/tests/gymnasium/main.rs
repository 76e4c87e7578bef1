//! Environments of an installed Gymnasium, in worker processes.
//!
//! The tests use the Python interpreter `$GYMNASIUM_PYTHON`, or else `python3`. If it has no Gymnasium, they are
//! skipped; in CI they fail.

#![cfg(unix)]

mod batches;
mod building;
mod equality;
mod faults;
mod masks;
mod processes;
mod rendering;
mod snapshots;
mod support;
