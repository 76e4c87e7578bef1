use serde::{Deserialize, Serialize};

use crate::{AleError, Game, MAX_FRAME_SKIP};

/// Settings of an emulated game.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AleSettings {
    /// Probability that a frame repeats the previous action instead of taking the new one (sticky actions, Machado et
    /// al., 2018), 0 to 1.
    pub repeat_action_probability: f32,
    /// Frames that one [`act`](crate::Ale::act) emulates, 1 to [`MAX_FRAME_SKIP`].
    pub frame_skip: u32,
    /// Episodes are truncated after this many frames; 0 means never. Of the frames of a reset, only those that select
    /// the mode count.
    pub max_num_frames_per_episode: u32,
    /// True if an episode is truncated when a life is lost.
    pub truncate_on_loss_of_life: bool,
    /// True if the screen shows the average of the last two frames, as nearly as the palette allows.
    pub color_averaging: bool,
    /// True if each act generates [sound](crate::Ale::sound).
    pub sound: bool,
    /// True if acts [record](crate::Ale::take_recorded) each of their frames.
    pub recording: bool,
    /// The lowest resistance of a paddle in ohms, at its right end; `None` is the game's.
    pub paddle_min: Option<i32>,
    /// The highest resistance of a paddle in ohms, at its left end; `None` is the game's.
    pub paddle_max: Option<i32>,
    /// The number of players. With 1, everything equals ale-py; with more, multi-agent-ale-py.
    pub players: usize,
    /// The game's mode; `None` is its default mode for the number of players.
    pub mode: Option<u32>,
    /// The difficulty switches; `None` is 0.
    pub difficulty: Option<u32>,
}

impl Default for AleSettings {
    fn default() -> Self {
        Self {
            repeat_action_probability: 0.25,
            frame_skip: 1,
            max_num_frames_per_episode: 0,
            truncate_on_loss_of_life: false,
            color_averaging: false,
            sound: false,
            recording: false,
            paddle_min: None,
            paddle_max: None,
            players: 1,
            mode: None,
            difficulty: None,
        }
    }
}

impl AleSettings {
    /// Returns an error if a setting is out of range or unknown to the game.
    pub(crate) fn check(&self, game: &'static Game) -> Result<(), AleError> {
        let p = self.repeat_action_probability;
        if !(0.0..=1.0).contains(&p) {
            return Err(AleError::Setting {
                name: "repeat_action_probability",
                value: p.to_string(),
                allowed: "between 0 and 1".to_owned(),
            });
        }
        if !(1..=MAX_FRAME_SKIP).contains(&self.frame_skip) {
            return Err(AleError::Setting {
                name: "frame_skip",
                value: self.frame_skip.to_string(),
                allowed: format!("between 1 and {MAX_FRAME_SKIP}"),
            });
        }
        let mode = self.mode.map_or_else(|| game.default_mode_for(self.players), Ok)?;
        game.check_mode(self.players, mode)?;
        self.difficulty.map_or(Ok(()), |difficulty| game.check_difficulty(difficulty))
    }
}
