//! Models of the pool's sleeping and queueing. loom runs them in every interleaving and with every reordering that the
//! memory model allows.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p vector --no-default-features --release --test loom --target-dir target/loom
//! ```

#![cfg(loom)]

#[path = "../src/pool/queue.rs"]
mod queue;
#[path = "../src/pool/sleep.rs"]
mod sleep;

/// The primitives that `src/pool/sync.rs` takes from `std`.
mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
    pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
}

use loom::sync::Arc;
use loom::thread;

use queue::Queue;
use sleep::Sleep;
use sync::{AtomicUsize, Ordering};

/// Jobs that are published like a mailbox, and the parking place of the threads that run them.
#[derive(Default)]
struct Pool {
    jobs: AtomicUsize,
    sleep: Sleep,
}

impl Pool {
    fn publish(&self, jobs: usize) {
        self.jobs.fetch_add(jobs, Ordering::Release);
        self.sleep.wake_all();
    }

    fn find(&self) -> bool {
        let take = |jobs: usize| jobs.checked_sub(1);
        self.jobs.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).is_ok()
    }

    /// Runs one job, as `Worker::run_until_stopped` does. loom reports a thread that is never woken as a deadlock.
    fn run_job(&self) {
        while !self.find() {
            let ticket = self.sleep.register();
            if self.find() {
                self.sleep.cancel(&ticket);
                return;
            }
            self.sleep.park(&ticket);
        }
    }
}

/// Runs a model with at most three preemptions, which keeps models of three threads small.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

fn spawn(pool: &Arc<Pool>, run: impl FnOnce(&Pool) + 'static) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || run(&pool))
}

#[test]
fn no_wake_up_is_lost() {
    model(|| {
        let pool = Arc::new(Pool::default());
        let worker = spawn(&pool, Pool::run_job);
        pool.publish(1);
        worker.join().unwrap();
    });
}

#[test]
fn a_cancelled_registration_does_not_cost_another_thread_its_wake_up() {
    model(|| {
        let pool = Arc::new(Pool::default());
        let workers = [spawn(&pool, Pool::run_job), spawn(&pool, Pool::run_job)];
        pool.publish(2);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn every_round_wakes_the_threads() {
    model(|| {
        let pool = Arc::new(Pool::default());
        let worker = spawn(&pool, |pool| {
            pool.run_job();
            pool.run_job();
        });
        pool.publish(1);
        pool.publish(1);
        worker.join().unwrap();
    });
}

/// A queue and a value for each index, written before the index is pushed.
struct Sent {
    queue: Queue,
    values: [AtomicUsize; 2],
    pops: [AtomicUsize; 2],
}

impl Sent {
    fn new() -> Self {
        let zeros = || [AtomicUsize::new(0), AtomicUsize::new(0)];
        Self { queue: Queue::new(2), values: zeros(), pops: zeros() }
    }

    fn push(&self, index: usize) {
        self.values[index].store(1, Ordering::Relaxed);
        self.queue.push(index);
    }

    fn pop(&self) -> Option<usize> {
        let index = self.queue.pop()?;
        assert_eq!(self.values[index].load(Ordering::Relaxed), 1, "the sender's writes are visible");
        self.pops[index].fetch_add(1, Ordering::Relaxed);
        Some(index)
    }
}

#[test]
fn every_index_is_popped_once_with_what_its_sender_wrote() {
    model(|| {
        let sent = Arc::new(Sent::new());
        let popper = {
            let sent = Arc::clone(&sent);
            move || {
                sent.pop();
            }
        };
        let poppers = [thread::spawn(popper.clone()), thread::spawn(popper)];
        sent.push(0);
        sent.push(1);
        poppers.into_iter().for_each(|popper| popper.join().unwrap());
        while sent.pop().is_some() {}
        let pops = sent.pops.each_ref().map(|pops| pops.load(Ordering::Relaxed));
        assert_eq!(pops, [1, 1]);
    });
}

#[test]
fn a_reused_entry_is_not_popped_twice() {
    model(|| {
        let sent = Arc::new(Sent::new());
        sent.push(0);
        sent.push(1);
        let popper = {
            let sent = Arc::clone(&sent);
            thread::spawn(move || {
                sent.pop();
            })
        };
        let again = sent.pop().expect("two indices, of which the other thread pops one");
        sent.push(again);
        popper.join().unwrap();
        while sent.pop().is_some() {}
        let mut expected = [1, 1];
        expected[again] = 2;
        let pops = sent.pops.each_ref().map(|pops| pops.load(Ordering::Relaxed));
        assert_eq!(pops, expected);
    });
}
