use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use ale::{AleError, AtariEnv, AtariOptions, Game, PoweredGame, RgbImage};
use rl_env::VectorError;

use crate::{BuildError, PoolOptions, PoolVectorEnv};

/// Many Atari environments, of one game or of several.
///
/// Of one game it equals ale-py 0.12.1's `AtariVectorEnv` bit for bit, with two differences where ale-py's behaviour is
/// of no use: an invalid action is an error instead of a hang, and rows of
/// [`final_observations`](rl_env::Batch::final_observations) in which no episode ended hold the current observation
/// instead of uninitialised memory.
pub type AtariVectorEnv = PoolVectorEnv<AtariEnv>;

/// Environments of one game with the same options.
#[derive(Clone, Debug)]
pub struct AtariGroup {
    /// The game.
    pub game: &'static Game,
    /// Its ROM.
    pub rom: Arc<[u8]>,
    /// Number of environments.
    pub num_envs: usize,
    /// How they are played.
    pub options: AtariOptions,
}

impl AtariVectorEnv {
    /// `num_envs` environments for each of the games, each given with its ROM. Environments of one game stand
    /// together, in the order of the games; the game's id is the name of the task.
    ///
    /// Environment `i` starts from seed `i`, until a reset gives another. Action counts may differ between games,
    /// unless the options ask for the full action space.
    pub fn of_games(
        games: impl IntoIterator<Item = (&'static Game, Arc<[u8]>)>,
        num_envs: usize,
        options: &AtariOptions,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let group = |(game, rom)| AtariGroup { game, rom, num_envs, options: options.clone() };
        Self::of_groups(games.into_iter().map(group), pool)
    }

    /// The environments of these groups, one group after another; otherwise as [`of_games`](Self::of_games). A group of
    /// one has options of its own, as its mode and difficulty; observations must have one shape. There are never more
    /// threads than cores, as in ale-py.
    pub fn of_groups(
        groups: impl IntoIterator<Item = AtariGroup>,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let mut envs = Vec::new();
        let mut powered = PoweredGames::default();
        for AtariGroup { game, rom, num_envs, options } in groups {
            let failed = |source| BuildError::Atari { game: game.id, source };
            let first_seed = envs.len() as u64;
            // All but the first are made from the first, which saves computing tables.
            let powered = powered.find_or_power(game, &rom).map_err(failed)?;
            let first = AtariEnv::new(powered, options, first_seed).map_err(failed)?;
            let seeds = first_seed..first_seed + num_envs as u64;
            envs.extend(seeds.map(|seed| (game.id.to_owned(), first.with_seed(seed))));
        }
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::new(envs, PoolOptions { num_threads: pool.num_threads.min(cores), ..pool })
    }

    /// The picture on the screen of an environment that is not under way.
    pub fn render(&self, env: usize) -> Result<RgbImage, VectorError> {
        self.with_env(env, AtariEnv::render)
    }
}

/// Games that have been switched on, which takes a few hundred frames, each with the image it was given.
#[derive(Default)]
struct PoweredGames(Vec<(Arc<[u8]>, PoweredGame)>);

impl PoweredGames {
    fn find_or_power(&mut self, game: &'static Game, rom: &Arc<[u8]>) -> Result<&PoweredGame, AleError> {
        let is_same =
            |(image, powered): &(Arc<[u8]>, PoweredGame)| powered.game().id == game.id && image == rom;
        let index = self.0.iter().position(is_same);
        if index.is_none() {
            self.0.push((Arc::clone(rom), PoweredGame::new(game, Arc::clone(rom))?));
        }
        Ok(&self.0[index.unwrap_or(self.0.len() - 1)].1)
    }
}
