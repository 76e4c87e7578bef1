use std::collections::BTreeMap;

use rl_env::{Batch, EpisodeStats};
use serde::{Deserialize, Serialize};

use crate::config::Games;
use crate::recent_returns::RecentReturns;
use crate::statistics::{interquartile_mean, median};
use crate::telemetry::{Metric, Sample};

/// Episode statistics and step counts of each task.
pub(super) struct Tally {
    tasks: Vec<String>,
    task_ids: Vec<usize>,
    recent: Vec<RecentReturns>,
    /// Steps of each task so far.
    steps: Vec<u64>,
}

impl Tally {
    /// Returns a tally for environments of the given tasks, with the saved
    /// [`recent_returns`](Self::recent_returns) and the number of steps of each task.
    pub(super) fn new(
        tasks: &[String],
        task_ids: &[usize],
        recent: &[RecentReturns],
        steps: impl Iterator<Item = u64>,
    ) -> Self {
        Self {
            tasks: tasks.to_vec(),
            task_ids: task_ids.to_vec(),
            recent: (0..tasks.len()).map(|task| recent.get(task).cloned().unwrap_or_default()).collect(),
            steps: steps.collect(),
        }
    }

    /// Counts a batch. Returns its number of steps, and the samples of the episodes that ended.
    pub(super) fn observe(&mut self, batch: &Batch) -> (u64, Vec<Sample>) {
        let mut log = Log::default();
        log.add(batch);
        self.count(&log)
    }

    /// Counts the batches of a log. Returns their number of steps, and the samples of the episodes that ended.
    pub(super) fn count(&mut self, log: &Log) -> (u64, Vec<Sample>) {
        for (&env, steps) in &log.steps {
            self.steps[self.task_ids[env]] += steps;
        }
        let samples = log.episodes.iter().flat_map(|ended| self.end_episode(ended)).collect();
        (log.steps(), samples)
    }

    fn end_episode(&mut self, &Ended { env, ref episode, .. }: &Ended) -> Vec<Sample> {
        let task = self.task_ids[env];
        let num_envs = self.task_ids.iter().filter(|&&id| id == task).count();
        self.recent[task].push(env, episode.total_reward, num_envs);
        let values =
            [(Metric::EpisodicReturn, episode.total_reward), (Metric::EpisodicLength, episode.length as f64)];
        values.into_iter().map(|(metric, value)| self.sample(metric, task, value)).collect()
    }

    /// Returns the mean return of the last episodes of each task that has completed any.
    pub(super) fn recent_samples(&self, games: &Games) -> Vec<Sample> {
        let recent = self.recent.iter().enumerate();
        let samples =
            recent.filter_map(|(task, recent)| Some(self.sample(Metric::RecentReturn, task, recent.mean()?)));
        samples.chain(self.aggregates(games)).collect()
    }

    /// Returns the emulated frames of each task, if there are several.
    pub(super) fn frames(&self, frames_per_step: u64) -> Vec<Sample> {
        if self.tasks.len() < 2 {
            return Vec::new();
        }
        let frames = self.steps.iter().map(|steps| (steps * frames_per_step) as f64);
        self.tasks
            .iter()
            .zip(frames)
            .map(|(task, frames)| Sample::of_task(Metric::Frames, task, frames))
            .collect()
    }

    /// Returns aggregates over the games whose scores can be human-normalised, once each has completed an episode.
    fn aggregates(&self, games: &Games) -> Vec<Sample> {
        let normalisable = self
            .tasks
            .iter()
            .zip(&self.recent)
            .filter(|(task, _)| games.human_normalised(task, 0.0).is_some());
        let scores = normalisable.map(|(task, recent)| games.human_normalised(task, recent.mean()?));
        match scores.collect::<Option<Vec<f64>>>() {
            Some(scores) if scores.len() > 1 => vec![
                Sample::new(Metric::HumanNormalisedMedian, median(scores.clone())),
                Sample::new(Metric::HumanNormalisedIqm, interquartile_mean(scores)),
            ],
            _ => Vec::new(),
        }
    }

    /// Returns the [score](Games::score) of the agent from the recent return of each task. None until every task has
    /// completed an episode.
    pub(super) fn score(&self, games: &Games) -> Option<f64> {
        let means =
            self.tasks.iter().zip(&self.recent).map(|(task, recent)| Some((task.as_str(), recent.mean()?)));
        Some(games.score(means.collect::<Option<Vec<_>>>()?))
    }

    /// Returns a sample of a task. Returns and lengths of different games cannot be compared, so several games never
    /// share a tag.
    fn sample(&self, metric: Metric, task: usize, value: f64) -> Sample {
        match self.tasks.len() {
            1 => Sample::new(metric, value),
            _ => Sample::of_task(metric, &self.tasks[task], value),
        }
    }

    /// Returns the returns of the last episodes of each task, for a checkpoint.
    pub(super) fn recent_returns(&self) -> Vec<RecentReturns> {
        self.recent.clone()
    }
}

/// The steps and the ended episodes of some batches.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Log {
    batches: u64,
    /// The number of steps of each environment, without those that only reset it or in which it rests.
    steps: BTreeMap<usize, u64>,
    episodes: Vec<Ended>,
}

/// The end of an episode.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Ended {
    /// The batch of the log in which it ended.
    batch: u64,
    env: usize,
    episode: EpisodeStats,
}

impl Log {
    /// Adds a batch.
    pub(super) fn add(&mut self, batch: &Batch) {
        for (row, &env) in batch.env_ids.iter().enumerate() {
            if !batch.autoreset[row] {
                *self.steps.entry(env).or_default() += 1;
            }
            if let Some(episode) = batch.episodes[row] {
                self.episodes.push(Ended { batch: self.batches, env, episode });
            }
        }
        self.batches += 1;
    }

    /// Returns the number of batches.
    pub(super) fn batches(&self) -> u64 {
        self.batches
    }

    /// Returns the number of steps of all environments.
    pub(super) fn steps(&self) -> u64 {
        self.steps.values().sum()
    }

    /// Joins the logs of several processes whose environments stepped together, as if a single process had kept the
    /// log.
    pub(super) fn join(logs: impl Iterator<Item = Self>) -> Self {
        let mut joined = Self::default();
        for log in logs {
            joined.batches = log.batches;
            joined.steps.extend(log.steps);
            joined.episodes.extend(log.episodes);
        }
        joined.episodes.sort_by_key(|ended| (ended.batch, ended.env));
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn batch(episodes: [Option<f64>; 2]) -> Batch {
        batch_of(&[0, 1], &episodes)
    }

    /// Returns a batch of environments, some of whose episodes have ended with these returns.
    fn batch_of(envs: &[usize], episodes: &[Option<f64>]) -> Batch {
        let mut batch = Batch::new(envs.len(), 0, false);
        batch.env_ids = envs.to_vec();
        let ended = |total_reward| EpisodeStats { total_reward, length: 7 };
        batch.episodes = episodes.iter().map(|total| total.map(ended)).collect();
        batch
    }

    fn atari(tasks: &[String]) -> Games {
        Games::resolve(tasks).unwrap()
    }

    #[test]
    fn episodes_of_several_games_are_reported_for_their_game_only() {
        let tasks = ["pong", "qbert"].map(str::to_owned);
        let mut tally = Tally::new(&tasks, &[0, 1], &[], [0, 0].into_iter());
        let mut second = batch([None, Some(5.0)]);
        second.autoreset[0] = true;
        assert_eq!(tally.observe(&batch([None, None])), (2, vec![]));
        let (steps, samples) = tally.observe(&second);
        assert_eq!(steps, 1, "a reset counts as no step");
        let frames = [("pong", 4.0), ("qbert", 8.0)];
        let of_task = |(task, frames)| Sample::of_task(Metric::Frames, task, frames);
        assert_eq!(tally.frames(4), frames.map(of_task));
        let expected = [
            Sample::of_task(Metric::EpisodicReturn, "qbert", 5.0),
            Sample::of_task(Metric::EpisodicLength, "qbert", 7.0),
        ];
        assert_eq!(samples, expected);
        assert_eq!(
            tally.recent_samples(&atari(&tasks)),
            [Sample::of_task(Metric::RecentReturn, "qbert", 5.0)]
        );
    }

    #[test]
    fn the_logs_of_several_processes_join_to_that_of_one() {
        let ends = [[Some(1.0), None, Some(2.0)], [None, Some(3.0), Some(4.0)]];
        let [mut one, mut first, mut second] = [(); 3].map(|()| Log::default());
        for ends in ends {
            one.add(&batch_of(&[0, 1, 2], &ends));
            first.add(&batch_of(&[0], &ends[..1]));
            second.add(&batch_of(&[1, 2], &ends[1..]));
        }
        assert_eq!(Log::join([first, second].into_iter()), one);
    }

    #[test]
    fn the_score_is_human_normalised_once_every_game_has_completed_an_episode() {
        let tasks = ["pong", "qbert"].map(str::to_owned);
        let games = atari(&tasks);
        let mut tally = Tally::new(&tasks, &[0, 1], &[], [0, 0].into_iter());
        let [pong, qbert] = tasks.each_ref().map(|task| ale::game(task).unwrap());
        tally.observe(&batch([pong.human_score, None]));
        assert_eq!(tally.score(&games), None);
        tally.observe(&batch([None, qbert.random_score]));
        // 1 for a human's score in pong, 0 for a random player's in qbert.
        assert_eq!(tally.score(&games), Some(0.5));
        let samples = tally.recent_samples(&games);
        assert!(samples.contains(&Sample::new(Metric::HumanNormalisedMedian, 0.5)), "{samples:?}");
        assert!(samples.contains(&Sample::new(Metric::HumanNormalisedIqm, 0.5)), "{samples:?}");
    }

    #[test]
    fn games_in_other_modes_have_no_part_in_the_score() {
        let text =
            "[environments]\ngames = ['pong', 'qbert', 'breakout']\n[environments.game.breakout]\nmode = 12";
        let games = config::from_toml(text).unwrap().resolve().unwrap().games;
        let tasks: Vec<String> = games.names().into_iter().map(str::to_owned).collect();
        let mut tally = Tally::new(&tasks, &[0, 1, 2], &[], [0; 3].into_iter());
        let mut ended = Batch::new(3, 0, false);
        let human = |name: &str| ale::game(name).unwrap().human_score.unwrap();
        let returns = [human("pong"), human("qbert"), 800.0];
        ended.episodes = returns.map(|total_reward| Some(EpisodeStats { total_reward, length: 7 })).to_vec();
        tally.observe(&ended);
        assert_eq!(tally.score(&games), Some(1.0));
        let samples = tally.recent_samples(&games);
        assert!(samples.contains(&Sample::new(Metric::HumanNormalisedMedian, 1.0)), "{samples:?}");
        assert!(samples.contains(&Sample::of_task(Metric::RecentReturn, "breakout", 800.0)), "{samples:?}");
    }

    #[test]
    fn the_recent_return_averages_100_episodes_and_survives_a_resume() {
        let tasks = ["pong".to_owned()];
        let mut tally = Tally::new(&tasks, &[0, 0], &[], [0].into_iter());
        for total in 1..=150 {
            tally.observe(&batch([Some(f64::from(total)), Some(0.0)]));
        }
        // The mean of 101 to 150, and of 50 zeros.
        let expected = [Sample::new(Metric::RecentReturn, 62.75)];
        assert_eq!(tally.recent_samples(&atari(&tasks)), expected);
        let resumed = Tally::new(&tasks, &[0, 0], &tally.recent_returns(), [300].into_iter());
        assert_eq!(resumed.recent_samples(&atari(&tasks)), expected);
    }
}
