//! The progress of a run, as text.

use std::collections::BTreeMap;
use std::time::Instant;

use super::game_table::{self, GameRow};
use super::metric::Metric;
use super::pace::{Forecast, Pace};
use super::record::{Moment, Record, Sample};
use super::tracked_game::TrackedGame;
use crate::interval::times_left;
use crate::quantity::{clock, count, short};
use crate::statistics::{mean, median};

/// The largest number of games whose returns fit the line.
const GAMES_IN_LINE: usize = 6;
/// The weight of the newest episode in the mean length of a game's episodes.
const NEWEST_WEIGHT: f64 = 0.1;
/// The extent of a run, for its progress.
#[derive(Default)]
pub(crate) struct Extent {
    pub(crate) total_frames: u64,
    /// The progress of the run when this process started or resumed it.
    pub(crate) beginning: Moment,
    pub(crate) games: Vec<TrackedGame>,
    /// The measured speed, if it was measured.
    pub(crate) forecast: Option<Forecast>,
    /// The number of frames after which learning starts.
    pub(crate) learning_starts: u64,
    /// The number of frames between two evaluations; 0 for a single one at the end.
    pub(crate) evaluation_interval: u64,
    /// The number of episodes of each game in an evaluation; 0 for no evaluations.
    pub(crate) evaluation_episodes: usize,
}

/// The progress of a run, as text.
pub(super) struct Progress {
    extent: Extent,
    started: Instant,
    moment: Moment,
    pace: Pace,
    /// The name and the latest value of each metric on the line, by tag.
    latest: BTreeMap<String, (String, f64)>,
    games: Vec<GameRow>,
    /// Seconds of the newest evaluation.
    evaluation: Option<f64>,
    /// The share of the environments in the time of playing.
    environments: f64,
    /// The activity that interrupts training, and its start.
    activity: Option<(String, Instant)>,
}

impl Progress {
    pub(super) fn new(extent: Extent) -> Self {
        let beginning = extent.beginning;
        Self {
            started: Instant::now(),
            moment: beginning,
            pace: Pace::new(
                extent.forecast,
                extent.learning_starts,
                extent.total_frames,
                (beginning.frames, beginning.seconds),
            ),
            latest: BTreeMap::new(),
            games: extent.games.iter().map(GameRow::new).collect(),
            evaluation: None,
            environments: 1.0,
            activity: None,
            extent,
        }
    }

    pub(super) fn frames(&self) -> u64 {
        self.moment.frames
    }

    /// Returns true if there is nothing to show: no training and no activity.
    pub(super) fn is_idle(&self) -> bool {
        self.extent.total_frames == 0 && self.activity.is_none()
    }

    pub(super) fn total_frames(&self) -> u64 {
        self.extent.total_frames
    }

    /// Counts steps between two records.
    pub(super) fn advance(&mut self, moment: Moment) {
        self.moment = moment;
    }

    /// Sets the activity that interrupts training; `None` resumes training.
    pub(super) fn set_activity(&mut self, activity: Option<String>) {
        let since = self.activity.as_ref().map_or_else(Instant::now, |&(_, since)| since);
        self.activity = activity.map(|text| (text, since));
    }

    pub(super) fn record(&mut self, record: &Record) {
        let Record { moment, samples } = record;
        // Only records of updates have a speed.
        if value_of(samples, Metric::Sps).is_some() {
            let [acting, environments, learning] =
                [Metric::ActingTime, Metric::EnvironmentTime, Metric::LearningTime]
                    .map(|metric| value_of(samples, metric).unwrap_or(0.0));
            self.pace.update(moment.frames, moment.seconds, learning);
            if acting + environments > 0.0 {
                self.environments = environments / (acting + environments);
            }
        }
        self.moment = *moment;
        for sample in samples {
            self.record_sample(sample);
        }
    }

    fn record_sample(&mut self, sample: &Sample) {
        let game = match &sample.task {
            Some(task) => self.games.iter_mut().find(|row| row.game.id == *task),
            None if self.games.len() == 1 => self.games.first_mut(),
            None => None,
        };
        match (sample.metric, game) {
            (Metric::RecentReturn, Some(game)) => game.recent = Some(sample.value),
            (Metric::Frames, Some(game)) => game.frames = sample.value,
            (Metric::EpisodicLength, Some(game)) => {
                let mean = game.length.unwrap_or(sample.value);
                game.length = Some(mean + NEWEST_WEIGHT * (sample.value - mean));
            }
            (Metric::EvaluationTime, _) => self.evaluation = Some(sample.value),
            _ => {}
        }
        // Scores of single games are shown if there are few of them; their losses never.
        let is_shown = match sample.metric {
            Metric::RecentReturn => false,
            Metric::EvaluationReturn => sample.task.is_none() || self.games.len() <= GAMES_IN_LINE,
            _ => sample.task.is_none(),
        };
        let name = sample.metric.short_name().filter(|_| is_shown);
        if let Some(name) = name {
            let name = sample
                .task
                .as_ref()
                .map_or_else(|| name.to_owned(), |task| format!("{name} {}", self.label(task)));
            self.latest.insert(sample.tag(), (name, sample.value));
        }
    }

    fn label<'a>(&'a self, task: &'a str) -> &'a str {
        self.games.iter().find(|row| row.game.id == task).map_or(task, |row| &row.game.label)
    }

    /// Returns the line, for example `4.1M of 57M frames, 1:42:00 left, human median 0.013 of 41/57 games, SPS 1934`.
    pub(super) fn line(&self) -> String {
        self.parts().join(", ")
    }

    /// Returns as many parts of the line as fit `width` characters, but at least the first.
    pub(super) fn line_within(&self, width: usize) -> String {
        let mut parts = self.parts().into_iter();
        let mut line = parts.next().unwrap_or_default();
        for part in parts {
            if line.chars().count() + 2 + part.chars().count() > width {
                break;
            }
            line = format!("{line}, {part}");
        }
        line
    }

    fn parts(&self) -> Vec<String> {
        if let Some((activity, since)) = &self.activity {
            return vec![format!("{activity}, {} so far", clock(since.elapsed().as_secs_f64()))];
        }
        let Moment { frames, steps, .. } = self.moment;
        let total = self.extent.total_frames;
        // The last step of all environments may exceed the total.
        let mut parts = vec![format!("{} of {} frames", count(frames.min(total)), count(total))];
        let left = self.seconds_left();
        parts.extend(left.map(|left| format!("{} left", clock(left))));
        if left.is_some() && self.extent.evaluation_episodes > 0 && self.seconds_of_evaluation().is_none() {
            parts.push("then an evaluation".to_owned());
        }
        parts.extend(self.scores());
        if !self.latest.contains_key(&Metric::Sps.tag(None)) {
            let steps = steps.saturating_sub(self.extent.beginning.steps) as f64;
            parts.push(format!("SPS {:.0}", steps / self.started.elapsed().as_secs_f64()));
        }
        parts.extend(self.latest.values().map(|(name, value)| format!("{name} {}", short(*value))));
        parts
    }

    /// Returns the remaining seconds, with those of evaluations as far as they can be known.
    fn seconds_left(&self) -> Option<f64> {
        let frames = self.moment.frames;
        let training = self.pace.seconds_left(frames)?;
        if self.extent.evaluation_episodes == 0 {
            return Some(training);
        }
        let evaluations = times_left(self.extent.evaluation_interval, frames, self.extent.total_frames);
        // At the end, a random player plays as many episodes. It needs no time for acting.
        let counted = evaluations as f64 + self.environments;
        Some(training + counted * self.seconds_of_evaluation().unwrap_or(0.0))
    }

    /// Returns the seconds of an evaluation: those of the newest one or, before the first one, those of playing as many
    /// episodes in training. Returns nothing before the end of the first episode.
    fn seconds_of_evaluation(&self) -> Option<f64> {
        if self.evaluation.is_some() {
            return self.evaluation;
        }
        let lengths: Vec<f64> = self.games.iter().filter_map(|game| game.length).collect();
        if lengths.is_empty() || self.moment.steps == 0 {
            return None;
        }
        let episodes = (self.extent.evaluation_episodes * self.games.len()) as f64;
        let frames_per_step = self.moment.frames as f64 / self.moment.steps as f64;
        Some(episodes * mean(lengths) * frames_per_step * self.pace.playing()?)
    }

    /// Returns the recent return of a single game, or an aggregate over the games that have completed an episode and,
    /// if there are few, the return of each.
    fn scores(&self) -> Vec<String> {
        let returns: Vec<f64> = self.games.iter().filter_map(|game| game.recent).collect();
        if returns.is_empty() {
            return Vec::new();
        }
        if self.games.len() == 1 {
            return vec![format!("return {}", short(returns[0]))];
        }
        let normalised: Vec<f64> = self.games.iter().filter_map(GameRow::human_normalised).collect();
        let total = self.games.len();
        let mut scores = Vec::new();
        if !normalised.is_empty() {
            let count = normalised.len();
            scores.push(format!("human median {:.3} of {count}/{total} games", median(normalised)));
        } else if self.games.iter().all(|row| row.game.human_normalised(0.0).is_none()) {
            let count = returns.len();
            scores.push(format!("mean return {} of {count}/{total} games", short(mean(returns))));
        }
        if total <= GAMES_IN_LINE {
            scores.extend(self.games.iter().filter_map(GameRow::score));
        }
        scores
    }

    /// Returns the number of lines of the table of games for a width in characters; none for a single game.
    pub(super) fn table_height(&self, width: usize) -> Option<usize> {
        (self.games.len() > 1).then(|| game_table::height(&self.games, width))
    }

    /// Returns the table of games in at most `height` lines of at most `width` characters.
    pub(super) fn table(&self, width: usize, height: usize) -> String {
        game_table::table(&self.games, width, height)
    }
}

/// Returns the value of a metric that is not that of a single game.
fn value_of(samples: &[Sample], metric: Metric) -> Option<f64> {
    let sample = samples.iter().find(|sample| sample.metric == metric && sample.task.is_none());
    sample.map(|sample| sample.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(id: &str, label: &str) -> TrackedGame {
        let published = ale::game(id).ok().filter(|_| id == label);
        TrackedGame { id: id.to_owned(), label: label.to_owned(), published }
    }

    fn progress(games: &[&str], forecast: Option<Forecast>) -> Progress {
        Progress::new(Extent {
            total_frames: 8_000_000,
            beginning: Moment::default(),
            games: games.iter().map(|id| tracked(id, id)).collect(),
            forecast,
            learning_starts: 0,
            evaluation_interval: 0,
            evaluation_episodes: 0,
        })
    }

    fn moment(updates: u64, frames: u64, seconds: f64) -> Moment {
        Moment { updates, steps: frames / 4, frames, seconds }
    }

    fn recent(task: &str, value: f64) -> Sample {
        Sample::of_task(Metric::RecentReturn, task, value)
    }

    #[test]
    fn shows_frames_time_and_speed_before_the_first_update() {
        let forecast = Forecast { playing: 1e-6, learning: 1e-5, learning_starts: 0 };
        let mut progress = progress(&["pong"], Some(forecast));
        assert!(progress.line().starts_with("0 of 8M frames, 1:28 left, SPS "), "{}", progress.line());
        progress.advance(moment(0, 4_000_000, 3.0));
        let line = progress.line();
        assert!(line.starts_with("4M of 8M frames, 1:24 left, SPS "), "learning has not started yet: {line}");
    }

    #[test]
    fn the_line_shows_the_latest_values_of_few_games() {
        let mut progress = progress(&["pong", "breakout"], None);
        let speed = Sample::new(Metric::Sps, 1234.0);
        progress.record(&Record { moment: moment(0, 400, 0.1), samples: vec![recent("pong", 1.0)] });
        let pong = ale::game("pong").unwrap();
        let samples = vec![recent("pong", pong.random_score.unwrap()), recent("breakout", 7.0), speed];
        progress.record(&Record { moment: moment(1, 4_000_000, 60.0), samples });
        let line = progress.line();
        assert!(line.starts_with("4M of 8M frames, 1:00 left, human median 0."), "{line}");
        assert!(line.contains(" of 2/2 games, pong -20.7, breakout 7.0, SPS 1234"), "{line}");
        assert_eq!(progress.line_within(30), "4M of 8M frames, 1:00 left");
        assert_eq!(progress.line_within(3), "4M of 8M frames");
        assert_eq!(progress.line_within(1000), line);
    }

    #[test]
    fn the_line_has_a_median_of_the_games_with_an_episode() {
        let names: Vec<&str> =
            ale::games().iter().filter(|game| game.human_score.is_some()).map(|game| game.id).collect();
        let mut progress = progress(&names, None);
        let human = |id: &str| recent(id, ale::game(id).unwrap().human_score.unwrap());
        let samples = names[..3].iter().map(|id| human(id)).collect();
        progress.record(&Record { moment: moment(1, 4000, 1.0), samples });
        let expected = format!("human median 1.000 of 3/{} games", names.len());
        assert!(progress.line().contains(&expected), "{}", progress.line());
    }

    #[test]
    fn games_in_other_modes_are_named_and_have_no_part_in_the_median() {
        let mut progress = progress(&["pong", "breakout"], None);
        let other = "breakout@12.1";
        progress.games[1].game = tracked("breakout", other);
        progress.record(&Record { moment: moment(0, 400, 0.1), samples: vec![recent("breakout", 7.0)] });
        assert!(!progress.line().contains("mean return"), "the median is still to come: {}", progress.line());
        let pong = ale::game("pong").unwrap().human_score.unwrap();
        let mut samples = vec![recent("pong", pong), recent("breakout", 7.0)];
        samples.push(Sample::of_task(Metric::EvaluationReturn, "breakout", 9.0));
        progress.record(&Record { moment: moment(1, 4000, 1.0), samples });
        let line = progress.line();
        assert!(
            line.contains(&format!("human median 1.000 of 1/2 games, pong 14.6, {other} 7.0, ")),
            "{line}"
        );
        assert!(line.contains(&format!("evaluation {other} 9.0")), "{line}");
        let table = progress.table(80, 9);
        assert!(table.lines().nth(2).unwrap().starts_with(other), "{table}");
        assert!(table.lines().nth(2).unwrap().ends_with(" 7.0      -"), "{table}");
        for width in [50, 80, 120] {
            let height = progress.table_height(width).unwrap();
            assert!(progress.table(width, height).lines().all(|line| line.len() <= width), "{width}");
        }
    }

    #[test]
    fn games_without_human_scores_have_a_mean_return() {
        let mut progress = progress(&["CartPole-v1", "Acrobot-v1"], None);
        progress.record(&Record { moment: moment(1, 4000, 1.0), samples: vec![recent("CartPole-v1", 20.0)] });
        assert!(
            progress.line().contains("mean return 20.0 of 1/2 games, CartPole-v1 20.0"),
            "{}",
            progress.line()
        );
    }

    #[test]
    fn evaluations_count_towards_the_remaining_time() {
        let forecast = Forecast { playing: 1e-5, learning: 0.0, learning_starts: 0 };
        let mut progress = progress(&["pong"], Some(forecast));
        progress.extent.evaluation_interval = 4_000_000;
        progress.extent.evaluation_episodes = 10;
        assert_eq!(progress.seconds_left().map(f64::round), Some(80.0));
        assert!(progress.line().contains(" left, then an evaluation, SPS"), "{}", progress.line());
        progress.record(&Record {
            moment: moment(0, 4_000_000, 40.0),
            samples: vec![Sample::new(Metric::EvaluationTime, 100.0)],
        });
        progress.environments = 0.25;
        // The rest of training, the last evaluation and that of a random player.
        assert_eq!(progress.seconds_left().map(f64::round), Some(40.0 + 100.0 + 25.0));
        assert!(!progress.line().contains("then an evaluation"), "{}", progress.line());
    }

    #[test]
    fn an_evaluation_follows_a_known_time_only() {
        let mut progress = progress(&["pong"], None);
        progress.extent.evaluation_episodes = 10;
        assert!(progress.line().starts_with("0 of 8M frames, SPS "), "{}", progress.line());
    }

    #[test]
    fn the_first_evaluation_is_expected_to_last_as_long_as_its_episodes_in_training() {
        let forecast = Forecast { playing: 1e-5, learning: 3e-5, learning_starts: 0 };
        let mut progress = progress(&["pong", "breakout"], Some(forecast));
        progress.extent.evaluation_episodes = 10;
        let length = |task, value| Sample::of_task(Metric::EpisodicLength, task, value);
        let samples = vec![length("pong", 3000.0), length("breakout", 1000.0)];
        progress.record(&Record { moment: moment(0, 4_000_000, 40.0), samples });
        progress.environments = 0.5;
        // 20 episodes of 2000 steps of 4 frames last 1.6 s, and 0.8 s for a random player.
        let training = progress.pace.seconds_left(4_000_000).unwrap();
        assert!((progress.seconds_left().unwrap() - training - 2.4).abs() < 1e-6);
    }

    /// A run of Pong with a warm-up, evaluations, checkpoints, jitter and a pessimistic measurement.
    #[test]
    fn after_a_minute_the_time_left_is_within_a_quarter_until_the_end() {
        const EVALUATION: f64 = 40.0;
        let forecast = Forecast { playing: 7e-5, learning: 2e-4, learning_starts: 0 };
        let mut progress = progress(&["pong"], Some(forecast));
        progress.extent.evaluation_interval = 2_000_000;
        progress.extent.evaluation_episodes = 10;
        let updates = 976;
        // The share of a cycle of 1.5 s by which the next one differs from it.
        let jitter = |update: u64| (update * 7919 % 101) as f64 / 101.0 - 0.5;
        let (mut seconds, mut left) = (0.0, Vec::new());
        for update in 1..=updates {
            let warm_up = if update == 1 { 3.0 } else { 1.0 };
            let checkpoint = if update % 390 == 0 { 2.0 } else { 0.0 };
            let (learning, playing) = (1.1 * warm_up, 0.4 * (1.0 + 0.6 * jitter(update)) * warm_up);
            seconds += learning + playing + checkpoint;
            let frames = 8192 * update;
            let mut samples = vec![
                Sample::new(Metric::Sps, 1.0),
                Sample::new(Metric::ActingTime, 0.7 * playing),
                Sample::new(Metric::EnvironmentTime, 0.3 * playing),
                Sample::new(Metric::LearningTime, learning),
            ];
            if update % 10 == 0 {
                samples.push(Sample::of_task(Metric::EpisodicLength, "pong", 1000.0 + 2.0 * update as f64));
            }
            progress.record(&Record { moment: moment(update, frames, seconds), samples });
            let is_evaluated = frames / 2_000_000 > (frames - 8192) / 2_000_000;
            if is_evaluated {
                let samples = vec![Sample::new(Metric::EvaluationTime, EVALUATION)];
                progress.record(&Record { moment: moment(update, frames, seconds), samples });
            }
            left.push((seconds, frames, progress.seconds_left().expect("a known time")));
        }
        let end = seconds;
        for (seconds, frames, left) in left.into_iter().filter(|&(seconds, ..)| seconds > 60.0) {
            let evaluations = (8_000_000 - frames.min(8_000_000)).div_ceil(2_000_000);
            let actual = end - seconds + (evaluations as f64 + 0.3) * EVALUATION;
            assert!((0.75..1.25).contains(&(left / actual)), "{left} of {actual} after {seconds} s");
        }
    }

    #[test]
    fn an_activity_replaces_the_line_until_it_ends() {
        let mut progress = progress(&["pong"], None);
        progress.set_activity(Some("evaluation: 3 of 10 episodes".to_owned()));
        assert_eq!(progress.line(), "evaluation: 3 of 10 episodes, 0:00 so far");
        progress.set_activity(None);
        assert!(progress.line().contains("frames"));
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let names: Vec<&str> = ale::games().iter().map(|game| game.id).take(57).collect();
        let mut progress = progress(&names, None);
        let samples = vec![recent(names[56], 12.0), Sample::of_task(Metric::Frames, names[56], 20_000.0)];
        progress.record(&Record { moment: moment(1, 4000, 1.0), samples });
        for (width, height) in [(80, 58), (87, 30), (132, 20), (180, 16)] {
            assert_eq!(progress.table_height(width), Some(height));
            let table = progress.table(width, height);
            assert_eq!(table.lines().count(), height);
            assert!(table.lines().all(|line| line.chars().count() <= width), "{table}");
            for name in &names {
                assert_eq!(
                    table.split_whitespace().filter(|word| word == name).count(),
                    1,
                    "{name}: {table}"
                );
            }
            assert!(table.contains("20.0k     12.0"), "{table}");
        }
        assert_eq!(progress.table(80, 10).lines().count(), 10);
        assert_eq!(self::progress(&["pong"], None).table_height(80), None);
    }
}
