//! Periodic actions of a run.

/// A period in emulated frames. It is due at multiples of the period, so a resumed run keeps the same schedule.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    /// The period; 0 for never.
    frames: u64,
    due: u64,
}

impl Interval {
    /// Returns a period of `frames` (0 for never) whose next time is after `at`.
    pub(crate) fn new(frames: u64, at: u64) -> Self {
        let mut interval = Self { frames, due: 0 };
        interval.pass(at);
        interval
    }

    /// Returns true if the period is not 0.
    pub(crate) fn is_used(&self) -> bool {
        self.frames > 0
    }

    /// Returns true if the next time is reached after `at` frames.
    pub(crate) fn is_due(&self, at: u64) -> bool {
        self.frames > 0 && at >= self.due
    }

    /// Advances the next time to the first multiple after `at`.
    pub(crate) fn pass(&mut self, at: u64) {
        let frames = self.frames.max(1);
        self.due = (at / frames).saturating_add(1).saturating_mul(frames);
    }
}

/// Returns the number of times left after `at` frames of something that takes place at multiples of `period` and at the
/// `end`. If the period is 0, it takes place once.
pub(crate) fn times_left(period: u64, at: u64, end: u64) -> u64 {
    match period {
        0 => 1,
        _ if at >= end => 0,
        _ => (end - 1) / period - at / period + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_left_are_the_multiples_and_the_end() {
        let left = |at| times_left(4, at, 10);
        assert_eq!([0, 3, 4, 7, 8, 9, 10, 12].map(left), [3, 3, 2, 2, 1, 1, 0, 0]);
        assert_eq!([0, 4, 7, 8].map(|at| times_left(4, at, 8)), [2, 1, 1, 0]);
        assert_eq!(times_left(0, 5, 10), 1);
    }

    #[test]
    fn is_due_once_after_each_multiple() {
        let mut every_ten = Interval::new(10, 25);
        let mut due = Vec::new();
        for frames in (25..60).step_by(3) {
            if every_ten.is_due(frames) {
                every_ten.pass(frames);
                due.push(frames);
            }
        }
        assert_eq!(due, [31, 40, 52]);
        assert!(!Interval::new(0, 25).is_due(u64::MAX));
    }
}
