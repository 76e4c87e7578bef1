//! The times of checkpoints by the clock: soon after the start of a run, then at the configured interval.

use std::time::{Duration, Instant};

/// The minutes of training after which a run has an early checkpoint, besides the one at its start. The configured
/// interval applies if it is shorter, and after the last of them.
const EARLY: [f64; 3] = [1.0, 3.0, 10.0];
/// The largest experience in bytes that an early checkpoint contains. A replay that grows faster is written at the
/// configured interval only.
const EARLY_EXPERIENCE: u64 = 1 << 30;
/// The divisor of the largest share of the time for writing checkpoints: a twentieth.
const SHARE_DIVISOR: u32 = 20;

/// Decides when a checkpoint is due by wall-clock time.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// The configured interval; none for no checkpoints by time.
    interval: Option<Duration>,
    /// The wait for the next early checkpoint, if the run is young.
    early: Option<Duration>,
    /// The least wait, because of the time that the last checkpoint took.
    min_wait: Duration,
    /// The end of the last checkpoint, or the time when this process started.
    since: Instant,
}

impl Timer {
    /// Returns a timer for a run that has trained for `seconds`. `minutes` is the configured interval; 0 for no
    /// checkpoints by time. A run without a checkpoint gets one at once.
    pub(super) fn new(minutes: f64, seconds: f64, has_checkpoint: bool) -> Self {
        let interval = Duration::try_from_secs_f64(60.0 * minutes).unwrap_or(Duration::MAX);
        Self {
            interval: (!interval.is_zero()).then_some(interval),
            early: if has_checkpoint { early_wait(seconds) } else { Some(Duration::ZERO) },
            min_wait: Duration::ZERO,
            since: Instant::now(),
        }
    }

    /// Returns true if a checkpoint is due that would contain this many bytes of experience.
    pub(super) fn is_due(&self, experience: u64) -> bool {
        self.wait(experience).is_some_and(|wait| self.since.elapsed() >= wait)
    }

    /// Begins the next wait after a checkpoint that took the given time, in a run that has trained for `seconds`.
    pub(super) fn restart(&mut self, taken: Duration, seconds: f64) {
        self.early = early_wait(seconds);
        self.min_wait = taken.saturating_mul(SHARE_DIVISOR);
        self.since = Instant::now();
    }

    /// Returns the wait between the last checkpoint and the next one.
    fn wait(&self, experience: u64) -> Option<Duration> {
        let early = self.early.filter(|_| experience <= EARLY_EXPERIENCE);
        Some(early.unwrap_or(Duration::MAX).min(self.interval?).max(self.min_wait))
    }
}

/// Returns the wait after a checkpoint of a run that has trained for `seconds`: the distance between the early times
/// before and after it. Thus no early checkpoint follows shortly after one that was written for another reason.
fn early_wait(seconds: f64) -> Option<Duration> {
    let mut before = 0.0;
    for minutes in EARLY {
        // Training time excludes evaluations, so that it may lag behind the clock.
        if seconds < 0.95 * 60.0 * minutes {
            return Some(Duration::from_secs_f64(60.0 * (minutes - before)));
        }
        before = minutes;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    /// Returns the minutes of the checkpoints in the first hour of a run, each of which takes `taken` and contains the
    /// bytes of experience that `experience` returns for the minute.
    fn first_hour(minutes: f64, taken: Duration, experience: impl Fn(f64) -> u64) -> Vec<f64> {
        let mut timer = Timer::new(minutes, 0.0, false);
        let (mut times, mut since) = (Vec::new(), 0.0);
        for tick in 0..=3600 * 4 {
            let seconds = f64::from(tick) / 4.0;
            let wait = timer.wait(experience(seconds / 60.0));
            if wait.is_some_and(|wait| seconds - since >= wait.as_secs_f64()) {
                times.push(seconds / 60.0);
                timer.restart(taken, seconds);
                since = seconds;
            }
        }
        times
    }

    #[test]
    fn early_checkpoints_precede_those_of_the_configured_interval() {
        let none = |_| 0;
        assert_eq!(first_hour(10.0, NO_TIME, none), [0.0, 1.0, 3.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(first_hour(25.0, NO_TIME, none), [0.0, 1.0, 3.0, 10.0, 35.0, 60.0]);
        assert_eq!(first_hour(1e30, NO_TIME, none), [0.0, 1.0, 3.0, 10.0]);
    }

    #[test]
    fn a_shorter_configured_interval_wins() {
        let times = first_hour(0.5, NO_TIME, |_| 0);
        assert_eq!((&times[..4], times.len()), (&[0.0, 0.5, 1.0, 1.5][..], 121));
        assert_eq!(first_hour(2.0, NO_TIME, |_| 0)[..5], [0.0, 1.0, 3.0, 5.0, 7.0]);
    }

    #[test]
    fn an_interval_of_zero_turns_checkpoints_by_time_off() {
        assert_eq!(first_hour(0.0, NO_TIME, |_| 0), [0.0; 0]);
    }

    #[test]
    fn slow_checkpoints_are_rare() {
        assert_eq!(
            first_hour(10.0, Duration::from_secs(15), |_| 0),
            [0.0, 5.0, 12.0, 22.0, 32.0, 42.0, 52.0]
        );
        let mut timer = Timer::new(1e-9, 0.0, true);
        assert!(timer.is_due(0));
        timer.restart(Duration::from_secs(3), 0.0);
        assert!(!timer.is_due(0));
    }

    #[test]
    fn a_large_replay_is_not_written_early() {
        // A gigabyte every two minutes.
        let growing = |minutes| (minutes * (1u64 << 29) as f64) as u64;
        assert_eq!(first_hour(10.0, NO_TIME, growing)[..4], [0.0, 1.0, 11.0, 21.0]);
    }

    #[test]
    fn a_resumed_run_does_not_start_over() {
        let wait = |seconds, has_checkpoint| {
            Timer::new(20.0, seconds, has_checkpoint).wait(0).map(|wait| wait.as_secs())
        };
        assert_eq!(
            [0.0, 90.0, 240.0, 3600.0].map(|seconds| wait(seconds, true)),
            [60, 120, 420, 1200].map(Some)
        );
        assert_eq!(wait(3600.0, false), Some(0), "its checkpoints were lost");
    }

    #[test]
    fn a_recent_checkpoint_for_another_reason_replaces_an_early_one() {
        let mut timer = Timer::new(10.0, 0.0, true);
        timer.restart(NO_TIME, 50.0);
        assert_eq!(timer.wait(0), Some(Duration::from_mins(1)));
    }
}
