use ale::AtariOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rl_env::AutoresetMode;
use vector::PoolOptions;

/// What a vector environment is made of: the items of a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    pub(crate) games: Vec<String>,
    /// Environments of each game.
    pub(crate) num_envs: usize,
    /// Whether info has more entries than ale-py's.
    pub(crate) extra_info: bool,
    batch_size: usize,
    num_threads: usize,
    autoreset_mode: String,
    img_height: usize,
    img_width: usize,
    grayscale: bool,
    stack_num: usize,
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
}

impl Settings {
    /// What is the same for all environments of the pool.
    pub(crate) fn pool(&self) -> PyResult<PoolOptions> {
        let autoreset_mode = match self.autoreset_mode.as_str() {
            "NextStep" => AutoresetMode::NextStep,
            "SameStep" => AutoresetMode::SameStep,
            "Disabled" => AutoresetMode::Disabled,
            other => {
                return Err(PyValueError::new_err(format!(
                    "Invalid autoreset_mode: {other}; allowed are NextStep, SameStep and Disabled"
                )));
            }
        };
        Ok(PoolOptions {
            batch_size: self.batch_size,
            num_threads: self.num_threads,
            autoreset_mode,
            ..PoolOptions::default()
        })
    }

    /// What each environment does.
    pub(crate) fn options(&self) -> AtariOptions {
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
            max_num_frames_per_episode: self.max_num_frames_per_episode,
            repeat_action_probability: self.repeat_action_probability,
            full_action_space: self.full_action_space,
            ..AtariOptions::default()
        }
    }
}
