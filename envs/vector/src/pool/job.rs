use std::sync::atomic::{AtomicU64, Ordering};

/// A range of the indices of a round.
///
/// Ranges keep the deques short: a range of `n` leaves at most `log2(n)` ranges in a deque, so that none grows, which
/// would allocate. One steal takes half of the remaining indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    start: u32,
    end: u32,
}

impl Job {
    /// Creates the range `start..end`.
    pub(super) fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the first index.
    pub(super) fn first(self) -> usize {
        self.start as usize
    }

    /// Splits a range of two or more indices into halves.
    pub(super) fn split(self) -> Option<(Self, Self)> {
        let middle = self.start + (self.end - self.start).div_ceil(2);
        (self.end - self.start > 1).then_some((Self { end: middle, ..self }, Self { start: middle, ..self }))
    }
}

/// A participant's share of a round: a job in one atomic word, empty if `start == end`.
///
/// The thread that swaps the job out owns it. Other threads can thus take the share of a thread that wakes up late.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Mailbox(AtomicU64);

impl Mailbox {
    const EMPTY: u64 = 0;

    /// Stores a job. The mailbox must be empty.
    pub(super) fn put(&self, job: Job) {
        let word =
            if job.start == job.end { Self::EMPTY } else { u64::from(job.start) << 32 | u64::from(job.end) };
        // Release: the thread that takes the job sees everything that the sender wrote before.
        self.0.store(word, Ordering::Release);
    }

    /// Takes the job out.
    pub(super) fn take(&self) -> Option<Job> {
        // Searching threads check often. Unlike a swap, a load leaves the cache line shared.
        if self.0.load(Ordering::Relaxed) == Self::EMPTY {
            return None;
        }
        let word = self.0.swap(Self::EMPTY, Ordering::Acquire);
        (word != Self::EMPTY).then_some(Job { start: (word >> 32) as u32, end: word as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_cover_the_range() {
        assert_eq!(Job::new(3, 8).split(), Some((Job::new(3, 6), Job::new(6, 8))));
        assert_eq!(Job::new(3, 5).split(), Some((Job::new(3, 4), Job::new(4, 5))));
        assert_eq!(Job::new(3, 4).split(), None);
    }

    #[test]
    fn a_job_is_taken_once() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.take(), None);
        mailbox.put(Job::new(0, 7));
        assert_eq!(mailbox.take(), Some(Job::new(0, 7)));
        assert_eq!(mailbox.take(), None);
        mailbox.put(Job::new(5, 5));
        assert_eq!(mailbox.take(), None);
    }
}
