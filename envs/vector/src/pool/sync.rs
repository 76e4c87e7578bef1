//! The synchronization primitives of [`queue`](super::queue) and [`sleep`](super::sleep). `tests/loom.rs` compiles the
//! same two files with loom's primitives instead.

pub(super) use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
