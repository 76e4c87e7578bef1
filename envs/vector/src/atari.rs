use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use ale::{AleError, AtariEnv, AtariOptions, Game, PoweredGame, RgbImage};
use rl_env::{VectorError, interrupt};

use crate::memory;
use crate::options::check_num_envs;
use crate::pool_vector_env::{row_memory, rows_of_ring};
use crate::{BuildError, PoolOptions, PoolVectorEnv};

/// Vector environment of one or several Atari games.
///
/// With one game it equals ale-py 0.12.1's `AtariVectorEnv` bit for bit, with two exceptions. An invalid action is an
/// error instead of a hang. Rows of [`final_observations`](rl_env::Batch::final_observations) in which no episode ended
/// hold the current observation instead of uninitialized memory.
///
/// ```
/// use ale::{AtariOptions, game, roms};
/// use rl_env::{Actions, ResetSeeds, VectorEnv};
/// use vector::{AtariVectorEnv, PoolOptions};
///
/// let rom = roms::built_in("harvest").ok_or("the open game is built in")?;
/// let games = [(game("harvest")?, rom.into())];
/// let mut envs = AtariVectorEnv::of_games(games, 2, &AtariOptions::default(), PoolOptions::default())?;
/// envs.reset(ResetSeeds::From(42))?;
/// let batch = envs.step(Actions::Discrete(&[0, 1]))?;
/// assert_eq!(batch.observations.row(0).len(), 4 * 84 * 84);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type AtariVectorEnv = PoolVectorEnv<AtariEnv>;

/// Environments of one game that share their options.
#[derive(Clone, Debug)]
pub struct AtariGroup {
    /// The name of the task, usually the id of the game.
    pub task: String,
    /// The game.
    pub game: &'static Game,
    /// The ROM of the game.
    pub rom: Arc<[u8]>,
    /// The number of environments.
    pub num_envs: usize,
    /// The options of the environments.
    pub options: AtariOptions,
}

impl AtariVectorEnv {
    /// Creates `num_envs` environments of each game, which is given with its ROM. Environments of one game are
    /// adjacent, in the order of the games; the id of the game is the name of the task.
    ///
    /// Environment `i` has seed `i` until it is reset with another. Games may have different numbers of actions, unless
    /// the options ask for the full action space.
    pub fn of_games(
        games: impl IntoIterator<Item = (&'static Game, Arc<[u8]>)>,
        num_envs: usize,
        options: &AtariOptions,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let group = |(game, rom): (&'static Game, _)| AtariGroup {
            task: game.id.to_owned(),
            game,
            rom,
            num_envs,
            options: options.clone(),
        };
        Self::of_groups(games.into_iter().map(group), pool)
    }

    /// Creates the environments of all groups in order, otherwise as [`of_games`](Self::of_games). A group of one gives
    /// an environment individual options, such as its mode and difficulty. All observations must have the same shape.
    /// As in ale-py, there are never more threads than cores.
    pub fn of_groups(
        groups: impl IntoIterator<Item = AtariGroup>,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let groups: Vec<AtariGroup> = groups.into_iter().collect();
        check_size(&groups, 1, &pool)?;
        Self::new(envs_of_groups(groups, AtariEnv::new, AtariEnv::with_seed)?, without_idle_threads(pool))
    }

    /// Returns the screen of an environment that is not in flight.
    pub fn render(&self, env: usize) -> Result<RgbImage, VectorError> {
        self.with_env(env, AtariEnv::render)
    }
}

/// Creates the environments of all groups in order. Environment `i` has seed `i`.
pub(crate) fn envs_of_groups<E>(
    groups: Vec<AtariGroup>,
    new: impl Fn(&PoweredGame, AtariOptions, u64) -> Result<E, AleError>,
    with_seed: impl Fn(&E, u64) -> E,
) -> Result<Vec<(String, E)>, BuildError> {
    let mut envs = Vec::new();
    let mut powered = PoweredGames::default();
    for AtariGroup { task, game, rom, num_envs, options } in groups {
        let failed = |source| BuildError::Atari { game: game.id, source };
        let first_seed = envs.len() as u64;
        // Copies of the first environment share its tables.
        let powered = powered.find_or_power(game, &rom).map_err(failed)?;
        let first = new(powered, options, first_seed).map_err(failed)?;
        for seed in first_seed..first_seed + num_envs as u64 {
            if interrupt::poll() {
                return Err(BuildError::Interrupted);
            }
            envs.push((task.clone(), with_seed(&first, seed)));
        }
    }
    Ok(envs)
}

/// Returns the options with at most one thread for each core, as in ale-py.
pub(crate) fn without_idle_threads(pool: PoolOptions) -> PoolOptions {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    PoolOptions { num_threads: pool.num_threads.min(cores), ..pool }
}

/// Returns an error if there are too many environments, or no memory for them and their batches, which have a row for
/// each player.
pub(crate) fn check_size(
    groups: &[AtariGroup],
    players: usize,
    pool: &PoolOptions,
) -> Result<(), BuildError> {
    let mut parts = Vec::new();
    for AtariGroup { game, num_envs, options, .. } in groups {
        check_num_envs(*num_envs)?;
        let memory = AtariEnv::memory(game, players, options);
        parts.push((*num_envs, memory.map_err(|source| BuildError::Atari { game: game.id, source })?));
    }
    let num_envs: usize = groups.iter().map(|group| group.num_envs).sum();
    if let Some((group, num_envs)) = groups.first().zip(NonZeroUsize::new(num_envs)) {
        let row = row_memory(&group.options.observation_space(), pool.autoreset_mode);
        let rows = rows_of_ring(num_envs.get(), pool.batch_size_for(num_envs)?);
        parts.push((rows.saturating_mul(players), row));
    }
    memory::check_available(parts)
}

/// Games that have been powered on, which takes a few hundred frames, and their ROMs.
#[derive(Default)]
struct PoweredGames(Vec<(Arc<[u8]>, PoweredGame)>);

impl PoweredGames {
    fn find_or_power(&mut self, game: &'static Game, rom: &Arc<[u8]>) -> Result<&PoweredGame, AleError> {
        let index = self.0.iter().position(|(image, powered)| powered.game().id == game.id && image == rom);
        if index.is_none() {
            self.0.push((Arc::clone(rom), PoweredGame::new(game, Arc::clone(rom))?));
        }
        Ok(&self.0[index.unwrap_or(self.0.len() - 1)].1)
    }
}
