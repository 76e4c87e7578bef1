use std::sync::Arc;

use ale::{AleError, AtariEnv, AtariOptions, Game, PoweredGame};

use crate::{BuildError, PoolOptions, PoolVectorEnv};

/// Many Atari environments, of one game or of several.
///
/// Of one game it equals ale-py 0.12.1's `AtariVectorEnv` bit for bit, with two differences where ale-py's behaviour is
/// of no use: an invalid action is an error instead of a hang, and rows of
/// [`final_observations`](rl_env::Batch::final_observations) in which no episode ended hold the current observation
/// instead of uninitialised memory.
pub type AtariVectorEnv = PoolVectorEnv<AtariEnv>;

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
        let mut envs = Vec::new();
        for (game, rom) in games {
            let first_seed = envs.len() as u64;
            let copies = copies(game, rom, num_envs, options, first_seed);
            envs.extend(copies.map_err(|source| BuildError::Atari { game: game.id, source })?);
        }
        Self::new(envs, pool)
    }
}

/// Environments of one game. All but the first are made from the first, which saves loading and computing tables.
fn copies(
    game: &'static Game,
    rom: Arc<[u8]>,
    count: usize,
    options: &AtariOptions,
    first_seed: u64,
) -> Result<impl Iterator<Item = (String, AtariEnv)>, AleError> {
    let powered = PoweredGame::new(game, rom)?;
    let first = AtariEnv::new(&powered, options.clone(), first_seed)?;
    let seeds = first_seed..first_seed + count as u64;
    Ok(seeds.map(move |seed| (game.id.to_owned(), first.with_seed(seed))))
}
