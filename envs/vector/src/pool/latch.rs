use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Counts the open indices of a round; open itself when none is left.
///
/// The counter alone says whether the round is over. The lock only keeps the last count-down from falling between a
/// waiter's look at the counter and its going to sleep: the waiter looks while it holds the lock, and the last
/// count-down takes the lock before it decides whether anybody has to be woken.
#[derive(Debug, Default)]
pub(super) struct CountLatch {
    remaining: AtomicUsize,
    /// Whether a thread waits at `opened`, so that nobody pays for a wake-up that nobody needs.
    waiting: Mutex<bool>,
    opened: Condvar,
}

impl CountLatch {
    /// Closes the latch until `count` count-downs have come.
    pub(super) fn arm(&self, count: usize) {
        // The jobs that follow are published with Release, which carries this store along.
        self.remaining.store(count, Ordering::Relaxed);
    }

    /// Notes that one index is done.
    pub(super) fn count_down(&self) {
        // Release publishes what the job wrote; Acquire lets the last one speak for all before it.
        if self.remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waiting = *self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting {
                self.opened.notify_all();
            }
        }
    }

    /// Whether every count-down has come. If so, everything the jobs wrote is visible.
    pub(super) fn is_open(&self) -> bool {
        self.remaining.load(Ordering::Acquire) == 0
    }

    /// Blocks until the latch is open.
    pub(super) fn wait(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = true;
        while !self.is_open() {
            waiting = self.opened.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        *waiting = false;
    }
}
