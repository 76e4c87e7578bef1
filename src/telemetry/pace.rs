//! The remaining time of training.

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

/// The weight of a measurement before training: that of this many seconds of training.
const MEASUREMENT: f64 = 3.0;
/// The number of seconds of training after which a cycle has lost two thirds of its weight. Much less would make the
/// time left swing with the load of the machine; much more would be slow to notice a lasting change.
const SPAN: f64 = 120.0;

/// The remaining time of a run, from the speeds of its cycles of collection and update so far. Recent cycles count
/// most. The number of cycles does not matter, only their duration: an update takes milliseconds in one run and minutes
/// in another.
#[derive(Debug)]
pub(super) struct Pace {
    learning_starts: u64,
    total_frames: u64,
    /// The measurement and the cycles except the first.
    average: Work,
    /// The first cycle, which counts until there is another one: it includes the start of threads and of devices.
    first: Option<Work>,
    cycles: u64,
    /// Frames and seconds of training at the last update.
    last_update: (u64, f64),
}

/// An amount of training, with weights.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    played: f64,
    /// Seconds of playing `played` frames, and of everything else besides learning.
    playing: f64,
    learned: f64,
    /// Seconds of learning from `learned` frames.
    learning: f64,
}

impl Work {
    /// Returns the work that a forecast expects in a number of seconds.
    fn expected(forecast: &Forecast, seconds: f64) -> Self {
        let frames = seconds / (forecast.playing + forecast.learning);
        if !frames.is_finite() {
            return Self::default();
        }
        let (playing, learning) = (frames * forecast.playing, frames * forecast.learning);
        Self { played: frames, playing, learned: frames, learning }
    }

    fn add(&mut self, other: &Self, weight_of_self: f64) {
        self.played = self.played * weight_of_self + other.played;
        self.playing = self.playing * weight_of_self + other.playing;
        self.learned = self.learned * weight_of_self + other.learned;
        self.learning = self.learning * weight_of_self + other.learning;
    }
}

impl Pace {
    /// Starts at `frames` frames and `seconds` of training. Without a measurement, only complete cycles are used.
    pub(super) fn new(
        measured: Option<Forecast>,
        learning_starts: u64,
        total_frames: u64,
        (frames, seconds): (u64, f64),
    ) -> Self {
        let average = measured.map(|forecast| Work::expected(&forecast, MEASUREMENT));
        Self {
            learning_starts,
            total_frames,
            average: average.unwrap_or_default(),
            first: None,
            cycles: 0,
            last_update: (frames, seconds),
        }
    }

    /// Counts an update after `frames` frames and `seconds` of training, of which `learning` were spent on learning
    /// since the last call.
    pub(super) fn update(&mut self, frames: u64, seconds: f64, learning: f64) {
        let (last_frames, last_seconds) = std::mem::replace(&mut self.last_update, (frames, seconds));
        let cycle = Work {
            played: frames.saturating_sub(last_frames) as f64,
            playing: (seconds - last_seconds - learning).max(0.0),
            learned: frames.saturating_sub(last_frames.max(self.learning_starts)) as f64,
            learning,
        };
        if cycle.played == 0.0 {
            return;
        }
        self.cycles += 1;
        if self.cycles == 1 {
            self.first = Some(cycle);
            return;
        }
        self.first = None;
        self.average.add(&cycle, (-(seconds - last_seconds) / SPAN).exp());
    }

    /// Returns the remaining seconds of training after `frames` frames, if they can be known.
    pub(super) fn seconds_left(&self, frames: u64) -> Option<f64> {
        let (learned, _) = self.last_update;
        let (playing, learning) = self.speeds()?;
        let forecast = Forecast { playing, learning, learning_starts: self.learning_starts };
        Some(forecast.seconds(frames, learned, self.total_frames))
    }

    /// Returns the seconds of playing a frame, if they are known.
    pub(super) fn playing(&self) -> Option<f64> {
        self.speeds().map(|(playing, _)| playing)
    }

    /// Returns the seconds of playing and of learning for a frame, if both are known.
    fn speeds(&self) -> Option<(f64, f64)> {
        let mut work = self.average;
        work.add(&self.first.unwrap_or_default(), 1.0);
        (work.played > 0.0 && work.learned > 0.0)
            .then(|| (work.playing / work.played, work.learning / work.learned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replay that learns from the thousandth frame on, four times as slowly as it plays.
    const MEASURED: Forecast = Forecast { playing: 0.001, learning: 0.004, learning_starts: 1000 };

    fn assert_near(actual: Option<f64>, expected: f64) {
        let actual = actual.expect("a known time");
        assert!((actual / expected - 1.0).abs() < 1e-6, "{actual} instead of {expected}");
    }

    #[test]
    fn the_time_left_includes_learning_from_the_first_frame_on() {
        let pace = Pace::new(Some(MEASURED), 1000, 11_000, (0, 0.0));
        // 11 s of playing and 40 s of learning.
        assert_near(pace.seconds_left(0), 51.0);
        assert_near(pace.seconds_left(1000), 50.0);
        // The rollout is played but not yet learned from.
        let rollout = Pace::new(Some(Forecast { learning_starts: 0, ..MEASURED }), 0, 1000, (0, 0.0));
        assert_near(rollout.seconds_left(1000), 4.0);
    }

    #[test]
    fn without_a_measurement_nothing_is_known_before_the_first_cycle_with_learning() {
        let mut rollout = Pace::new(None, 0, 4000, (0, 0.0));
        assert_eq!(rollout.seconds_left(500), None);
        rollout.update(1000, 3.0, 2.0);
        assert_near(rollout.seconds_left(1000), 9.0);
        let mut replay = Pace::new(None, 1000, 4000, (0, 0.0));
        replay.update(1000, 1.0, 0.0);
        assert_eq!(replay.seconds_left(1000), None, "the first update follows frames without learning");
        replay.update(1100, 1.5, 0.4);
        assert_near(replay.seconds_left(1100), 14.5);
    }

    #[test]
    fn the_first_cycle_counts_only_until_the_second() {
        let mut pace = Pace::new(None, 0, 10_000, (0, 0.0));
        // It includes the compilation of kernels.
        pace.update(1000, 30.0, 28.0);
        assert_near(pace.seconds_left(1000), 270.0);
        pace.update(2000, 31.0, 0.8);
        assert_near(pace.seconds_left(2000), 8.0);
    }

    #[test]
    fn a_wrong_measurement_fades() {
        let mut pace = Pace::new(Some(Forecast { learning_starts: 0, ..MEASURED }), 0, 1_000_000, (0, 0.0));
        // Twice as fast as measured.
        for cycle in 1..=24 {
            pace.update(1000 * cycle, 2.5 * cycle as f64, 2.0);
        }
        let left = pace.seconds_left(24_000).expect("a known time");
        assert!((2440.0..2440.0 * 1.1).contains(&left), "{left}");
    }

    #[test]
    fn a_machine_that_is_busy_now_and_then_does_not_make_the_time_swing() {
        let mut pace = Pace::new(None, 0, 16_000_000, (0, 0.0));
        let (mut seconds, mut lefts) = (0.0, Vec::new());
        for cycle in 1..=1000 {
            // Half as fast for 15 seconds of every 45.
            let is_busy = seconds % 45.0 < 15.0;
            let taken = if is_busy { 3.0 } else { 1.5 };
            seconds += taken;
            pace.update(8192 * cycle, seconds, 0.8 * taken);
            if seconds > 120.0 {
                let left = pace.seconds_left(8192 * cycle).expect("a known time");
                lefts.push(left / (16_000_000 - 8192 * cycle) as f64);
            }
        }
        let shortest = lefts.iter().copied().fold(f64::MAX, f64::min);
        let longest = lefts.iter().copied().fold(0.0, f64::max);
        assert!(longest / shortest < 1.25, "between {shortest} and {longest} seconds a frame");
    }

    #[test]
    fn the_time_follows_a_lasting_change_of_speed() {
        let mut pace = Pace::new(None, 0, 16_000_000, (0, 0.0));
        let mut seconds = 0.0;
        for cycle in 1..=800 {
            let taken = if cycle <= 400 { 1.5 } else { 3.0 };
            seconds += taken;
            pace.update(8192 * cycle, seconds, 0.8 * taken);
        }
        let (left, expected) =
            (pace.seconds_left(8192 * 800).unwrap(), 3.0 / 8192.0 * (16_000_000 - 8192 * 800) as f64);
        assert!((0.75..1.0).contains(&(left / expected)), "{left} of {expected}");
    }

    /// Runs on machines without other work. Their curves have a part of the updates and no phases.
    #[test]
    fn after_a_minute_the_time_left_of_recorded_runs_is_within_a_quarter() {
        for (run, learning_starts) in [
            ("pong-ppo-seed21", 0),
            ("harvest-ppo-seed19", 0),
            ("harvest-pqn-seed20", 0),
            ("mujoco-ppo-ant-s11", 0),
            ("atari100k-dqn-hero-s11", 6400),
        ] {
            let path = format!("{}/benches/results/runs/{run}/metrics.jsonl", env!("CARGO_MANIFEST_DIR"));
            let curves = std::fs::read_to_string(path).expect("curves");
            let records =
                curves.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
            let times: Vec<(u64, f64)> = records
                .filter_map(|record| Some((record["frames"].as_u64()?, record["seconds"].as_f64()?)))
                .collect();
            let &(total, end) = times.last().expect("a record");
            let (mut pace, mut last, mut checked) =
                (Pace::new(None, learning_starts, total, (0, 0.0)), 0.0, 0);
            for (frames, seconds) in times {
                pace.update(frames, seconds, 0.8 * (seconds - last));
                last = seconds;
                if seconds >= 60.0 && frames < total {
                    let left = pace.seconds_left(frames).expect("a known time");
                    let ratio = left / (end - seconds);
                    assert!(
                        (0.75..1.25).contains(&ratio),
                        "{run} at {seconds} s: {ratio:.2} times the time left"
                    );
                    checked += 1;
                }
            }
            assert!(checked > 40, "{run}: {checked}");
        }
    }
}
