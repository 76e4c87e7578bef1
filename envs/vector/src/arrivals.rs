use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rl_env::VectorError;

/// Counts the results that arrive, and wakes the caller that waits for them.
///
/// The counters alone say what has arrived. The lock only keeps an arrival from falling between a waiter's look at the
/// counters and its going to sleep: the waiter looks while it holds the lock, and whoever completes something takes the
/// lock before it decides whether anybody has to be woken.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// For each batch of the ring the rows that are still to come.
    outstanding: Box<[AtomicUsize]>,
    batch_size: usize,
    /// Environments that have been sent to and have not arrived yet.
    in_flight: AtomicUsize,
    failed: AtomicBool,
    failure: Mutex<Option<VectorError>>,
    /// Number of threads that wait, so that nobody pays for a wake-up that nobody needs.
    waiting: Mutex<usize>,
    condvar: Condvar,
}

impl Arrivals {
    /// Nothing has arrived, nothing is under way.
    pub(crate) fn new(batches: usize, batch_size: usize) -> Self {
        Self {
            outstanding: (0..batches).map(|_| AtomicUsize::new(batch_size)).collect(),
            batch_size,
            in_flight: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            waiting: Mutex::new(0),
            condvar: Condvar::new(),
        }
    }

    /// Notes that so many environments are about to be sent to.
    pub(crate) fn expect(&self, count: usize) {
        // The jobs that follow are published with Release, which carries this along.
        self.in_flight.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that a row of a batch is complete.
    pub(crate) fn arrive(&self, batch: usize) {
        // Release publishes what the environment wrote; Acquire lets the last one speak for all before it.
        let completes_batch = self.outstanding[batch].fetch_sub(1, Ordering::AcqRel) == 1;
        let is_last = self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1;
        if completes_batch || is_last {
            self.notify();
        }
    }

    /// Notes that an environment failed instead of arriving. Of several failures a panic counts most.
    pub(crate) fn fail(&self, error: VectorError) {
        let mut failure = lock(&self.failure);
        if failure.is_none() || matches!(error, VectorError::Panicked { .. }) {
            *failure = Some(error);
        }
        drop(failure);
        self.failed.store(true, Ordering::Release);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.notify();
    }

    /// Whether a batch is complete, or never will be because something failed.
    pub(crate) fn is_ready(&self, batch: usize) -> bool {
        self.outstanding[batch].load(Ordering::Acquire) == 0 || self.failed.load(Ordering::Acquire)
    }

    /// Whether nothing is under way. If so, everything that the environments wrote is visible.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0
    }

    /// What failed, if anything did.
    pub(crate) fn failure(&self) -> Option<VectorError> {
        lock(&self.failure).clone()
    }

    /// Blocks until a batch is settled or everything is quiet, whichever `over` asks for.
    pub(crate) fn wait_until(&self, is_over: impl Fn() -> bool) {
        let mut waiting = lock(&self.waiting);
        *waiting += 1;
        while !is_over() {
            waiting = self.condvar.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        *waiting -= 1;
    }

    /// Makes a batch that has been received ready to be filled again.
    pub(crate) fn recycle(&self, batch: usize) {
        self.outstanding[batch].store(self.batch_size, Ordering::Relaxed);
    }

    /// Forgets everything that has arrived or failed. Everything must be quiet.
    pub(crate) fn clear(&self) {
        (0..self.outstanding.len()).for_each(|batch| self.recycle(batch));
        *lock(&self.failure) = None;
        self.failed.store(false, Ordering::Relaxed);
    }

    fn notify(&self) {
        let waiting = *lock(&self.waiting);
        if waiting > 0 {
            self.condvar.notify_all();
        }
    }
}

/// Nothing under these locks can panic half-way, so a poisoned one holds a sound value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
