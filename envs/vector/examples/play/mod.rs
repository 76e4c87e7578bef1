//! Workloads of random play, shared by the examples.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ale::{Action, Ale, AleSettings, AtariOptions, PoweredGame, game, roms};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_env::{Actions, ResetSeeds, Space, VectorEnv};
use vcs::{ConsoleOptions, Execution};
use vector::{AtariVectorEnv, PoolOptions};

/// The number of frames of each game before the measurement. Hot code is translated by then.
const WARM_UP_FRAMES: usize = 12_000;

/// A repeatable workload.
pub(crate) trait Work {
    /// Does some of the work and returns the amount, in the unit of the rate.
    fn run_once(&mut self) -> Result<f64, Box<dyn Error>>;

    /// Returns the amount of work per second, measured for at least `limit`.
    fn rate(&mut self, limit: Duration) -> Result<f64, Box<dyn Error>> {
        let (start, mut done) = (Instant::now(), 0.0);
        while start.elapsed() < limit {
            done += self.run_once()?;
        }
        Ok(done / start.elapsed().as_secs_f64())
    }
}

/// `act` in a loop on one thread, with a random minimal action for every frame. Counts frames.
pub(crate) struct Emulator {
    ale: Ale,
    actions: Vec<Action>,
    random: ChaCha8Rng,
}

impl Emulator {
    /// Creates and warms up a game.
    pub(crate) fn new(id: &str, execution: Execution) -> Result<Self, Box<dyn Error>> {
        let game = game(id)?;
        let options = ConsoleOptions { execution, ..game.console_options() };
        let powered = PoweredGame::with_options(game, rom(id)?, &options)?;
        let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
        let actions = powered.game().minimal_actions.iter().filter_map(|&code| Action::new(code)).collect();
        let ale = Ale::new(&powered, settings, 1)?;
        let mut emulator = Self { ale, actions, random: ChaCha8Rng::seed_from_u64(1) };
        emulator.play(WARM_UP_FRAMES);
        Ok(emulator)
    }

    fn play(&mut self, frames: usize) {
        for _ in 0..frames {
            let index = self.random.random_range(0..self.actions.len());
            self.ale.act(self.actions[index], 1.0);
            if self.ale.game_over() {
                self.ale.reset_game();
            }
        }
    }
}

impl Work for Emulator {
    fn run_once(&mut self) -> Result<f64, Box<dyn Error>> {
        const FRAMES: usize = 100;
        self.play(FRAMES);
        Ok(FRAMES as f64)
    }
}

/// A vector environment with the standard preprocessing (frame skip 4, 84x84 grayscale, max-pooling, stack of 4) and a
/// random minimal action for every step. Counts emulated frames.
pub(crate) struct Batches {
    env: AtariVectorEnv,
    /// The number of actions of each environment.
    action_counts: Vec<i32>,
    actions: Vec<i32>,
    random: ChaCha8Rng,
}

impl Batches {
    /// Creates and warms up `num_envs` environments of each game.
    pub(crate) fn new(games: &[&str], num_envs: usize, pool: PoolOptions) -> Result<Self, Box<dyn Error>> {
        let mut env = vector_env(games, num_envs, pool)?;
        env.reset(ResetSeeds::From(1))?;
        let action_counts = env.action_spaces().iter().map(count).collect();
        let random = ChaCha8Rng::seed_from_u64(1);
        let mut batches = Self { env, action_counts, actions: Vec::new(), random };
        let mut frames = 0.0;
        while frames < (WARM_UP_FRAMES * games.len()) as f64 {
            frames += batches.run_once()?;
        }
        Ok(batches)
    }
}

impl Work for Batches {
    fn run_once(&mut self) -> Result<f64, Box<dyn Error>> {
        let Self { env, action_counts, actions, random } = self;
        actions.clear();
        let env_ids = &env.batch().env_ids;
        actions.extend(env_ids.iter().map(|&id| random.random_range(0..action_counts[id])));
        let steps = env.step(Actions::Discrete(actions))?.len();
        Ok((steps * AtariOptions::default().frameskip as usize) as f64)
    }
}

/// Creates `num_envs` environments of each game.
pub(crate) fn vector_env(
    games: &[&str],
    num_envs: usize,
    pool: PoolOptions,
) -> Result<AtariVectorEnv, Box<dyn Error>> {
    let games =
        games.iter().map(|id| Ok((game(id)?, rom(id)?))).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    Ok(AtariVectorEnv::of_games(games, num_envs, &AtariOptions::default(), pool)?)
}

fn rom(id: &str) -> Result<Arc<[u8]>, Box<dyn Error>> {
    Ok(roms::for_tests(id).ok_or("the ROM is missing")?)
}

fn count(space: &Space) -> i32 {
    if let Space::Discrete { n, .. } = space { *n as i32 } else { 1 }
}
