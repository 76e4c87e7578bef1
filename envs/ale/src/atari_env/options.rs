use serde::{Deserialize, Serialize};

use super::uniform::Uniform;
use crate::{AleError, AleSettings, Game};

/// How a game becomes an environment. Names and defaults are those of ale-py's `AtariVectorEnv`; `ram`, `fill_stack`,
/// `modes` and `difficulties` are beyond it.
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
    /// Actions are three floats, the position of an analogue stick and the button, instead of an index: see
    /// [`AtariEnv`](crate::AtariEnv). All legal actions can be reached, and `full_action_space` changes nothing.
    pub continuous: bool,
    /// How far the stick must be pushed, and the button be pressed, to count; finite.
    pub continuous_action_threshold: f32,
    /// Observations are the 128 bytes of RAM instead of pictures; `img_height`, `img_width`, `grayscale` and `maxpool`
    /// change nothing then.
    pub ram: bool,
    /// An episode's first observation shows its first frame `stack_num` times, as in `EnvPool`, instead of black ones
    /// before it.
    pub fill_stack: bool,
    /// The game's modes, of which each episode draws one. One alone is simply the mode; none stands for the default.
    pub modes: Vec<u32>,
    /// The settings of the difficulty switches, of which each episode draws one. None stands for 0.
    pub difficulties: Vec<u32>,
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
            continuous: false,
            continuous_action_threshold: 0.5,
            ram: false,
            fill_stack: false,
            modes: Vec::new(),
            difficulties: Vec::new(),
        }
    }
}

impl AtariOptions {
    /// Checks what the emulator does not check itself.
    pub(super) fn check(&self, game: &'static Game) -> Result<(), AleError> {
        let check = |fine: bool, name, value: &dyn ToString, allowed| {
            if fine { Ok(()) } else { Err(AleError::Setting { name, value: value.to_string(), allowed }) }
        };
        let (side, sides) = (1..=4096, "between 1 and 4096");
        check(side.contains(&self.img_height), "img_height", &self.img_height, sides)?;
        check(side.contains(&self.img_width), "img_width", &self.img_width, sides)?;
        check((1..=64).contains(&self.stack_num), "stack_num", &self.stack_num, "between 1 and 64")?;
        check(self.frameskip >= 1, "frameskip", &self.frameskip, "at least 1")?;
        let limit = self.max_num_frames_per_episode;
        check(limit >= 1, "max_num_frames_per_episode", &limit, "at least 1")?;
        let threshold = self.continuous_action_threshold;
        check(threshold.is_finite(), "continuous_action_threshold", &threshold, "finite")?;
        self.modes.iter().try_for_each(|&mode| game.check_mode(mode))?;
        self.difficulties.iter().try_for_each(|&difficulty| game.check_difficulty(difficulty))
    }

    /// The emulator's part of the options. It runs frame by frame; skip and limit are the environment's.
    pub(super) fn emulator(&self) -> AleSettings {
        AleSettings {
            repeat_action_probability: self.repeat_action_probability,
            frame_skip: 1,
            max_num_frames_per_episode: 0,
            mode: self.modes.first().copied(),
            difficulty: self.difficulties.first().copied(),
        }
    }

    /// Even without no-ops a number is drawn.
    pub(super) fn noop_draw(&self) -> Uniform {
        Uniform::below(self.noop_max.max(1))
    }

    /// The codes of the actions that can be reached, which indices refer to.
    pub(super) fn action_codes(&self, game: &'static Game) -> &'static [u8] {
        if self.full_action_space || self.continuous { game.legal_actions } else { game.minimal_actions }
    }
}
