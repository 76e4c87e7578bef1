//! Times environments under random actions.

use std::time::{Duration, Instant};

use ale::AtariOptions;
use anyhow::Result;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, ResetSeeds, Space, VectorEnv};
use vector::{AtariGroup, AtariVectorEnv, PoolOptions};

use crate::environments::GameWithRom;
use crate::statistics::Percentiles;

/// Seed of all random numbers.
pub(super) const SEED: u64 = 1;
/// Steps of each game before a measurement, of four frames each. By then the rates are stable.
pub(super) const WARM_UP_STEPS: usize = 2_000;

/// A vector environment with the standard preprocessing, and a random policy.
pub(super) struct RandomPlay {
    env: AtariVectorEnv,
    /// The number of actions of each environment.
    action_counts: Vec<i32>,
    actions: Vec<i32>,
    random: ChaCha8Rng,
}

/// The speed of environments.
pub(super) struct Pace {
    pub(super) steps_per_second: f64,
    /// The time from sending the actions of a batch to receiving the next batch.
    pub(super) latency_us: Percentiles,
}

impl Pace {
    /// Returns the emulated frames per second.
    pub(super) fn frames_per_second(&self) -> f64 {
        self.steps_per_second * f64::from(AtariOptions::default().frameskip)
    }
}

impl RandomPlay {
    /// Creates the given number of environments of each game and steps them until their hot code is translated.
    pub(super) fn warmed_up(games: &[(GameWithRom, usize)], pool: PoolOptions) -> Result<Self> {
        let groups = games.iter().map(|(GameWithRom { game, rom }, num_envs)| AtariGroup {
            task: game.id.to_owned(),
            game,
            rom: rom.clone(),
            num_envs: *num_envs,
            options: AtariOptions::default(),
        });
        let mut env = AtariVectorEnv::of_groups(groups, pool)?;
        env.reset(ResetSeeds::From(SEED))?;
        let action_counts = env.action_spaces().iter().map(num_actions).collect();
        let mut play =
            Self { env, action_counts, actions: Vec::new(), random: ChaCha8Rng::seed_from_u64(SEED) };
        let fewest_envs = games.iter().map(|&(_, num_envs)| num_envs).min().unwrap_or(1);
        let rounds = WARM_UP_STEPS.div_ceil(fewest_envs);
        for _ in 0..(rounds * play.env.num_envs()).div_ceil(play.env.batch_size()) {
            play.step()?;
        }
        Ok(play)
    }

    /// Steps at least one batch, until `duration` has passed.
    pub(super) fn measure(&mut self, duration: Duration) -> Result<Pace> {
        let (start, mut steps, mut latencies) = (Instant::now(), 0, Vec::new());
        while latencies.is_empty() || start.elapsed() < duration {
            let (taken, latency) = self.step()?;
            steps += taken;
            latencies.push(latency.as_secs_f64() * 1e6);
        }
        let steps_per_second = steps as f64 / start.elapsed().as_secs_f64();
        Ok(Pace { steps_per_second, latency_us: Percentiles::of(latencies) })
    }

    /// Steps one batch. Returns the number of rows that are steps rather than resets, and the time.
    fn step(&mut self) -> Result<(u64, Duration)> {
        let Self { env, action_counts, actions, random } = self;
        actions.clear();
        let env_ids = &env.batch().env_ids;
        actions.extend(env_ids.iter().map(|&id| random.random_range(0..action_counts[id])));
        let start = Instant::now();
        let batch = env.step(Actions::Discrete(actions))?;
        Ok((batch.steps.iter().copied().map(u64::from).sum(), start.elapsed()))
    }
}

/// Returns the number of actions of a discrete space.
fn num_actions(space: &Space) -> i32 {
    if let Space::Discrete { n, .. } = space { *n as i32 } else { 1 }
}

/// Returns the ids of the games.
pub(super) fn ids(games: &[GameWithRom]) -> Vec<&'static str> {
    games.iter().map(|with_rom| with_rom.game.id).collect()
}
