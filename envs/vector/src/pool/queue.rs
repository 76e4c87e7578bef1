use super::sync::{AtomicU32, AtomicUsize, Ordering};

/// A FIFO queue of indices, so that none starves behind later ones.
///
/// One thread pushes, all participants pop. The queue has room for every index once and no index is in it twice, so an
/// entry is never overwritten before it is popped. `tests/loom.rs` checks this with a model.
#[derive(Debug)]
pub(super) struct Queue {
    indices: Box<[AtomicU32]>,
    /// The number of pops.
    popped: AtomicUsize,
    /// The number of pushes.
    pushed: AtomicUsize,
}

impl Queue {
    /// Creates a queue with room for `capacity` indices.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            indices: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
            popped: AtomicUsize::new(0),
            pushed: AtomicUsize::new(0),
        }
    }

    /// Appends an index. Only one thread may push, and only an index that is not in the queue.
    pub(super) fn push(&self, index: usize) {
        let end = self.pushed.load(Ordering::Relaxed);
        debug_assert!(end - self.popped.load(Ordering::Relaxed) < self.indices.len());
        self.indices[end % self.indices.len()].store(index as u32, Ordering::Relaxed);
        // Release: the thread that pops the index sees everything that the sender wrote before.
        self.pushed.store(end + 1, Ordering::Release);
    }

    /// Removes the oldest index.
    pub(super) fn pop(&self) -> Option<usize> {
        // Acquire, here and when the exchange fails: the thread that popped the entry before saw its push, so this
        // thread sees it too. It never takes an older value of `pushed` for entries that are not there yet.
        let mut first = self.popped.load(Ordering::Acquire);
        loop {
            if first == self.pushed.load(Ordering::Acquire) {
                return None;
            }
            let index = self.indices[first % self.indices.len()].load(Ordering::Relaxed);
            // If another thread has popped this entry, it may have been overwritten; the exchange then fails.
            match self.popped.compare_exchange_weak(first, first + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(index as usize),
                Err(now) => first = now,
            }
        }
    }
}
