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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_due_once_after_each_multiple() {
        let mut every_ten = Interval::new(10, 25);
        let is_due = |&frames: &u64| {
            let due = every_ten.is_due(frames);
            if due {
                every_ten.pass(frames);
            }
            due
        };
        assert_eq!((25..60).step_by(3).filter(is_due).collect::<Vec<_>>(), [31, 40, 52]);
        assert!(!Interval::new(0, 25).is_due(u64::MAX));
    }
}
