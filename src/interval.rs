//! What is done again and again in the course of a run.

/// Moments at the multiples of a number of emulated frames: a run that was interrupted has them where it would have had
/// them.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    /// 0 for never.
    frames: u64,
    due: u64,
}

impl Interval {
    /// Every so many `frames` (0 for never), the next time after the run has come to `at`.
    pub(crate) fn new(frames: u64, at: u64) -> Self {
        let mut interval = Self { frames, due: 0 };
        interval.pass(at);
        interval
    }

    /// Whether there is such a moment at all.
    pub(crate) fn is_used(&self) -> bool {
        self.frames > 0
    }

    /// Whether it is time, after so many frames.
    pub(crate) fn is_due(&self, at: u64) -> bool {
        self.frames > 0 && at >= self.due
    }

    /// It was done after so many frames: the next time is at the next multiple.
    pub(crate) fn pass(&mut self, at: u64) {
        let frames = self.frames.max(1);
        self.due = (at / frames + 1).saturating_mul(frames);
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
