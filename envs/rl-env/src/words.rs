//! The memory of observation buffers.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

/// Words in their own allocation, or in memory that belongs to another owner.
pub(crate) enum Words {
    Own(Vec<u64>),
    Lent(LentWords),
}

/// Words in memory that `owner` keeps allocated.
pub(crate) struct LentWords {
    start: NonNull<u64>,
    len: usize,
    #[expect(dead_code, reason = "dropping it ends the loan")]
    owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the words are plain data that nothing else accesses (see `LentWords::new`), so they may move between threads
// and be read by several, like those of a `Vec`.
#[allow(unsafe_code)]
unsafe impl Send for LentWords {}
// SAFETY: likewise.
#[allow(unsafe_code)]
unsafe impl Sync for LentWords {}

impl LentWords {
    /// Borrows `len` words from `start` on.
    ///
    /// # Safety
    ///
    /// `start` is aligned to eight bytes. Until `owner` is dropped, the words are allocated, initialized, do not move,
    /// and nothing else accesses them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn new(start: NonNull<u64>, len: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        Self { start, len, owner }
    }
}

impl Words {
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u64 {
        match self {
            Self::Own(words) => words.as_mut_ptr(),
            Self::Lent(words) => words.start.as_ptr(),
        }
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            Self::Own(words) => words,
            // SAFETY: the words are readable while `owner` lives, as `LentWords::new` requires.
            #[allow(unsafe_code)]
            Self::Lent(words) => unsafe { slice::from_raw_parts(words.start.as_ptr(), words.len) },
        }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Own(words) => words,
            // SAFETY: the words are writable while `owner` lives, and nothing else accesses them, as `LentWords::new`
            // requires.
            #[allow(unsafe_code)]
            Self::Lent(words) => unsafe { slice::from_raw_parts_mut(words.start.as_ptr(), words.len) },
        }
    }
}

/// A clone has its own allocation.
impl Clone for Words {
    fn clone(&self) -> Self {
        Self::Own(self.to_vec())
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}
