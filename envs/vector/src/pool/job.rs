use std::sync::atomic::{AtomicU64, Ordering};

/// A range of a round's indices.
///
/// Ranges instead of single indices keep the deques short: a range of `n` splits into at most `log2(n)` waiting
/// ones, so no deque ever grows, which would allocate, and a thief takes half of what is left with one steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Job {
    start: u32,
    end: u32,
}

impl Job {
    /// The indices `start..end`.
    pub(super) fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Self { start: start as u32, end: end as u32 }
    }

    /// The first index.
    pub(super) fn first(self) -> usize {
        self.start as usize
    }

    /// The near and the far half of a range of two or more indices.
    pub(super) fn split(self) -> Option<(Self, Self)> {
        let middle = self.start + (self.end - self.start).div_ceil(2);
        (self.end - self.start > 1).then_some((Self { end: middle, ..self }, Self { start: middle, ..self }))
    }
}

/// Where one participant finds its part of a round: a job in one word, empty while `start == end`.
///
/// Whoever swaps the job out has it alone, so a thread that wakes up late loses its part to the others.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Mailbox(AtomicU64);

impl Mailbox {
    const EMPTY: u64 = 0;

    /// Puts a job in. The mailbox must be empty.
    pub(super) fn put(&self, job: Job) {
        let word =
            if job.start == job.end { Self::EMPTY } else { u64::from(job.start) << 32 | u64::from(job.end) };
        // Release: whoever takes the job sees what its sender wrote before.
        self.0.store(word, Ordering::Release);
    }

    /// Takes the job out.
    pub(super) fn take(&self) -> Option<Job> {
        // Searching threads look often; a load leaves the cache line where it is, a swap would not.
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
    fn a_mailbox_gives_its_job_once() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.take(), None);
        mailbox.put(Job::new(0, 7));
        assert_eq!(mailbox.take(), Some(Job::new(0, 7)));
        assert_eq!(mailbox.take(), None);
        mailbox.put(Job::new(5, 5));
        assert_eq!(mailbox.take(), None);
    }
}
