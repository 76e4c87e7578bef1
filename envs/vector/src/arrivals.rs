use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rl_env::{VectorError, interrupt};

/// Counts the results that arrive, and wakes the caller that waits for them.
///
/// The counters alone record the arrivals. The lock prevents lost wake-ups: a waiter checks the counters while it holds
/// the lock, and a thread that completes a batch takes the lock before it checks for waiters.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// The number of outstanding rows of each batch of the ring.
    outstanding: Box<[AtomicUsize]>,
    batch_size: usize,
    /// The number of environments in flight: they have been sent to, and their results have not arrived.
    in_flight: AtomicUsize,
    failed: AtomicBool,
    failure: Mutex<Option<VectorError>>,
    /// True if the environments in flight should end early. The threads of the pool [watch](interrupt::watch) it.
    interrupted: Arc<AtomicBool>,
    /// The number of waiting threads, to avoid needless notifications.
    waiting: Mutex<usize>,
    condvar: Condvar,
}

impl Arrivals {
    /// Creates counters for a ring of `batches` batches with nothing in flight.
    pub(crate) fn new(batches: usize, batch_size: usize) -> Self {
        Self {
            outstanding: (0..batches).map(|_| AtomicUsize::new(batch_size)).collect(),
            batch_size,
            in_flight: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            interrupted: Arc::default(),
            waiting: Mutex::new(0),
            condvar: Condvar::new(),
        }
    }

    /// Records that `count` environments are about to be sent to.
    pub(crate) fn expect(&self, count: usize) {
        // The jobs are published with Release afterwards, which also publishes this store.
        self.in_flight.fetch_add(count, Ordering::Relaxed);
    }

    /// Records that a row of a batch is complete.
    pub(crate) fn arrive(&self, batch: usize) {
        // Release publishes the observation; Acquire makes all earlier rows visible to the last thread.
        let completes_batch = self.outstanding[batch].fetch_sub(1, Ordering::AcqRel) == 1;
        let is_last = self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1;
        if completes_batch || is_last {
            self.notify();
        }
    }

    /// Records that an environment failed instead of arriving. A panic takes precedence over other failures.
    pub(crate) fn fail(&self, error: VectorError) {
        self.set_failure(error);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.notify();
    }

    fn set_failure(&self, error: VectorError) {
        let mut failure = lock(&self.failure);
        if failure.is_none() || matches!(error, VectorError::Panicked { .. }) {
            *failure = Some(error);
        }
        drop(failure);
        self.failed.store(true, Ordering::Release);
    }

    /// Tells the environments in flight to end early, because nobody waits for their results. Takes no lock, which
    /// another thread could have held when the process was forked.
    pub(crate) fn stop(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// Tells the environments in flight to end early, and records a failure.
    pub(crate) fn interrupt(&self) {
        self.stop();
        self.set_failure(VectorError::Interrupted);
    }

    /// Returns true if the environments in flight should end early.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Makes the computations of this thread of the pool end early when the environments are interrupted.
    pub(crate) fn watch_interruptions(&self) {
        interrupt::watch(&self.interrupted);
    }

    /// Returns true if a batch is complete or an environment has failed.
    pub(crate) fn is_ready(&self, batch: usize) -> bool {
        self.outstanding[batch].load(Ordering::Acquire) == 0 || self.failed.load(Ordering::Acquire)
    }

    /// Returns true if nothing is in flight. Everything that the environments wrote is then visible.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0
    }

    /// Returns the failure, if any.
    pub(crate) fn failure(&self) -> Option<VectorError> {
        lock(&self.failure).clone()
    }

    /// Blocks until `is_over`, which checks the counters, returns true. If the calling thread is interrupted, so are
    /// the environments.
    pub(crate) fn wait_until(&self, is_over: impl Fn() -> bool) {
        let polls = interrupt::has_check();
        let mut waiting = lock(&self.waiting);
        *waiting += 1;
        while !is_over() {
            if !polls || self.is_interrupted() {
                waiting = self.condvar.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (guard, timeout) = self
                .condvar
                .wait_timeout(waiting, interrupt::CHECK_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner);
            waiting = guard;
            if timeout.timed_out() {
                // Polling may run any code, which must not wait for this lock.
                drop(waiting);
                if interrupt::poll() {
                    self.interrupt();
                }
                waiting = lock(&self.waiting);
            }
        }
        *waiting -= 1;
    }

    /// Makes a received batch ready to be filled again.
    pub(crate) fn recycle(&self, batch: usize) {
        self.outstanding[batch].store(self.batch_size, Ordering::Relaxed);
    }

    /// Forgets all arrivals and failures. Nothing may be in flight.
    pub(crate) fn clear(&self) {
        (0..self.outstanding.len()).for_each(|batch| self.recycle(batch));
        *lock(&self.failure) = None;
        self.failed.store(false, Ordering::Relaxed);
        self.interrupted.store(false, Ordering::Relaxed);
    }

    fn notify(&self) {
        let waiting = *lock(&self.waiting);
        if waiting > 0 {
            self.condvar.notify_all();
        }
    }
}

/// Locks a mutex. No code panics while it holds one of these locks, so a poisoned lock holds a valid value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
