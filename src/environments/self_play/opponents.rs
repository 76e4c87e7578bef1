//! The opponents of the agent.

use std::ops::Range;

use algorithms::networks::TrainedNetwork;
use anyhow::{Result, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use super::versions::{Networks, Versions};
use crate::config::SelfPlaySettings;
use crate::learner::Learner;
use crate::statistics::mean;
use crate::telemetry::{Metric, Sample};

/// The stream of random numbers of opponents.
const STREAM: u64 = 1;

/// Plays the sides that the agent does not play: earlier versions of the agent if it is in training, otherwise a random
/// player.
pub(crate) struct Opponents {
    games: Vec<OpposedGame>,
    tasks: Vec<String>,
    training: Option<Training>,
    state: State,
}

/// A game with opponents.
pub(super) struct OpposedGame {
    /// The index among all games.
    pub(super) index: usize,
    pub(super) task: usize,
    /// The rows of the opponents' sides in their batch.
    pub(super) rows: Range<usize>,
    pub(super) num_actions: usize,
}

/// The settings of opponents in training, and their networks.
pub(super) struct Training {
    pub(super) settings: SelfPlaySettings,
    pub(super) networks: Networks,
}

/// The part that checkpoints contain.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    versions: Versions,
    /// The version that plays each game with opponents; random players have none.
    playing: Vec<Option<usize>>,
    rng: ChaCha8Rng,
}

impl Opponents {
    /// Creates random players.
    pub(super) fn new(games: Vec<OpposedGame>, tasks: &[String]) -> Self {
        let (versions, rng) = (Versions::new(tasks.len()), ChaCha8Rng::seed_from_u64(0));
        let state = State { versions, playing: vec![None; games.len()], rng };
        Self { games, tasks: tasks.to_vec(), training: None, state }
    }

    /// Lets earlier versions of the agent play, once there are any.
    pub(super) fn train(&mut self, training: Training) {
        self.training = Some(training);
    }

    /// Random numbers follow from `seed` from now on. They differ from those of an agent with the same seed.
    pub(super) fn seed(&mut self, seed: u64) {
        self.state.rng = ChaCha8Rng::seed_from_u64(seed);
        self.state.rng.set_stream(STREAM);
    }

    /// Draws the opponents of all games.
    pub(super) fn begin_games(&mut self) {
        (0..self.games.len()).for_each(|game| self.draw_version(game));
    }

    /// Returns an action for each row of the opponents' batch.
    pub(super) fn act(&mut self, batch: &Batch) -> Result<Vec<i32>> {
        let State { versions, playing, rng } = &mut self.state;
        let mut actions = Vec::new();
        for game in &self.games {
            actions.extend(game.rows.clone().map(|_| rng.random_range(0..game.num_actions as i32)));
        }
        for version in 0..versions.len() {
            let games =
                self.games.iter().zip(playing.iter()).filter(|(_, playing)| **playing == Some(version));
            let rows: Vec<usize> = games.flat_map(|(game, _)| game.rows.clone()).collect();
            if rows.is_empty() {
                continue;
            }
            let chosen = versions.act(version, &some_rows(batch, &rows), rng.random())?;
            for (row, action) in rows.into_iter().zip(chosen) {
                actions[row] = action;
            }
        }
        Ok(actions)
    }

    /// Returns the index of a game among those with opponents, if it is one.
    pub(super) fn opposed(&self, game: usize) -> Option<usize> {
        self.games.iter().position(|opposed| opposed.index == game)
    }

    /// Counts the end of a game with opponents, with the agent's `result`: 1 for a win, 0.5 for a draw, 0 for a loss.
    /// Draws the version that plays the next one.
    pub(super) fn end_game(&mut self, opposed: usize, result: f64) {
        if let Some(version) = self.state.playing[opposed] {
            self.state.versions.count(self.games[opposed].task, version, result);
        }
        self.draw_version(opposed);
    }

    fn draw_version(&mut self, opposed: usize) {
        let versions = self.state.versions.len();
        self.state.playing[opposed] = (versions > 0).then(|| self.state.rng.random_range(0..versions));
    }

    /// Makes the agent one of the opponents if that is due after `frames` frames.
    pub(crate) fn update(&mut self, frames: u64, learner: &dyn Learner) -> Result<()> {
        let Some(Training { settings, networks }) = &self.training else { return Ok(()) };
        let versions = &mut self.state.versions;
        if self.games.is_empty() || !versions.is_due(frames, settings.interval_frames) {
            return Ok(());
        }
        let network =
            TrainedNetwork { description: learner.description(), weights: learner.torch_weights()? };
        let removed = versions.add(frames, network, settings.versions, networks)?;
        for game in 0..self.games.len() {
            match (self.state.playing[game], removed) {
                (Some(version), Some(removed)) if version > removed => {
                    self.state.playing[game] = Some(version - 1);
                }
                (Some(version), Some(removed)) if version == removed => self.draw_version(game),
                (Some(_), _) => {}
                (None, _) => self.draw_version(game),
            }
        }
        Ok(())
    }

    /// Returns the agent's rating and its win rate against its earlier versions: those of each task, and the means of
    /// several tasks that all have them.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        let standings = &self.state.versions.standings;
        let rated: Vec<(f64, f64)> =
            standings.iter().filter_map(|standing| Some((standing.rating, standing.win_rate()?))).collect();
        if rated.len() == standings.len() {
            let (ratings, win_rates): (Vec<f64>, Vec<f64>) = rated.into_iter().unzip();
            samples.push(Sample::new(Metric::Elo, mean(ratings)));
            samples.push(Sample::new(Metric::WinRate, mean(win_rates)));
        }
        let several = self.tasks.iter().zip(standings).filter(|_| standings.len() > 1);
        for (task, standing) in several {
            let Some(win_rate) = standing.win_rate() else { continue };
            samples.push(Sample::of_task(Metric::Elo, task, standing.rating));
            samples.push(Sample::of_task(Metric::WinRate, task, win_rate));
        }
        samples
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the state of a checkpoint, ready to [continue](Self::continue_from).
    pub(super) fn restored(&self, mut state: State) -> Result<State> {
        ensure!(state.playing.len() == self.games.len(), "it has another number of opponents");
        if let Some(Training { networks, .. }) = &self.training {
            state.versions.restore(networks)?;
        }
        Ok(state)
    }

    /// Continues from a [restored](Self::restored) state.
    pub(super) fn continue_from(&mut self, state: State) {
        self.state = state;
    }
}

/// Returns the observations of some rows, as a batch of the environments with these numbers.
fn some_rows(batch: &Batch, rows: &[usize]) -> Batch {
    let mut some = Batch::new(rows.len(), batch.observations.row_bytes(), false);
    some.env_ids = rows.to_vec();
    for (index, &row) in rows.iter().enumerate() {
        some.observations.row_mut(index).copy_from_slice(batch.observations.row(row));
    }
    some
}
