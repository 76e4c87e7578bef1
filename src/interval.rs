//! Periodic actions of a run.

use std::time::{Duration, Instant};

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

/// A period of wall-clock time, in this process.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    /// The period; none for never.
    period: Option<Duration>,
    due: Instant,
}

impl Timer {
    /// The maximum share of the time that the action may take, as a divisor.
    const SHARE: u32 = 20;

    /// Returns a period of a number of minutes (0 for never), which begins now.
    pub(crate) fn minutes(minutes: f64) -> Self {
        let period = Duration::try_from_secs_f64(60.0 * minutes).ok().filter(|period| !period.is_zero());
        let mut timer = Self { period, due: Instant::now() };
        timer.restart(Duration::ZERO);
        timer
    }

    /// Returns true if the period is over.
    pub(crate) fn is_due(&self) -> bool {
        self.period.is_some() && Instant::now() >= self.due
    }

    /// Begins the next period after an action that took the given time.
    pub(crate) fn restart(&mut self, action: Duration) {
        let wait = self.period.unwrap_or_default().max(action.saturating_mul(Self::SHARE));
        let now = Instant::now();
        // A period that exceeds the range of the clock never ends.
        match now.checked_add(wait) {
            Some(due) => self.due = due,
            None => self.period = None,
        }
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

    #[test]
    fn a_slow_action_lengthens_the_period() {
        let mut timer = Timer::minutes(1e-9);
        assert!(timer.is_due());
        timer.restart(Duration::from_secs(3));
        assert!(!timer.is_due() && timer.due > Instant::now() + Duration::from_secs(50));
        assert!(!Timer::minutes(0.0).is_due());
        assert!(!Timer::minutes(1e30).is_due());
    }
}
