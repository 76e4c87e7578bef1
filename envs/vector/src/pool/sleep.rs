//! Where idle threads park.
//!
//! A thread that found no work must not miss work that appears while it is about to park. It therefore says that it
//! will sleep *before* it searches for the last time:
//!
//! | sleeper                                | sender                            |
//! |----------------------------------------|-----------------------------------|
//! | 1. `register`: count itself a sleeper  | 1. publish the work               |
//! | 2. fence                               | 2. fence                          |
//! | 3. search once more                    | 3. any sleepers? if not, done     |
//! | 4. found: `cancel`; nothing: `park`    | 4. new generation, wake everybody |
//!
//! The two sequentially consistent fences are ordered one way or the other. If the sleeper's comes first, the sender
//! sees it counted and begins a new generation; `park` returns at once when its ticket is of an older one. If the
//! sender's comes first, the sleeper's last search sees the work. Either way nobody sleeps over work.
//!
//! Only the start of a round (and the end of the pool) is announced like this. A worker that splits its range does
//! not wake sleepers for the far half: at that moment every thread has been woken for this very round, and it parks
//! again only after many searches in vain. It could miss a half only if its owner were stopped for that long between
//! taking a range and pushing the half, two adjacent instructions; that would cost parallelism for the rest of one
//! round, and never a job, for the owner runs what is not stolen from it.

use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, fence};

/// The parking place of a pool's idle threads.
#[derive(Debug, Default)]
pub(super) struct Sleep {
    /// Threads that have registered and that no later generation has woken.
    sleepers: AtomicUsize,
    /// Counts the wake-ups.
    generation: Mutex<u64>,
    woken: Condvar,
}

/// The generation in which a thread registered as a sleeper.
pub(super) struct Ticket(u64);

impl Sleep {
    /// Counts the calling thread as a sleeper. It must search once more, then `cancel` or `park`.
    pub(super) fn register(&self) -> Ticket {
        let generation = self.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket(*generation);
        drop(generation);
        fence(Ordering::SeqCst);
        ticket
    }

    /// Takes the registration back: there was work after all.
    pub(super) fn cancel(&self, ticket: &Ticket) {
        let generation = self.lock();
        // A wake-up since then has already taken it back.
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

    /// Wakes every sleeper. To be called after the work has been published.
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

    /// Nothing under the lock can panic half-way, so a poisoned lock holds a sound value.
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
