use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The speed of a sweep, for its remaining time.
pub(super) struct Pace {
    started: Instant,
    /// The number of runs that were missing at the start.
    missing: usize,
    completed: AtomicUsize,
}

impl Pace {
    /// Starts the clock.
    pub(super) fn new(missing: usize) -> Self {
        Self { started: Instant::now(), missing, completed: AtomicUsize::new(0) }
    }

    /// Counts a run that ended.
    pub(super) fn advance(&self) {
        self.completed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the seconds until the end of the sweep, if its runs take as long as those before. Returns nothing before
    /// the end of the first.
    pub(super) fn left(&self) -> Option<f64> {
        seconds_left(
            self.started.elapsed().as_secs_f64(),
            self.completed.load(Ordering::Relaxed),
            self.missing,
        )
    }
}

fn seconds_left(elapsed: f64, completed: usize, missing: usize) -> Option<f64> {
    (completed > 0).then(|| elapsed / completed as f64 * missing.saturating_sub(completed) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_completed_runs() {
        assert_eq!(seconds_left(60.0, 0, 12), None);
        assert_eq!(seconds_left(60.0, 2, 12), Some(300.0));
        assert_eq!(seconds_left(60.0, 12, 12), Some(0.0));
    }
}
