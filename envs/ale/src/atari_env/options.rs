use std::fmt::Display;
use std::ops::RangeInclusive;

use rl_env::Space;
use serde::{Deserialize, Serialize};
use vcs::RAM;

use super::uniform::Uniform;
use crate::limits::{MAX_FRAME_SKIP, MAX_NOOP_MAX, MAX_SIDE, MAX_STACK_NUM};
use crate::screen::SCREEN_WIDTH;
use crate::{AleError, AleSettings, Game};

/// The number of pixels of a screen, which has more rows in games for PAL and SECAM.
const SMALLEST_SCREEN: usize = 210 * SCREEN_WIDTH;

/// The options of an Atari environment. Names and defaults are those of ale-py's `AtariVectorEnv`;
/// `fire_after_lost_life`, `ram`, `fill_stack`, `rules`, `modes` and `difficulties` are additions.
///
/// The defaults are deterministic. For sticky actions as recommended by Machado et al. (2018) and used by the games
/// that ale-py registers with Gymnasium, set `repeat_action_probability` to 0.25.
///
/// ```
/// use ale::{AtariEnv, AtariOptions, PoweredGame, game, roms};
/// use rl_env::Env;
///
/// let rom = roms::built_in("harvest").expect("the open game is built in");
/// let powered = PoweredGame::new(game("harvest")?, rom.into())?;
/// let sticky = AtariOptions { repeat_action_probability: 0.25, ..AtariOptions::default() };
///
/// // Screens in colour and in full size, without a stack.
/// let options =
///     AtariOptions { grayscale: false, img_height: 210, img_width: 160, stack_num: 1, ..sticky.clone() };
/// let env = AtariEnv::new(&powered, options, 0)?;
/// assert_eq!(env.observation_space().shape(), Some(vec![1, 210, 160, 3]));
///
/// // RAM instead of the screen.
/// let env = AtariEnv::new(&powered, AtariOptions { ram: true, ..sticky }, 0)?;
/// assert_eq!(env.observation_space().shape(), Some(vec![4, 128]));
/// # Ok::<(), ale::AleError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AtariOptions {
    /// Rows of the observation, 1 to [`MAX_SIDE`].
    pub img_height: usize,
    /// Columns of the observation, 1 to [`MAX_SIDE`].
    pub img_width: usize,
    /// True for one grey byte per pixel instead of red, green and blue.
    pub grayscale: bool,
    /// Frames in an observation, 1 to [`MAX_STACK_NUM`].
    pub stack_num: usize,
    /// Emulated frames per step, 1 to [`MAX_FRAME_SKIP`].
    pub frameskip: u32,
    /// True to take the maximum of the last two frames of a step.
    pub maxpool: bool,
    /// A reset draws a number of NOOP frames below this, uniformly; 0 plays none. At most [`MAX_NOOP_MAX`]. The
    /// [`rules`](Self::rules) may add or subtract one.
    pub noop_max: u32,
    /// True if the loss of a life ends the episode. The game is then reset, unless [`rules`](Self::rules) let it
    /// continue.
    pub episodic_life: bool,
    /// True if the loss of a life is reported as a termination although the episode continues.
    pub life_loss_info: bool,
    /// True to clip rewards to -1..=1.
    pub reward_clipping: bool,
    /// True if a reset presses FIRE for one frame, in games that have that action.
    pub use_fire_reset: bool,
    /// True if the loss of a life that does not end the episode is followed by three steps that the agent does not see:
    /// NOOP, FIRE and the third action. The wrappers `EpisodicLifeEnv` and `FireResetEnv` of Stable-Baselines3, which
    /// `CleanRL` uses, do the same. Only in games with FIRE. Their rewards are in the raw reward of the step that lost
    /// the life.
    pub fire_after_lost_life: bool,
    /// An episode is truncated after this many frames, at least 1. Frames of the reset do not count.
    pub max_num_frames_per_episode: u32,
    /// Probability that a frame repeats the previous action (sticky actions), 0 to 1.
    pub repeat_action_probability: f32,
    /// True for all legal actions instead of those that have an effect in the game.
    pub full_action_space: bool,
    /// True for actions of three floats, the position of an analogue stick and its button, instead of an index: see
    /// [`AtariEnv`](crate::AtariEnv). They reach all legal actions, so `full_action_space` has no effect.
    pub continuous: bool,
    /// Threshold above which a direction or the button counts as held; finite.
    pub continuous_action_threshold: f32,
    /// True to observe the 128 bytes of RAM instead of the screen; `img_height`, `img_width`, `grayscale` and `maxpool`
    /// then have no effect.
    pub ram: bool,
    /// True if the first observation of an episode repeats its first frame, as in `EnvPool`, instead of padding with
    /// black frames.
    pub fill_stack: bool,
    /// The rules that govern how episodes begin and end.
    pub rules: EpisodeRules,
    /// The modes of which each episode draws one; empty for the game's default mode.
    pub modes: Vec<u32>,
    /// The settings of the difficulty switches of which each episode draws one; empty for 0.
    pub difficulties: Vec<u32>,
}

/// The rules that govern how episodes begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EpisodeRules {
    /// Those of ale-py 0.12.1. A reset plays FIRE, then one NOOP fewer than drawn; in games without FIRE, the drawn
    /// number of NOOPs. A step that ends the episode does not show its last frame. With `episodic_life`, a lost life
    /// resets the game.
    #[default]
    AlePy,
    /// Those of `EnvPool` 1.2.7. A reset plays the drawn number of NOOPs, then FIRE; in games without FIRE, one NOOP
    /// more. A step ends early only when the game is over, and shows the last frames that it reached. With
    /// `episodic_life`, a lost life ends the episode, but the next one continues the game and keeps the stack of
    /// frames.
    EnvPool,
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
            fire_after_lost_life: false,
            max_num_frames_per_episode: 108000,
            repeat_action_probability: 0.0,
            full_action_space: false,
            continuous: false,
            continuous_action_threshold: 0.5,
            ram: false,
            fill_stack: false,
            rules: EpisodeRules::AlePy,
            modes: Vec::new(),
            difficulties: Vec::new(),
        }
    }
}

impl AtariOptions {
    /// Checks the options that the emulator does not check.
    pub(super) fn check(&self, game: &'static Game, players: usize) -> Result<(), AleError> {
        check_range("img_height", self.img_height, 1..=MAX_SIDE)?;
        check_range("img_width", self.img_width, 1..=MAX_SIDE)?;
        check_range("stack_num", self.stack_num, 1..=MAX_STACK_NUM)?;
        check_range("frameskip", self.frameskip, 1..=MAX_FRAME_SKIP)?;
        check_range("noop_max", self.noop_max, 0..=MAX_NOOP_MAX)?;
        let limit = self.max_num_frames_per_episode;
        check("max_num_frames_per_episode", limit, limit >= 1, || "at least 1".to_owned())?;
        let threshold = self.continuous_action_threshold;
        check("continuous_action_threshold", threshold, threshold.is_finite(), || "finite".to_owned())?;
        game.modes_for(players)?;
        self.modes.iter().try_for_each(|&mode| game.check_mode(players, mode))?;
        self.difficulties.iter().try_for_each(|&difficulty| game.check_difficulty(difficulty))
    }

    /// Returns the space of the observations: `[stack_num, img_height, img_width]`, with a last axis of 3 for RGB, or
    /// `[stack_num, 128]` for RAM.
    pub fn observation_space(&self) -> Space {
        let mut shape = vec![self.stack_num];
        if self.ram {
            shape.push(RAM);
        } else {
            shape.extend([self.img_height, self.img_width]);
            shape.extend((!self.grayscale).then_some(3));
        }
        Space::bytes(shape)
    }

    /// Returns the bytes on the heap of a view with these options: the stack, and the pooled image of a screen.
    pub(super) fn view_bytes(&self) -> usize {
        let channels = if self.grayscale { 1 } else { 3 };
        let pooled = if self.ram { 0 } else { SMALLEST_SCREEN * channels };
        self.observation_space().byte_len() + pooled
    }

    /// Returns an error if an option is on that exists for one player only.
    pub(super) fn check_for_players(&self) -> Result<(), AleError> {
        let options = [
            ("continuous", self.continuous),
            ("episodic_life", self.episodic_life),
            ("life_loss_info", self.life_loss_info),
            ("fire_after_lost_life", self.fire_after_lost_life),
        ];
        let allowed = || "false with several players".to_owned();
        options.into_iter().try_for_each(|(name, value)| check(name, value, !value, allowed))
    }

    /// Returns the settings of the emulator. It runs frame by frame; the environment handles frame skip and limit.
    pub(super) fn emulator(&self, players: usize) -> AleSettings {
        AleSettings {
            repeat_action_probability: self.repeat_action_probability,
            frame_skip: 1,
            players,
            mode: self.modes.first().copied(),
            difficulty: self.difficulties.first().copied(),
            ..AleSettings::default()
        }
    }

    /// Returns the distribution of the number of no-ops. A number is drawn even if there are no no-ops.
    pub(super) fn noop_draw(&self) -> Uniform {
        Uniform::below(self.noop_max.max(1))
    }

    /// Returns the codes of the available actions by index.
    pub(super) fn action_codes(&self, game: &'static Game, players: usize) -> &'static [u8] {
        let has_all = self.full_action_space || self.continuous;
        if has_all { game.legal_actions } else { game.minimal_actions_for(players) }
    }
}

/// Returns an error unless `value` is in the range.
fn check_range<T: Copy + Display + PartialOrd>(
    name: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), AleError> {
    let allowed = || format!("between {} and {}", range.start(), range.end());
    check(name, value, range.contains(&value), allowed)
}

/// Returns an error unless the value `is_allowed`.
fn check(
    name: &'static str,
    value: impl Display,
    is_allowed: bool,
    allowed: impl FnOnce() -> String,
) -> Result<(), AleError> {
    if is_allowed {
        return Ok(());
    }
    Err(AleError::Setting { name, value: value.to_string(), allowed: allowed() })
}
