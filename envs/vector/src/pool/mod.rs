//! A work-stealing pool for rounds of independent jobs.
//!
//! A round runs the task once for each of the indices `0..count`. [`Pool::start`] hands the round out and returns at
//! once; [`Pool::finish`] lets the calling thread work along until every index has been run. The pool knows nothing
//! of environments.
//!
//! * [`job`]: a job is a range of indices; every participant finds its share of a round in its mailbox.
//! * [`worker`]: a participant splits its range into its own deque and steals from the others when it has run dry.
//! * [`latch`]: counts a round's indices down and wakes the caller.
//! * [`sleep`]: where idle threads park, and why no wake-up is lost.
//!
//! The calling thread is participant 0, so a pool of `n` threads starts only `n - 1`, and a pool of one none at all:
//! with one thread a round is a plain loop, and with more the caller, which waits anyway, saves a context switch.

mod job;
mod latch;
mod sleep;
mod worker;

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use job::Job;
use worker::{Shared, Worker};

/// What a pool runs.
pub(crate) trait Task: Send + Sync + 'static {
    /// Does the work of `index`. Called once for each index of a round, on any thread.
    fn run(&self, index: usize);

    /// Records that `run(index)` panicked with `message`.
    fn panicked(&self, index: usize, message: String);
}

/// Threads that share the rounds of one task.
pub(crate) struct Pool<T: Task> {
    shared: Arc<Shared<T>>,
    /// The calling thread's part in the pool.
    caller: Worker,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Task> Pool<T> {
    /// A pool of `num_threads` threads, the calling one among them.
    pub(crate) fn new(num_threads: NonZeroUsize, task: T) -> io::Result<Self> {
        let mut workers = (0..num_threads.get()).map(Worker::new).collect::<Vec<_>>();
        let shared = Arc::new(Shared::new(task, &workers));
        let others = workers.split_off(1);
        let caller = workers.remove(0);
        let mut pool = Self { shared, caller, threads: Vec::with_capacity(others.len()) };
        for worker in others {
            let shared = Arc::clone(&pool.shared);
            // On an error the pool is dropped, which ends the threads that have already been started.
            let thread = thread::Builder::new()
                .name(format!("env-worker-{}", worker.index()))
                .spawn(move || worker.run_until_stopped(&shared))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// The task.
    pub(crate) fn task(&self) -> &T {
        &self.shared.task
    }

    /// Number of threads that work on a round, the calling one included.
    pub(crate) fn num_threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Starts a round over the indices `0..count`. The previous round must be finished.
    ///
    /// Participant `k` finds the `k`-th part of the indices in its mailbox, so that an index stays on one thread, its
    /// state in that core's cache, as long as nobody has to steal.
    pub(crate) fn start(&mut self, count: usize) {
        debug_assert!(self.shared.latch.is_open(), "the previous round is still running");
        self.shared.latch.arm(count);
        let parts = self.num_threads();
        for (part, mailbox) in self.shared.mailboxes.iter().enumerate() {
            mailbox.put(Job::new(part * count / parts, (part + 1) * count / parts));
        }
        self.shared.sleep.wake_all();
    }

    /// Works along until every index of the round has been run. All that `run` wrote is then visible here.
    pub(crate) fn finish(&mut self) {
        self.caller.run_until_open(&self.shared);
    }
}

impl<T: Task> Drop for Pool<T> {
    /// Ends the threads. Each finishes the index it is at; the rest of a round is abandoned.
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A worker's thread catches the task's panics; if it died all the same, it has at least ended.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
