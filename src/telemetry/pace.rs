/// The expected duration of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Seconds per frame of acting and of the environments.
    pub(crate) playing: f64,
    /// Seconds per frame of learning.
    pub(crate) learning: f64,
    /// The number of frames after which learning starts.
    pub(crate) learning_starts: u64,
}

impl Forecast {
    /// Returns the seconds until `total` frames, after `played` frames of acting and `learned` frames of learning.
    pub(crate) fn seconds(&self, played: u64, learned: u64, total: u64) -> f64 {
        let to_play = total.saturating_sub(played) as f64;
        let to_learn = total.saturating_sub(learned.max(self.learning_starts)) as f64;
        to_play * self.playing + to_learn * self.learning
    }
}

/// The weight of the newest cycle in the correction of the forecast.
const NEWEST: f64 = 0.2;

/// The remaining time of a run: a forecast, corrected by the cycles of collection and update so far.
#[derive(Debug)]
pub(super) struct Pace {
    forecast: Forecast,
    total_frames: u64,
    /// The duration of recent cycles, relative to the forecast. None before the first cycle of a run that was not measured.
    correction: Option<f64>,
    /// True after the first cycle, which replaces the measurement.
    has_cycle: bool,
    /// Frames and seconds of training at the last update.
    last_update: (u64, f64),
}

impl Pace {
    /// Starts at `frames` frames and `seconds` of training. Without a measurement, only complete cycles are used.
    pub(super) fn new(
        measured: Option<Forecast>,
        learning_starts: u64,
        total_frames: u64,
        (frames, seconds): (u64, f64),
    ) -> Self {
        // One second per frame: the correction is then the duration of a frame.
        let unit = Forecast { playing: 0.0, learning: 1.0, learning_starts };
        Self {
            forecast: measured.unwrap_or(unit),
            total_frames,
            correction: measured.map(|_| 1.0),
            has_cycle: false,
            last_update: (frames, seconds),
        }
    }

    /// Counts an update after `frames` frames and `seconds` of training.
    pub(super) fn update(&mut self, frames: u64, seconds: f64) {
        let (before, began) = self.last_update;
        let expected = self.forecast.seconds(before, before, frames);
        self.last_update = (frames, seconds);
        let found = (seconds - began) / expected;
        if expected <= 0.0 || !found.is_finite() {
            return;
        }
        self.correction = Some(match self.correction {
            Some(correction) if self.has_cycle => correction + NEWEST * (found - correction),
            _ => found,
        });
        self.has_cycle = true;
    }

    /// Returns the remaining seconds of training after `frames` frames, if they can be known.
    pub(super) fn seconds_left(&self, frames: u64) -> Option<f64> {
        let (learned, _) = self.last_update;
        Some(self.correction? * self.forecast.seconds(frames, learned, self.total_frames))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replay that learns from the thousandth frame on, four times as slowly as it plays.
    const MEASURED: Forecast = Forecast { playing: 0.001, learning: 0.004, learning_starts: 1000 };

    #[test]
    fn the_time_left_includes_learning_from_the_first_frame_on() {
        let pace = Pace::new(Some(MEASURED), 1000, 11_000, (0, 0.0));
        // 11 s of playing and 40 s of learning.
        assert_eq!(pace.seconds_left(0), Some(51.0));
        assert_eq!(pace.seconds_left(1000), Some(50.0));
        // The rollout is played but not yet learned from.
        let rollout = Pace::new(Some(Forecast { learning_starts: 0, ..MEASURED }), 0, 1000, (0, 0.0));
        assert_eq!(rollout.seconds_left(1000), Some(4.0));
    }

    #[test]
    fn recent_cycles_correct_the_measurement() {
        let mut pace = Pace::new(Some(Forecast { learning_starts: 0, ..MEASURED }), 0, 10_000, (0, 0.0));
        pace.update(1000, 10.0);
        assert_eq!(pace.seconds_left(1000), Some(90.0), "twice as slow as measured");
        for cycle in 2..=5 {
            pace.update(1000 * cycle, 10.0 + 5.0 * (cycle - 1) as f64);
        }
        let left = pace.seconds_left(5000).unwrap();
        assert!(
            (25.0..37.0).contains(&left),
            "nearer to the recent 5 s a cycle than to the first 10 s: {left}"
        );
    }

    #[test]
    fn without_a_measurement_nothing_is_known_before_the_first_cycle_with_learning() {
        let mut rollout = Pace::new(None, 0, 4000, (0, 0.0));
        assert_eq!(rollout.seconds_left(500), None);
        rollout.update(1000, 3.0);
        assert_eq!(rollout.seconds_left(1000), Some(9.0));
        let mut replay = Pace::new(None, 1000, 4000, (0, 0.0));
        replay.update(1000, 1.0);
        assert_eq!(replay.seconds_left(1000), None, "the first update follows frames without learning");
        replay.update(1100, 1.5);
        assert_eq!(replay.seconds_left(1100), Some(14.5));
    }
}
