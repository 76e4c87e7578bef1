//! Parking of idle threads.
//!
//! # Words
//!
//! * A thread *searches* when it looks for work: in its deque, the mailboxes, the queue and the other deques. After a
//!   search that finds none it pauses, first by spinning, then by yielding its core (`worker`).
//! * A thread that has searched for long enough *registers*. It is then a *sleeper*.
//! * The *generation* is the number of wake-ups so far. The *ticket* of a sleeper is the generation in which it
//!   registered.
//! * A sleeper *parks*: it blocks until the generation differs from its ticket.
//! * A *sender* publishes work and *wakes* all sleepers by starting a new generation.
//!
//! # The states of a thread
//!
//! ```text
//!                no work for 200 microseconds:            still no work:
//!                          `register`                         `park`
//!    searching -------------------------------> sleeper ------------------> parked
//!      ^  ^                                        |                          |
//!      |  +----------------------------------------+                          |
//!      |              work after all: `cancel`                                |
//!      +----------------------------------------------------------------------+
//!                             a new generation: `wake_all`
//! ```
//!
//! The calling thread does not sleep here. When it finds no work, it waits for results (`crate::arrivals`).
//!
//! # No wake-up is lost
//!
//! A thread must not miss work that appears just before it parks. It therefore registers *before* its last search:
//!
//! | sleeper                                | sender                            |
//! |----------------------------------------|-----------------------------------|
//! | 1. `register`: increment the sleepers  | 1. publish the work               |
//! | 2. fence                               | 2. fence                          |
//! | 3. search once more                    | 3. no sleepers: done              |
//! | 4. work: `cancel`; no work: `park`     | 4. new generation, wake all       |
//!
//! The two sequentially consistent fences have a total order. If the sleeper's fence comes first, the sender sees the
//! sleeper and starts a new generation, and `park` returns immediately because its ticket is of an older one. If the
//! sender's fence comes first, the last search of the sleeper finds the work. `tests/loom.rs` checks this with a model.
//!
//! `Pool::start_round`, `Pool::enqueue` and dropping the pool wake the sleepers. A worker that splits its range does
//! not: every thread has been woken for the same round and parks again only after many failed searches. A thread could
//! park and miss a half only if the owner were suspended for that long between taking a range and pushing the half.
//! This would cost parallelism for the rest of the round but never a job, because the owner runs every range that is
//! not stolen.

use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, fence};

/// The parked threads of a pool.
#[derive(Debug, Default)]
pub(super) struct Sleep {
    /// The number of threads that have registered and that no later generation has woken.
    sleepers: AtomicUsize,
    /// The number of wake-ups.
    generation: Mutex<u64>,
    woken: Condvar,
}

/// The generation in which a thread registered.
pub(super) struct Ticket(u64);

impl Sleep {
    /// Registers the calling thread as a sleeper. It must search once more, then `cancel` or `park`.
    pub(super) fn register(&self) -> Ticket {
        let generation = self.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket(*generation);
        drop(generation);
        fence(Ordering::SeqCst);
        ticket
    }

    /// Undoes a registration, because the thread found work.
    pub(super) fn cancel(&self, ticket: &Ticket) {
        let generation = self.lock();
        // A wake-up since then has already undone it.
        if *generation == ticket.0 {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sleeps until the next wake-up after the registration.
    pub(super) fn park(&self, ticket: &Ticket) {
        let mut generation = self.lock();
        while *generation == ticket.0 {
            generation = self.woken.wait(generation).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes every sleeper. Must be called after the work is published.
    pub(super) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut generation = self.lock();
        *generation = generation.wrapping_add(1);
        self.sleepers.store(0, Ordering::Relaxed);
        drop(generation);
        self.woken.notify_all();
    }

    /// Locks the generation. No code panics while it holds the lock, so a poisoned lock holds a valid value.
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
