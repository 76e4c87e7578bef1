//! The environments of an experiment, built from its games and settings.

mod padded;

use std::sync::Arc;

use ale::{ACTIONS, AtariEnv, AtariOptions, Game, PoweredGame};
use algorithms::{EnvSpec, Task};
use anyhow::{Context, Result};
use rl_env::{AutoresetMode, VectorEnv};
use vector::{AtariVectorEnv, PoolOptions, PoolVectorEnv};

use crate::cli::Global;
use crate::config::{Experiment, Games, RawEnvironments};
use crate::roms;
use crate::selection;

use padded::{Padded, floats};

/// What environments are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// As configured.
    Training,
    /// So many environments of each game, and whole games: the loss of a life ends nothing.
    Evaluation {
        /// Environments of each game.
        num_envs: usize,
    },
}

/// A game with its ROM.
pub(crate) type WithRom = (&'static Game, Arc<[u8]>);

/// The games with their ROMs. A missing one is fetched, unless `--offline` forbids it.
pub(crate) fn with_roms(games: &[&'static Game], global: &Global) -> Result<Vec<WithRom>> {
    let (store, pip) = (roms::store(global)?, roms::pip(global));
    games.iter().map(|&game| Ok((game, store.obtain(game.id, pip.as_ref())?))).collect()
}

/// Builds the environments of an experiment. Holds the games' images, so that building cannot fail for want of one.
pub(crate) struct Builder {
    tasks: Tasks,
    settings: RawEnvironments,
    num_threads: usize,
}

enum Tasks {
    Atari(Vec<WithRom>),
    /// Ids of the registry.
    Registered(Vec<&'static str>),
}

impl Builder {
    /// Gets hold of every image that the experiment needs; a missing one is fetched, unless `--offline` forbids it.
    pub(crate) fn new(experiment: &Experiment, global: &Global) -> Result<Self> {
        let tasks = match &experiment.games {
            Games::Atari(games) => Tasks::Atari(with_roms(games, global)?),
            Games::Registered(ids) => Tasks::Registered(ids.clone()),
        };
        Ok(Self { tasks, settings: experiment.environments.clone(), num_threads: experiment.num_threads })
    }

    /// The games with their images; none where the tasks are no games.
    pub(crate) fn roms(&self) -> impl Iterator<Item = &WithRom> {
        let roms = match &self.tasks {
            Tasks::Atari(games) => games.as_slice(),
            Tasks::Registered(_) => &[],
        };
        roms.iter()
    }

    /// The environments, game after game.
    ///
    /// Their autoreset mode is `SameStep`: every row is a step then, and a budget of frames is met exactly.
    pub(crate) fn build(&self, purpose: Purpose) -> Result<Box<dyn VectorEnv>> {
        let num_envs = match purpose {
            Purpose::Training => self.settings.num_envs,
            Purpose::Evaluation { num_envs } => num_envs,
        };
        let pool = PoolOptions {
            num_threads: self.num_threads,
            autoreset_mode: AutoresetMode::SameStep,
            ..PoolOptions::default()
        };
        match &self.tasks {
            Tasks::Atari(games) => {
                let options = self.options(purpose);
                Ok(Box::new(AtariVectorEnv::of_games(games.iter().cloned(), num_envs, &options, pool)?))
            }
            Tasks::Registered(ids) => Ok(Box::new(PoolVectorEnv::new(registered(ids, num_envs)?, pool)?)),
        }
    }

    /// What a learner has to know about environments that were built here: that of [`EnvSpec::of`], and which of the
    /// console's actions a game's own are.
    pub(crate) fn spec(&self, environments: &dyn VectorEnv) -> Result<EnvSpec> {
        let spec = EnvSpec::of(environments)?;
        let Tasks::Atari(games) = &self.tasks else { return Ok(spec) };
        let full = self.settings.full_action_space;
        let actions = |task: &Task| {
            let (game, _) = games.iter().find(|(game, _)| game.id == task.name)?;
            let actions = if full { game.legal_actions } else { game.minimal_actions };
            Some(actions.iter().map(|&action| usize::from(action)).collect())
        };
        Ok(spec.with_shared_actions(usize::from(ACTIONS), actions)?)
    }

    /// A single environment of the first game, which shows its screen. Whole games.
    pub(crate) fn atari_env(&self, seed: u64) -> Result<AtariEnv> {
        let (game, rom) = self.roms().next().context("there is no game among the tasks")?;
        let options = self.options(Purpose::Evaluation { num_envs: 1 });
        Ok(AtariEnv::new(&PoweredGame::new(game, Arc::clone(rom))?, options, seed)?)
    }

    fn options(&self, purpose: Purpose) -> AtariOptions {
        let settings = &self.settings;
        AtariOptions {
            img_height: settings.img_height,
            img_width: settings.img_width,
            stack_num: settings.stack_num,
            frameskip: settings.frame_skip,
            maxpool: settings.maxpool,
            noop_max: settings.noop_max,
            // Learners see the return end with a life while the game goes on, as with `CleanRL`'s wrapper. The option
            // of ale-py's vector environment that is called `episodic_life` starts the whole game anew, so that later
            // lives would never be seen.
            life_loss_info: settings.episodic_life && purpose == Purpose::Training,
            reward_clipping: settings.reward_clipping,
            use_fire_reset: settings.use_fire_reset,
            max_num_frames_per_episode: settings.max_num_frames_per_episode,
            repeat_action_probability: settings.repeat_action_probability,
            full_action_space: settings.full_action_space,
            ..AtariOptions::default()
        }
    }
}

/// `num_envs` environments of each id, with observations of one length.
fn registered(ids: &[&str], num_envs: usize) -> Result<Vec<(String, Padded)>> {
    let copies = ids.iter().flat_map(|&id| std::iter::repeat_n(id, num_envs));
    let envs = copies.map(|id| Ok((id, selection::registry().make(id)?))).collect::<Result<Vec<_>>>()?;
    let length = envs.iter().filter_map(|(_, env)| floats(env)).max().unwrap_or(0);
    let pad = |(id, env)| {
        let padded = Padded::new(env, length);
        Ok((
            str::to_owned(id),
            padded.with_context(|| format!("{id} has no observations that a network reads"))?,
        ))
    };
    envs.into_iter().map(pad).collect()
}
