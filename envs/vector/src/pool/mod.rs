//! A work-stealing pool for independent jobs, each of which is an index.
//!
//! Jobs come in two ways. [`Pool::start_round`] runs the task once for each of the indices `0..count` and divides them
//! among the participants; [`Pool::enqueue`] adds single indices, which are run in the order in which they came. Both
//! return at once. The pool knows nothing of environments, and not when its work is done: the task says so.
//!
//! * [`job`]: a job is a range of indices; every participant finds its share of a round in its mailbox.
//! * [`queue`]: single indices, first come, first served.
//! * [`worker`]: a participant splits its range into its own deque and steals from the others when it has run dry.
//! * [`sleep`]: where idle threads park, and why no wake-up is lost.
//!
//! Where the caller [works along](Caller::Participates) it is participant 0, so that a pool of `n` threads starts only
//! `n - 1`, and a pool of one none at all: with one thread a round is a plain loop, and with more the caller, which waits
//! anyway, saves a context switch.

mod job;
mod queue;
mod sleep;
mod sync;
mod worker;

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use job::Job;
use worker::{Shared, Worker};

/// What a pool runs.
pub(crate) trait Task: Send + Sync + 'static {
    /// Does the work of `index`. Called once for each time that the index was sent, on any thread.
    fn run(&self, index: usize);

    /// Records that `run(index)` panicked with `message`.
    fn panicked(&self, index: usize, message: String);
}

/// What the calling thread does in [`Pool::run_until`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// It runs jobs itself: best where it needs all of them done.
    Participates,
    /// It waits, and can go on as soon as it has what it needs, whatever else is still running.
    Waits,
}

/// Who runs the jobs of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// Number of threads, the calling one among them if it works along.
    pub(crate) count: NonZeroUsize,
    /// What the calling thread does.
    pub(crate) caller: Caller,
    /// Thread `i` of the pool is bound to core `(offset + i) % cores`, but for the calling one.
    pub(crate) affinity_offset: Option<usize>,
}

/// Threads that share the jobs of one task.
pub(crate) struct Pool<T: Task> {
    shared: Arc<Shared<T>>,
    /// The calling thread's part in the pool, if it has one.
    caller: Option<Worker>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Task> Pool<T> {
    /// A pool for the indices below `count`.
    pub(crate) fn new(threads: Threads, count: usize, task: T) -> io::Result<Self> {
        let mut workers = (0..threads.count.get()).map(Worker::new).collect::<Vec<_>>();
        let shared = Arc::new(Shared::new(task, &workers, count));
        let caller = (threads.caller == Caller::Participates).then(|| workers.remove(0));
        let cores = threads.affinity_offset.and_then(|_| core_affinity::get_core_ids()).unwrap_or_default();
        let mut pool = Self { shared, caller, threads: Vec::with_capacity(workers.len()) };
        let (starting, started) = mpsc::channel::<()>();
        for worker in workers {
            let (shared, starting) = (Arc::clone(&pool.shared), starting.clone());
            let core = threads.affinity_offset.and_then(|offset| {
                let index = offset.checked_add(worker.index())?.checked_rem(cores.len())?;
                cores.get(index).copied()
            });
            // On an error the pool is dropped, which ends the threads that have already been started.
            let thread =
                thread::Builder::new().name(format!("env-worker-{}", worker.index())).spawn(move || {
                    // Where the system refuses, the thread runs wherever it is put: slower perhaps, but the same.
                    core.map(core_affinity::set_for_current);
                    shared.prepare_thread();
                    drop(starting);
                    worker.run_until_stopped(&shared);
                })?;
            pool.threads.push(thread);
        }
        pool.shared.prepare_thread();
        // Nothing is ever sent: the channel closes when the last thread has dropped its end, and is ready.
        drop(starting);
        let _ = started.recv();
        Ok(pool)
    }

    /// The task.
    pub(crate) fn task(&self) -> &T {
        &self.shared.task
    }

    /// Number of threads that run jobs, the calling one included if it works along.
    pub(crate) fn num_threads(&self) -> usize {
        self.shared.mailboxes.len()
    }

    /// Starts a round over the indices `0..count`, of which none may be under way.
    ///
    /// Participant `k` finds the `k`-th part of the indices in its mailbox, so that an index stays on one thread, its
    /// state in that core's cache, as long as nobody has to steal.
    pub(crate) fn start_round(&mut self, count: usize) {
        let parts = self.num_threads();
        for (part, mailbox) in self.shared.mailboxes.iter().enumerate() {
            mailbox.put(Job::new(part * count / parts, (part + 1) * count / parts));
        }
        self.shared.sleep.wake_all();
    }

    /// Adds indices, of which none may be under way, to the queue.
    pub(crate) fn enqueue(&mut self, indices: impl Iterator<Item = usize>) {
        indices.for_each(|index| self.shared.queue.push(index));
        self.shared.sleep.wake_all();
    }

    /// Works along until `over`, if that is the caller's part; when there is nothing (more) to do, calls `wait`, which
    /// has to return when it is over.
    pub(crate) fn run_until(&self, is_over: impl Fn() -> bool, wait: impl FnOnce()) {
        match &self.caller {
            Some(worker) => worker.run_until(&self.shared, is_over, wait),
            None if is_over() => {}
            None => wait(),
        }
    }
}

impl<T: Task> Drop for Pool<T> {
    /// Ends the threads. Each finishes the index it is at; what has not begun is abandoned.
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
