use serde::{Deserialize, Serialize};

use super::noops::NoopDraw;
use crate::{AleError, AleSettings};

/// How a game becomes an environment. Names and defaults are those of ale-py's `AtariVectorEnv`.
///
/// The defaults play deterministically. Sticky actions as Machado et al. (2018) recommend them, and as Gymnasium's
/// registered games have them, are `repeat_action_probability` 0.25.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AtariOptions {
    /// Rows of the observation, 1 to 4096.
    pub img_height: usize,
    /// Columns of the observation, 1 to 4096.
    pub img_width: usize,
    /// One grey byte a pixel instead of red, green and blue.
    pub grayscale: bool,
    /// Frames in an observation, 1 to 64.
    pub stack_num: usize,
    /// Emulated frames in one step, at least 1.
    pub frameskip: u32,
    /// The observation shows the larger value of the last two frames of a step.
    pub maxpool: bool,
    /// A reset plays fewer NOOP frames than this, drawn uniformly; 0 plays none.
    pub noop_max: u32,
    /// The loss of a life ends the episode, and the game is reset.
    pub episodic_life: bool,
    /// The loss of a life is reported as a termination, but the episode continues.
    pub life_loss_info: bool,
    /// Rewards are clipped to -1..=1.
    pub reward_clipping: bool,
    /// A reset presses FIRE for one frame before the NOOPs, in games that know it.
    pub use_fire_reset: bool,
    /// An episode is truncated after this many frames, at least 1. Frames of the reset do not count.
    pub max_num_frames_per_episode: u32,
    /// How likely each frame repeats the action before, 0 to 1.
    pub repeat_action_probability: f32,
    /// All legal actions instead of those that do something in the game.
    pub full_action_space: bool,
    /// The game's mode; `None` is its default mode.
    pub mode: Option<u32>,
    /// The difficulty switches; `None` is 0.
    pub difficulty: Option<u32>,
}

impl Default for AtariOptions {
    fn default() -> Self {
        Self {
            img_height: 84,
            img_width: 84,
            grayscale: true,
            stack_num: 4,
            frameskip: 4,
            maxpool: true,
            noop_max: 30,
            episodic_life: false,
            life_loss_info: false,
            reward_clipping: true,
            use_fire_reset: true,
            max_num_frames_per_episode: 108000,
            repeat_action_probability: 0.0,
            full_action_space: false,
            mode: None,
            difficulty: None,
        }
    }
}

impl AtariOptions {
    /// Checks what does not depend on the game.
    pub(super) fn check(&self) -> Result<(), AleError> {
        let check = |fine: bool, name, value: &dyn ToString, allowed| {
            if fine { Ok(()) } else { Err(AleError::Setting { name, value: value.to_string(), allowed }) }
        };
        let (side, sides) = (1..=4096, "between 1 and 4096");
        check(side.contains(&self.img_height), "img_height", &self.img_height, sides)?;
        check(side.contains(&self.img_width), "img_width", &self.img_width, sides)?;
        check((1..=64).contains(&self.stack_num), "stack_num", &self.stack_num, "between 1 and 64")?;
        check(self.frameskip >= 1, "frameskip", &self.frameskip, "at least 1")?;
        let limit = self.max_num_frames_per_episode;
        check(limit >= 1, "max_num_frames_per_episode", &limit, "at least 1")
    }

    /// The emulator's part of the options. It runs frame by frame; skip and limit are the environment's.
    pub(super) fn emulator(&self) -> AleSettings {
        AleSettings {
            repeat_action_probability: self.repeat_action_probability,
            frame_skip: 1,
            max_num_frames_per_episode: 0,
            mode: self.mode,
            difficulty: self.difficulty,
        }
    }

    pub(super) fn noop_draw(&self) -> NoopDraw {
        NoopDraw::new(self.noop_max)
    }
}
