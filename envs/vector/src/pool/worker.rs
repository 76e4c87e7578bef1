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

/// The number of failed searches before a thread yields its core between them: a few microseconds.
const SPIN_SEARCHES: u32 = 100;
/// The time for which a thread searches before it parks. It covers a few steps of an environment: participants finish a
/// round that far apart, and a caller returns that soon. Parking and waking costs more than that, especially in a
/// virtual machine: 32 environments on 2 threads were 4 % faster with 100 microseconds and 6 % with 400. Searching
/// costs a slow caller little, because it yields the core to other threads.
const PARK_AFTER: Duration = Duration::from_micros(200);

/// A search for work that has failed so far.
#[derive(Default)]
struct Search {
    times: u32,
    yielding_since: Option<Instant>,
}

impl Search {
    /// Pauses before the next search. Returns false when it is time to give up.
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

/// The state that the participants of a pool share.
pub(super) struct Shared<T> {
    pub(super) task: T,
    /// One for each participant, like the stealers.
    pub(super) mailboxes: Box<[Mailbox]>,
    stealers: Box<[Stealer<Job>]>,
    pub(super) queue: Queue,
    pub(super) sleep: Sleep,
    stopped: AtomicBool,
}

impl<T> Shared<T> {
    /// Creates the shared state of these participants, for the indices below `count`.
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

    /// Registers the calling thread with the memory reclamation of the deques, so that it does not allocate in a round.
    /// A thread is registered by its first attempt to steal, so it searches the deques once while they are empty.
    pub(super) fn register_with_deques(&self) {
        let stolen = self.stealers.iter().find_map(steal);
        debug_assert_eq!(stolen, None, "nothing has been started yet");
    }

    /// Tells every thread to end after its current index.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.sleep.wake_all();
    }
}

/// One participant: a thread of the pool, or the calling thread.
pub(super) struct Worker {
    index: usize,
    /// The owner pops the newest and smallest range, thieves steal the oldest and largest.
    deque: Deque<Job>,
}

impl Worker {
    /// Creates the participant with this index.
    pub(super) fn new(index: usize) -> Self {
        Self { index, deque: Deque::new_lifo() }
    }

    /// Returns the index of the participant.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Runs jobs until the pool stops.
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

    /// Runs jobs until `is_over`; calls `wait` and returns when there are none left.
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

    /// Searches for work: in the participant's deque and mailbox, the queue, the deques of the others, and finally the
    /// mailboxes of the others. Those come last because their owners are still waking up and should preferably run the
    /// jobs themselves.
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

    /// Runs the first index of a range and pushes the rest, in halves, to the deque.
    fn run<T: Task>(&self, mut job: Job, shared: &Shared<T>) {
        while let Some((near, far)) = job.split() {
            self.deque.push(far);
            job = near;
        }
        let index = job.first();
        // A panic must be reported, or the caller would wait forever.
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

/// Returns the message of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
