//! Games of several players on the pool. Each player is a row of the batch.

mod rows;
mod shared_env;

use ale::{AtariInfo, AtariPlayersEnv, RgbImage};
use rl_env::{
    Actions, AutoresetMode, Batch, EnvError, ObservationBuffer, ResetSeeds, Space, VectorEnv, VectorError,
};

use crate::atari::{check_size, envs_of_groups, without_idle_threads};
use crate::spaces::action_masks;
use crate::{AtariGroup, BuildError, PoolOptions, PoolVectorEnv};
use shared_env::SharedEnv;

/// Vector environment of Atari games of several players.
///
/// Each player is a row, so that learners need not know that players share a game: as a [`VectorEnv`], it has an
/// environment for each player. Environment `players * i + p` is player `p` of the *shared environment* `i`, a copy of
/// the game. The players of a shared environment step together. They are adjacent in every batch, and their actions
/// must be sent together.
///
/// [`AtariPlayersEnv`] defines rewards and ends. With one player, results are those of
/// [`AtariVectorEnv`](crate::AtariVectorEnv).
///
/// ```no_run
/// use ale::{AtariOptions, game};
/// use rl_env::{Actions, ResetSeeds, VectorEnv};
/// use vector::{AtariGroup, AtariPlayersVectorEnv, PoolOptions};
///
/// let (game, rom) = (game("pong")?, std::fs::read("pong.bin")?.into());
/// let group =
///     AtariGroup { task: "pong".to_owned(), game, rom, num_envs: 8, options: AtariOptions::default() };
/// let mut envs = AtariPlayersVectorEnv::of_groups([group], 2, PoolOptions::default())?;
/// envs.reset(ResetSeeds::From(42))?;
/// let batch = envs.step(Actions::Discrete(&[0; 16]))?;
/// assert_eq!(batch.rewards[0], -batch.rewards[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AtariPlayersVectorEnv {
    shared: PoolVectorEnv<SharedEnv>,
    players: usize,
    observation_space: Space,
    action_spaces: Vec<Space>,
    action_masks: Vec<bool>,
    task_ids: Vec<usize>,
    batch: Batch,
    infos: Vec<AtariInfo>,
    final_infos: Vec<AtariInfo>,
}

impl AtariPlayersVectorEnv {
    /// Creates the shared environments of all groups in order, otherwise as
    /// [`AtariVectorEnv::of_groups`](crate::AtariVectorEnv::of_groups). The modes of the options are those for this
    /// number of players, and the batch size, which counts rows, must be a multiple of it.
    ///
    /// A game without this number of players, or without a mode for it, is [`BuildError::Atari`].
    pub fn of_groups(
        groups: impl IntoIterator<Item = AtariGroup>,
        players: usize,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let groups: Vec<AtariGroup> = groups.into_iter().collect();
        let batch_size = pool.batch_size.checked_div(players).unwrap_or(0);
        let pool_of_shared = PoolOptions { batch_size, ..pool };
        check_size(&groups, players, &pool_of_shared)?;
        if !pool.batch_size.is_multiple_of(players) {
            return Err(BuildError::DividedPlayers { batch_size: pool.batch_size, players });
        }
        let envs = envs_of_groups(
            groups,
            |powered, options, seed| AtariPlayersEnv::new(powered, players, options, seed),
            AtariPlayersEnv::with_seed,
        )?;
        Self::of_envs(envs, players, without_idle_threads(pool_of_shared))
    }

    /// Creates a vector environment of these environments. `pool` counts them instead of rows.
    fn of_envs(
        envs: Vec<(String, AtariPlayersEnv)>,
        players: usize,
        pool: PoolOptions,
    ) -> Result<Self, BuildError> {
        let observation_space = envs.first().ok_or(BuildError::NoEnvironments)?.1.observation_space().clone();
        let of_player = |(_, env): &(String, AtariPlayersEnv)| vec![env.action_space().clone(); players];
        let action_spaces: Vec<Space> = envs.iter().flat_map(of_player).collect();
        let envs = envs.into_iter().map(|(task, env)| (task, SharedEnv::new(env))).collect();
        let shared = PoolVectorEnv::new(envs, pool)?;
        let rows = shared.batch_size() * players;
        let has_final = shared.autoreset_mode() == AutoresetMode::SameStep;
        Ok(Self {
            batch: Batch::new(rows, observation_space.byte_len(), has_final),
            infos: vec![AtariInfo::default(); rows],
            final_infos: vec![AtariInfo::default(); rows],
            task_ids: shared.task_ids().iter().flat_map(|&task| vec![task; players]).collect(),
            action_masks: action_masks(&action_spaces),
            action_spaces,
            observation_space,
            players,
            shared,
        })
    }

    /// Returns the number of players of each shared environment.
    pub fn players(&self) -> usize {
        self.players
    }

    /// Returns the number of shared environments.
    pub fn num_shared(&self) -> usize {
        self.shared.num_envs()
    }

    /// Returns the shared environment and the player of an environment's index, such as one of
    /// [`Batch::env_ids`].
    pub fn shared_and_player(&self, env: usize) -> (usize, usize) {
        (env / self.players, env % self.players)
    }

    /// Returns the number of threads that step environments.
    pub fn num_threads(&self) -> usize {
        self.shared.num_threads()
    }

    /// Returns the info of each row of the last batch.
    pub fn infos(&self) -> &[AtariInfo] {
        &self.infos
    }

    /// Returns the info of each row before [`AutoresetMode::SameStep`] reset the environment, as
    /// [`PoolVectorEnv::final_infos`] does.
    pub fn final_infos(&self) -> &[AtariInfo] {
        &self.final_infos
    }

    /// Returns true for each shared environment in flight: it has been sent to, and its result has not been received.
    pub fn in_flight(&self) -> &[bool] {
        self.shared.in_flight()
    }

    /// Returns the action mask of a player's environment, as [`PoolVectorEnv::action_mask`] does.
    pub fn action_mask(&self, env: usize) -> Result<&[bool], VectorError> {
        let num_envs = self.num_envs();
        let width = self.action_masks.len() / num_envs;
        let mask = self.action_masks.get(env.saturating_mul(width)..).and_then(|masks| masks.get(..width));
        mask.ok_or(VectorError::UnknownEnv { env, num_envs })
    }

    /// Calls `look` with a shared environment that is not in flight.
    pub fn with_shared<R>(
        &self,
        shared: usize,
        look: impl FnOnce(&AtariPlayersEnv) -> R,
    ) -> Result<R, VectorError> {
        self.shared.with_env(shared, |env| look(&env.env))
    }

    /// Returns the screen of a shared environment that is not in flight.
    pub fn render(&self, shared: usize) -> Result<RgbImage, VectorError> {
        self.with_shared(shared, AtariPlayersEnv::render)
    }

    /// Sends one action to each of these players without waiting, as [`PoolVectorEnv::send_to`] does. `envs` has all
    /// players of a shared environment, in any order, or none of them.
    pub fn send_to(&mut self, actions: Actions<'_>, envs: &[usize]) -> Result<(), VectorError> {
        let (actions, shared) = self.by_shared(actions, envs)?;
        self.shared.send_to(Actions::Discrete(&actions), &shared)
    }

    /// Limits a shared environment to `steps` more steps, as [`PoolVectorEnv::limit_steps`] does.
    pub fn limit_steps(&mut self, shared: usize, steps: Option<u64>) -> Result<(), VectorError> {
        self.shared.limit_steps(shared, steps)
    }

    /// Resets these shared environments without waiting, as [`PoolVectorEnv::send_reset`] does.
    pub fn send_reset(&mut self, shared: &[usize], seeds: ResetSeeds<'_>) -> Result<(), VectorError> {
        self.shared.send_reset(shared, seeds)
    }

    /// Makes the shared environments that are not in flight report their state again, as
    /// [`PoolVectorEnv::send_report`] does.
    pub fn send_report(&mut self) -> Result<(), VectorError> {
        self.shared.send_report()
    }

    /// Resets the shared environments whose entry in `mask` is true, as [`PoolVectorEnv::reset_masked`] does.
    pub fn reset_masked(&mut self, mask: &[bool], seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        self.shared.reset_masked(mask, seeds)?;
        self.fill_batch()
    }

    /// Moves the observations out of the last batch, as [`PoolVectorEnv::take_observations`] does.
    pub fn take_observations(&mut self, spare: ObservationBuffer) -> Result<ObservationBuffer, VectorError> {
        let observations = &mut self.batch.observations;
        VectorError::check_len("rows of the spare buffer", spare.rows(), observations.rows())?;
        let (found, expected) = (spare.row_bytes(), observations.row_bytes());
        VectorError::check_len("bytes in a row of the spare buffer", found, expected)?;
        Ok(std::mem::replace(observations, spare))
    }

    /// Returns the actions of players in the order of the shared environments, and these.
    fn by_shared(&self, actions: Actions<'_>, envs: &[usize]) -> Result<(Vec<i32>, Vec<usize>), VectorError> {
        let num_envs = self.num_envs();
        VectorError::check_len("action values", actions.num_elements(), envs.len())?;
        let Actions::Discrete(actions) = actions else {
            let space = self.action_spaces[0].to_string();
            let error = EnvError::InvalidAction { action: "of floats".to_owned(), space };
            return Err(VectorError::Env { env: 0, error });
        };
        let mut given = vec![None; num_envs];
        for (&env, &action) in envs.iter().zip(actions) {
            let place = given.get_mut(env).ok_or(VectorError::UnknownEnv { env, num_envs })?;
            if place.replace(action).is_some() {
                return Err(VectorError::Duplicate { env });
            }
        }
        let (mut ordered, mut shared) = (Vec::with_capacity(envs.len()), Vec::new());
        for (env, given) in given.chunks(self.players).enumerate() {
            if given.iter().any(Option::is_some) {
                shared.push(env);
                for (player, action) in given.iter().enumerate() {
                    ordered.push(action.ok_or(VectorError::MissingPlayer { env, player })?);
                }
            }
        }
        Ok((ordered, shared))
    }
}

impl VectorEnv for AtariPlayersVectorEnv {
    fn num_envs(&self) -> usize {
        self.action_spaces.len()
    }

    fn batch_size(&self) -> usize {
        self.batch.len()
    }

    fn single_observation_space(&self) -> &Space {
        &self.observation_space
    }

    fn action_spaces(&self) -> &[Space] {
        &self.action_spaces
    }

    fn tasks(&self) -> &[String] {
        self.shared.tasks()
    }

    fn task_ids(&self) -> &[usize] {
        &self.task_ids
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.shared.autoreset_mode()
    }

    /// Resets every shared environment. Seeds count shared environments: [`ResetSeeds::Each`] has one for each of them.
    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        self.shared.reset(seeds)?;
        self.fill_batch()
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.shared.send(actions)
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        self.shared.recv()?;
        self.fill_batch()
    }

    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        self.shared.snapshot()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        self.shared.restore(snapshot)?;
        self.fill_batch()
    }
}
