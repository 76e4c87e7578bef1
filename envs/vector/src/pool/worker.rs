use std::any::Any;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_deque::{Steal, Stealer, Worker as Deque};

use super::Task;
use super::job::{Job, Mailbox};
use super::queue::Queue;
use super::sleep::Sleep;

/// Searches in vain before a thread begins to yield its core between them: a few microseconds.
const SPIN_SEARCHES: u32 = 100;
/// How long a thread goes on searching before it parks: some steps of an environment, which is how much sooner than another a
/// participant may be done with a round, and how soon a caller may come back. Parking and waking costs more than that, in a
/// virtual machine most of all: 32 environments on 2 threads were 4 % faster with 100 microseconds and 6 % with 400. A caller
/// that takes its time pays little, for other threads get the core when they want it.
const PARK_AFTER: Duration = Duration::from_micros(200);

/// A search for work that has been in vain so far.
#[derive(Default)]
struct Search {
    times: u32,
    yielding_since: Option<Instant>,
}

impl Search {
    /// Pauses before the next search; false when it is time to give up.
    fn pause(&mut self) -> bool {
        if self.times < SPIN_SEARCHES {
            self.times += 1;
            hint::spin_loop();
            return true;
        }
        thread::yield_now();
        self.yielding_since.get_or_insert_with(Instant::now).elapsed() < PARK_AFTER
    }
}

/// What all participants of a pool share.
pub(super) struct Shared<T> {
    pub(super) task: T,
    /// One for each participant, as are the stealers.
    pub(super) mailboxes: Box<[Mailbox]>,
    stealers: Box<[Stealer<Job>]>,
    pub(super) queue: Queue,
    pub(super) sleep: Sleep,
    stopped: AtomicBool,
}

impl<T> Shared<T> {
    /// The shared part of a pool with these participants, for the indices below `count`.
    pub(super) fn new(task: T, workers: &[Worker], count: usize) -> Self {
        Self {
            task,
            mailboxes: workers.iter().map(|_| Mailbox::default()).collect(),
            stealers: workers.iter().map(|worker| worker.deque.stealer()).collect(),
            queue: Queue::new(count),
            sleep: Sleep::default(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Searches the empty deques once: a thread's first look at another's deque registers it with the deques' memory
    /// reclamation, which allocates.
    pub(super) fn prepare_thread(&self) {
        let found = self.stealers.iter().find_map(steal);
        debug_assert_eq!(found, None, "nothing has been started yet");
    }

    /// Tells every thread to end after the index that it is at.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.sleep.wake_all();
    }
}

/// One participant: a thread of the pool, or the calling thread.
pub(super) struct Worker {
    index: usize,
    /// The owner takes the newest and smallest range, thieves take the oldest and largest.
    deque: Deque<Job>,
}

impl Worker {
    /// The participant with this index.
    pub(super) fn new(index: usize) -> Self {
        Self { index, deque: Deque::new_lifo() }
    }

    /// The participant's index.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// What a thread of the pool does for all its life.
    pub(super) fn run_until_stopped<T: Task>(&self, shared: &Shared<T>) {
        let stopped = || shared.stopped.load(Ordering::Acquire);
        let mut search = Search::default();
        while !stopped() {
            if let Some(job) = self.find(shared) {
                self.run(job, shared);
                search = Search::default();
            } else if !search.pause() {
                let ticket = shared.sleep.register();
                if let Some(job) = self.find(shared) {
                    shared.sleep.cancel(&ticket);
                    self.run(job, shared);
                } else if !stopped() {
                    shared.sleep.park(&ticket);
                }
                search = Search::default();
            }
        }
    }

    /// What the calling thread does until `over`: it works along, and when it finds nothing more to do it waits.
    pub(super) fn run_until<T: Task>(
        &self,
        shared: &Shared<T>,
        is_over: impl Fn() -> bool,
        wait: impl FnOnce(),
    ) {
        let mut search = Search::default();
        while !is_over() {
            if let Some(job) = self.find(shared) {
                self.run(job, shared);
                search = Search::default();
            } else if !search.pause() {
                return wait();
            }
        }
    }

    /// Looks for work: first in the participant's own deque and mailbox, then in the queue, then in the deques of the
    /// others, at last in their mailboxes. What lies there belongs to a thread that is still waking up and would rather
    /// do it itself.
    fn find<T>(&self, shared: &Shared<T>) -> Option<Job> {
        let count = shared.stealers.len();
        let others = || (self.index + 1..self.index + count).map(|index| index % count);
        self.deque
            .pop()
            .or_else(|| shared.mailboxes[self.index].take())
            .or_else(|| shared.queue.pop().map(|index| Job::new(index, index + 1)))
            .or_else(|| others().find_map(|index| steal(&shared.stealers[index])))
            .or_else(|| others().find_map(|index| shared.mailboxes[index].take()))
    }

    /// Runs the first index of a range and leaves the rest, in halves, for itself and for thieves.
    fn run<T: Task>(&self, mut job: Job, shared: &Shared<T>) {
        while let Some((near, far)) = job.split() {
            self.deque.push(far);
            job = near;
        }
        let index = job.first();
        // Whatever the task does must be reported, or the caller would wait for ever.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| shared.task.run(index))) {
            shared.task.panicked(index, message(payload.as_ref()));
        }
    }
}

/// Steals the oldest job of a deque.
fn steal(victim: &Stealer<Job>) -> Option<Job> {
    loop {
        match victim.steal() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

/// The message of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
