use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rl_env::EnvError;

/// Counts the results that arrive, and wakes the caller that waits for them.
///
/// The counters alone say what has arrived. The lock only keeps an arrival from falling between a waiter's look at the
/// counters and its going to sleep: the waiter looks while it holds the lock, and whoever completes something takes the
/// lock before it decides whether anybody has to be woken.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// For each batch of the ring the rows that are still to come.
    missing: Box<[AtomicUsize]>,
    batch_size: usize,
    /// Environments that have been sent to and have not arrived yet.
    under_way: AtomicUsize,
    failed: AtomicBool,
    failure: Mutex<Option<EnvError>>,
    /// Number of threads that wait, so that nobody pays for a wake-up that nobody needs.
    waiting: Mutex<usize>,
    bell: Condvar,
}

impl Arrivals {
    /// Nothing has arrived, nothing is under way.
    pub(crate) fn new(batches: usize, batch_size: usize) -> Self {
        Self {
            missing: (0..batches).map(|_| AtomicUsize::new(batch_size)).collect(),
            batch_size,
            under_way: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            waiting: Mutex::new(0),
            bell: Condvar::new(),
        }
    }

    /// Notes that so many environments are about to be sent to.
    pub(crate) fn expect(&self, count: usize) {
        // The jobs that follow are published with Release, which carries this along.
        self.under_way.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that a row of a batch is complete.
    pub(crate) fn arrive(&self, batch: usize) {
        // Release publishes what the environment wrote; Acquire lets the last one speak for all before it.
        let completes_batch = self.missing[batch].fetch_sub(1, Ordering::AcqRel) == 1;
        let is_last = self.under_way.fetch_sub(1, Ordering::AcqRel) == 1;
        if completes_batch || is_last {
            self.ring();
        }
    }

    /// Notes that an environment failed instead of arriving. Of several failures a panic counts most.
    pub(crate) fn fail(&self, error: EnvError) {
        let mut failure = lock(&self.failure);
        if failure.is_none() || matches!(error, EnvError::Panicked { .. }) {
            *failure = Some(error);
        }
        drop(failure);
        self.failed.store(true, Ordering::Release);
        self.under_way.fetch_sub(1, Ordering::AcqRel);
        self.ring();
    }

    /// Whether a batch is complete, or never will be because something failed.
    pub(crate) fn is_settled(&self, batch: usize) -> bool {
        self.missing[batch].load(Ordering::Acquire) == 0 || self.failed.load(Ordering::Acquire)
    }

    /// Whether nothing is under way. If so, everything that the environments wrote is visible.
    pub(crate) fn is_quiet(&self) -> bool {
        self.under_way.load(Ordering::Acquire) == 0
    }

    /// What failed, if anything did.
    pub(crate) fn failure(&self) -> Option<EnvError> {
        lock(&self.failure).clone()
    }

    /// Blocks until a batch is settled or everything is quiet, whichever `over` asks for.
    pub(crate) fn wait_until(&self, over: impl Fn() -> bool) {
        let mut waiting = lock(&self.waiting);
        *waiting += 1;
        while !over() {
            waiting = self.bell.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        *waiting -= 1;
    }

    /// Makes a batch that has been received ready to be filled again.
    pub(crate) fn empty(&self, batch: usize) {
        self.missing[batch].store(self.batch_size, Ordering::Relaxed);
    }

    /// Forgets everything that has arrived or failed. Everything must be quiet.
    pub(crate) fn clear(&self) {
        (0..self.missing.len()).for_each(|batch| self.empty(batch));
        *lock(&self.failure) = None;
        self.failed.store(false, Ordering::Relaxed);
    }

    fn ring(&self) {
        let waiting = *lock(&self.waiting);
        if waiting > 0 {
            self.bell.notify_all();
        }
    }
}

/// Nothing under these locks can panic half-way, so a poisoned one holds a sound value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
