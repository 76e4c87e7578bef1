//! The settings of a vector environment that Python passes, and their limits.

use ale::roms::{Pip, RomError, RomSources};
use ale::{AleError, AtariOptions, EpisodeRules, Game, game, multiplayer_game};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rl_env::AutoresetMode;
use vector::{AtariGroup, BatchOrder, PoolOptions};

use crate::pinned::PinnedMemory;

/// The largest values of options by their names in Python.
pub(crate) const LIMITS: [(&str, usize); 8] = [
    ("frame_skip", ale::MAX_FRAME_SKIP as usize),
    ("frameskip", ale::MAX_FRAME_SKIP as usize),
    ("img_height", ale::MAX_SIDE),
    ("img_width", ale::MAX_SIDE),
    ("noop_max", ale::MAX_NOOP_MAX as usize),
    ("num_envs", vector::MAX_NUM_ENVS),
    ("num_threads", vector::MAX_NUM_THREADS),
    ("stack_num", ale::MAX_STACK_NUM),
];

/// The settings of a vector environment, read from a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    games: Vec<String>,
    /// The number of environments of each game.
    num_envs: usize,
    /// The modes of each environment, from which each episode draws one; empty for the default.
    modes: Vec<Vec<u32>>,
    /// The difficulties, in the same form.
    difficulties: Vec<Vec<u32>>,
    /// True if info has more entries than ale-py's.
    pub(crate) extra_info: bool,
    /// A seed for each environment, used where the first reset has none.
    pub(crate) first_seeds: Vec<u64>,
    batch_size: usize,
    num_threads: usize,
    thread_affinity_offset: Option<usize>,
    autoreset_mode: String,
    img_height: usize,
    img_width: usize,
    grayscale: bool,
    ram: bool,
    stack_num: usize,
    fill_stack: bool,
    /// True for the rules of EnvPool instead of ale-py's.
    envpool_rules: bool,
    frameskip: u32,
    maxpool: bool,
    noop_max: u32,
    episodic_life: bool,
    life_loss_info: bool,
    reward_clipping: bool,
    use_fire_reset: bool,
    max_num_frames_per_episode: u32,
    repeat_action_probability: f32,
    full_action_space: bool,
    continuous: bool,
    continuous_action_threshold: f32,
    fire_after_lost_life: bool,
    /// Allocates the memory of observations, if it is page-locked.
    pub(crate) pinned: Option<PinnedMemory>,
}

impl Settings {
    /// Returns the games, including duplicates.
    pub(crate) fn games(&self) -> Result<Vec<&'static Game>, AleError> {
        self.games.iter().map(|id| game(id)).collect()
    }

    /// Returns the games, which several players can play.
    pub(crate) fn players_games(&self) -> Result<Vec<&'static Game>, AleError> {
        self.games.iter().map(|id| multiplayer_game(id)).collect()
    }

    /// Returns the action codes of each environment.
    pub(crate) fn action_codes(&self, games: &[&'static Game], players: usize) -> Vec<&'static [u8]> {
        let has_all_actions = self.full_action_space || self.continuous;
        let codes = |game: &Game| {
            if has_all_actions { game.legal_actions } else { game.minimal_actions_for(players) }
        };
        games.iter().flat_map(|game| vec![codes(game); self.num_envs]).collect()
    }

    /// Returns the options of the pool.
    pub(crate) fn pool(&self) -> PyResult<PoolOptions> {
        Ok(PoolOptions {
            batch_size: self.batch_size,
            batch_order: BatchOrder::FirstCome,
            num_threads: self.num_threads,
            thread_affinity_offset: self.thread_affinity_offset,
            autoreset_mode: autoreset_mode(&self.autoreset_mode)?,
        })
    }

    /// Returns the groups of environments. Missing ROMs are downloaded.
    pub(crate) fn groups(
        &self,
        games: &[&'static Game],
        sources: &RomSources,
        pip: &Pip,
    ) -> Result<Vec<AtariGroup>, RomError> {
        let mut groups = Vec::new();
        for (index, &game) in games.iter().enumerate() {
            let rom = sources.obtain(game.id, Some(pip))?;
            let envs: Vec<usize> = (index * self.num_envs..(index + 1) * self.num_envs).collect();
            for group in envs.chunk_by(|&a, &b| self.variants(a) == self.variants(b)) {
                let (modes, difficulties) = self.variants(group[0]);
                let options = AtariOptions {
                    modes: modes.to_vec(),
                    difficulties: difficulties.to_vec(),
                    ..self.options()
                };
                groups.push(AtariGroup {
                    task: game.id.to_owned(),
                    game,
                    rom: rom.clone(),
                    num_envs: group.len(),
                    options,
                });
            }
        }
        Ok(groups)
    }

    /// Returns the modes and difficulties of an environment.
    fn variants(&self, env: usize) -> (&[u32], &[u32]) {
        (
            self.modes.get(env).map_or(&[], Vec::as_slice),
            self.difficulties.get(env).map_or(&[], Vec::as_slice),
        )
    }

    /// Returns the options of each environment.
    fn options(&self) -> AtariOptions {
        AtariOptions {
            img_height: self.img_height,
            img_width: self.img_width,
            grayscale: self.grayscale,
            stack_num: self.stack_num,
            frameskip: self.frameskip,
            maxpool: self.maxpool,
            noop_max: self.noop_max,
            episodic_life: self.episodic_life,
            life_loss_info: self.life_loss_info,
            reward_clipping: self.reward_clipping,
            use_fire_reset: self.use_fire_reset,
            fire_after_lost_life: self.fire_after_lost_life,
            max_num_frames_per_episode: self.max_num_frames_per_episode,
            repeat_action_probability: self.repeat_action_probability,
            full_action_space: self.full_action_space,
            continuous: self.continuous,
            continuous_action_threshold: self.continuous_action_threshold,
            ram: self.ram,
            fill_stack: self.fill_stack,
            rules: if self.envpool_rules { EpisodeRules::EnvPool } else { EpisodeRules::AlePy },
            modes: Vec::new(),
            difficulties: Vec::new(),
        }
    }
}

/// Returns the mode with this name of Gymnasium's.
pub(crate) fn autoreset_mode(name: &str) -> PyResult<AutoresetMode> {
    match name {
        "NextStep" => Ok(AutoresetMode::NextStep),
        "SameStep" => Ok(AutoresetMode::SameStep),
        "Disabled" => Ok(AutoresetMode::Disabled),
        other => Err(PyValueError::new_err(format!(
            "autoreset_mode is {other}, but must be NextStep, SameStep or Disabled"
        ))),
    }
}
