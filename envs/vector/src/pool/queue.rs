use super::sync::{AtomicU32, AtomicUsize, Ordering};

/// Single indices in the order in which they were sent, so that none waits for ever behind later ones.
///
/// One thread pushes, all participants pop. There is room for every index once, and no index is in the queue twice, so
/// that nothing is ever overwritten before it has been popped.
#[derive(Debug)]
pub(super) struct Queue {
    indices: Box<[AtomicU32]>,
    /// Number of pops so far.
    popped: AtomicUsize,
    /// Number of pushes so far.
    pushed: AtomicUsize,
}

impl Queue {
    /// A queue with room for `capacity` indices.
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
        // Release: whoever pops the index sees what its sender wrote before.
        self.pushed.store(end + 1, Ordering::Release);
    }

    /// Removes the oldest index.
    pub(super) fn pop(&self) -> Option<usize> {
        let mut first = self.popped.load(Ordering::Relaxed);
        loop {
            if first == self.pushed.load(Ordering::Acquire) {
                return None;
            }
            let index = self.indices[first % self.indices.len()].load(Ordering::Relaxed);
            // If somebody else popped meanwhile, the index read may be another's; then the exchange fails.
            match self.popped.compare_exchange_weak(first, first + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(index as usize),
                Err(now) => first = now,
            }
        }
    }
}
