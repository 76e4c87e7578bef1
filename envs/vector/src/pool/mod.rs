//! A work-stealing pool that runs one task for many indices.
//!
//! There are two ways to start work; neither blocks. [`Pool::start_round`] runs the task for each of the indices
//! `0..count`, divided among the participants; [`Pool::enqueue`] appends single indices to a FIFO queue. The pool is
//! independent of environments. It does not track completion; the task does.
//!
//! * [`job`]: ranges of indices, and the mailbox with each participant's share of a round.
//! * [`queue`]: single indices in FIFO order.
//! * [`worker`]: a participant splits its range into its deque and steals from the others when it runs out of work.
//! * [`sleep`]: parking of idle threads, and the proof that no wake-up is lost.
//!
//! If the caller [participates](Caller::Participates) it is participant 0, so that a pool of `n` threads starts only
//! `n - 1`. With one thread a round is a plain loop. With more, participation saves a context switch, because the
//! caller would wait anyway.

mod job;
mod queue;
mod sleep;
mod sync;
mod worker;

use std::io;
use std::mem;
use std::num::NonZeroUsize;
use std::process;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use job::Job;
use worker::{Shared, Worker};

/// The work of a pool.
pub(crate) trait Task: Send + Sync + 'static {
    /// Sets up what the task needs on a thread that the pool has started, before the thread's first index. It is not
    /// called for the calling thread of the pool, even if that one participates.
    fn on_thread_start(&self) {}

    /// Runs the work of `index`, on any thread, once for each time that the index was sent.
    fn run(&self, index: usize);

    /// Records that `run(index)` panicked with `message`.
    fn panicked(&self, index: usize, message: String);
}

/// The role of the calling thread in [`Pool::run_until`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// It runs jobs. This is best if it needs all of them to be done.
    Participates,
    /// It only waits, so it can continue as soon as it has the results that it needs.
    Waits,
}

/// The threads of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// The number of threads, including the calling one if it participates.
    pub(crate) count: NonZeroUsize,
    /// The role of the calling thread.
    pub(crate) caller: Caller,
    /// Pins thread `i` of the pool to core `(offset + i) % cores`, except the calling one.
    pub(crate) affinity_offset: Option<usize>,
}

/// Threads that run one task.
pub(crate) struct Pool<T: Task> {
    shared: Arc<Shared<T>>,
    /// The participant of the calling thread, if any.
    caller: Option<Worker>,
    threads: Vec<JoinHandle<()>>,
    /// The process that started the threads.
    process: u32,
}

impl<T: Task> Pool<T> {
    /// Starts a pool for the indices below `count`.
    pub(crate) fn new(threads: Threads, count: usize, task: T) -> io::Result<Self> {
        let mut workers = (0..threads.count.get()).map(Worker::new).collect::<Vec<_>>();
        let shared = Arc::new(Shared::new(task, &workers, count));
        let caller = (threads.caller == Caller::Participates).then(|| workers.remove(0));
        let cores = threads.affinity_offset.and_then(|_| core_affinity::get_core_ids()).unwrap_or_default();
        let mut pool =
            Self { shared, caller, threads: Vec::with_capacity(workers.len()), process: process::id() };
        let (starting, started) = mpsc::channel::<()>();
        for worker in workers {
            let (shared, starting) = (Arc::clone(&pool.shared), starting.clone());
            let core = threads.affinity_offset.and_then(|offset| {
                let index = offset.checked_add(worker.index())?.checked_rem(cores.len())?;
                cores.get(index).copied()
            });
            // On an error the pool is dropped, which ends the threads already started.
            let thread =
                thread::Builder::new().name(format!("env-worker-{}", worker.index())).spawn(move || {
                    // Pinning is best effort; it affects only speed.
                    core.map(core_affinity::set_for_current);
                    shared.register_with_deques();
                    shared.task.on_thread_start();
                    drop(starting);
                    worker.run_until_stopped(&shared);
                })?;
            pool.threads.push(thread);
        }
        pool.shared.register_with_deques();
        // Nothing is sent: the channel closes when the last thread is ready and drops its end.
        drop(starting);
        let _ = started.recv();
        Ok(pool)
    }

    /// Returns the task.
    pub(crate) fn task(&self) -> &T {
        &self.shared.task
    }

    /// Returns the number of threads that run jobs, including the calling one if it participates.
    pub(crate) fn num_threads(&self) -> usize {
        self.shared.mailboxes.len()
    }

    /// Starts a round over the indices `0..count`, none of which may be in flight.
    ///
    /// Participant `k` gets the `k`-th share of the indices. Unless it is stolen, an index therefore stays on one
    /// thread, and its state in the cache of one core.
    pub(crate) fn start_round(&mut self, count: usize) {
        let parts = self.num_threads();
        for (part, mailbox) in self.shared.mailboxes.iter().enumerate() {
            mailbox.put(Job::new(part * count / parts, (part + 1) * count / parts));
        }
        self.shared.sleep.wake_all();
    }

    /// Appends indices, none of which may be in flight, to the queue.
    pub(crate) fn enqueue(&mut self, indices: impl Iterator<Item = usize>) {
        indices.for_each(|index| self.shared.queue.push(index));
        self.shared.sleep.wake_all();
    }

    /// Runs jobs until `is_over`, if the caller participates. When there is nothing left to do, calls `wait`, which
    /// blocks until `is_over`.
    pub(crate) fn run_until(&self, is_over: impl Fn() -> bool, wait: impl FnOnce()) {
        match &self.caller {
            Some(worker) => worker.run_until(&self.shared, is_over, wait),
            None if is_over() => {}
            None => wait(),
        }
    }
}

impl<T: Task> Drop for Pool<T> {
    /// Ends the threads. Each finishes its current index; the others are abandoned.
    fn drop(&mut self) {
        // A forked process has a copy of the pool, but no threads that could end.
        if process::id() != self.process {
            self.threads.drain(..).for_each(mem::forget);
            return;
        }
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // Workers catch panics of the task. A thread that panicked anyway has also ended.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
