//! The settings of an `ALEInterface`: names, types and defaults of ale-py.

use std::path::Path;

use ale::{AleSettings, AtariOptions};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rl_env::nearest;

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Float,
    Bool,
    Text,
    /// Any type, as for the settings of the loudspeaker.
    Any,
}

/// The effect of a setting in this package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The same as in ale-py.
    Same,
    /// No effect, as in ale-py.
    Nothing,
    /// Requires a loudspeaker, a window or another part of ale-py that does not exist here. Only the default is
    /// allowed.
    Unavailable,
}

/// The value of `paddle_min` and `paddle_max` that stands for the game's own limit.
const GAMES_OWN: &str = "-1";

/// Name, type, default and effect of each setting.
const TABLE: [(&str, Kind, &str, Effect); 28] = [
    ("random_seed", Kind::Int, "-1", Effect::Same),
    ("repeat_action_probability", Kind::Float, "0.25", Effect::Same),
    ("frame_skip", Kind::Int, "1", Effect::Same),
    ("max_num_frames_per_episode", Kind::Int, "0", Effect::Same),
    ("reward_min", Kind::Int, "-2147483648", Effect::Same),
    ("reward_max", Kind::Int, "2147483647", Effect::Same),
    ("color_averaging", Kind::Bool, "0", Effect::Same),
    ("sound_obs", Kind::Bool, "0", Effect::Same),
    ("truncate_on_loss_of_life", Kind::Bool, "0", Effect::Same),
    ("paddle_min", Kind::Int, GAMES_OWN, Effect::Same),
    ("paddle_max", Kind::Int, GAMES_OWN, Effect::Same),
    ("rom_file", Kind::Text, "", Effect::Same),
    ("record_screen_dir", Kind::Text, "", Effect::Same),
    ("record_sound_filename", Kind::Text, "", Effect::Same),
    ("system_random_seed", Kind::Int, "4753849", Effect::Unavailable),
    ("display_screen", Kind::Bool, "0", Effect::Unavailable),
    ("sound", Kind::Any, "false", Effect::Unavailable),
    ("palette", Kind::Any, "standard", Effect::Unavailable),
    ("max_num_frames", Kind::Int, "0", Effect::Nothing),
    ("volume", Kind::Any, "100", Effect::Nothing),
    ("freq", Kind::Any, "31400", Effect::Nothing),
    ("tiafreq", Kind::Any, "31400", Effect::Nothing),
    ("fragsize", Kind::Any, "64", Effect::Nothing),
    ("clipvol", Kind::Any, "true", Effect::Nothing),
    ("cpu", Kind::Text, "low", Effect::Nothing),
    ("send_rgb", Kind::Bool, "0", Effect::Nothing),
    ("restricted_action_set", Kind::Bool, "0", Effect::Nothing),
    ("run_length_encoding", Kind::Bool, "1", Effect::Nothing),
];

/// Formats a number with six significant digits, as `%g` does in C.
pub(super) fn general(value: f32) -> String {
    let scientific = format!("{value:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        // Infinity or NaN.
        return scientific.to_lowercase();
    };
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    let is_fixed = (-4..6).contains(&exponent);
    let mut digits =
        if is_fixed { format!("{value:.*}", (5 - exponent) as usize) } else { digits.to_owned() };
    if digits.contains('.') {
        digits.truncate(digits.trim_end_matches('0').trim_end_matches('.').len());
    }
    if is_fixed { digits } else { format!("{digits}e{exponent:+03}") }
}

/// The values of the settings, as text in the order of the table.
#[derive(Clone, Debug)]
pub(super) struct Settings(Vec<String>);

impl Default for Settings {
    fn default() -> Self {
        Self(TABLE.iter().map(|(_, _, default, _)| (*default).to_owned()).collect())
    }
}

/// Returns the row of a setting.
fn position(name: &str) -> Option<usize> {
    TABLE.iter().position(|row| row.0 == name)
}

impl Settings {
    /// Returns the settings of the emulator of an environment.
    pub(super) fn from_options(options: &AtariOptions) -> Self {
        let mut settings = Self::default();
        settings.replace("repeat_action_probability", options.repeat_action_probability.to_string());
        settings
    }

    /// Records the file from which a game was loaded.
    pub(super) fn set_rom_file(&mut self, path: &Path) {
        self.replace("rom_file", path.to_string_lossy().into_owned());
    }

    fn replace(&mut self, name: &str, value: String) {
        if let Some(index) = position(name) {
            self.0[index] = value;
        }
    }

    /// Sets a value of this type, given as text. As in ale-py, it takes effect when a game is loaded.
    pub(super) fn set(&mut self, name: &str, kind: Kind, value: String) -> PyResult<()> {
        let Some(index) = position(name) else {
            let near = nearest(name, TABLE.iter().map(|row| row.0));
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!("; did you mean {}?", near.join(" or "))
            };
            return Err(PyRuntimeError::new_err(format!("there is no setting \"{name}\"{hint}")));
        };
        let (_, expected, default, effect) = TABLE[index];
        if expected != Kind::Any && expected != kind {
            return Err(PyRuntimeError::new_err(format!(
                "{name} is a setting of type {expected:?}, not {kind:?}"
            )));
        }
        let is_default = value == default || value == "0" && default == "false";
        if effect == Effect::Unavailable && !is_default {
            return Err(PyRuntimeError::new_err(format!(
                "{name} is not available in ale_train and must keep its default, {default:?}"
            )));
        }
        self.0[index] = value;
        Ok(())
    }

    /// Returns a value as text, or `None` for an unknown name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        position(name).map(|index| self.0[index].as_str())
    }

    /// Returns a value as an integer: the digits at its beginning, or -1 for an unknown name.
    pub(super) fn int(&self, name: &str) -> i32 {
        self.text(name).map_or(-1, |text| {
            let text = text.trim_start();
            let sign = text.starts_with(['-', '+']).into();
            let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
            text[..sign + digits].parse().unwrap_or(0)
        })
    }

    /// Returns a value as a number: the number at its beginning, 0 if there is none, or -1 for an unknown name.
    pub(super) fn float(&self, name: &str) -> f32 {
        let Some(text) = self.text(name).map(str::trim_start) else { return -1.0 };
        // The longest prefix that is a number.
        (0..=text.len()).rev().find_map(|end| text.get(..end)?.parse().ok()).unwrap_or(0.0)
    }

    /// Returns true if a value is `1` or `true`.
    pub(super) fn bool(&self, name: &str) -> bool {
        matches!(self.text(name), Some("1" | "true"))
    }

    /// Returns the seed of the generator of sticky actions, or `None` for a random seed.
    pub(super) fn seed(&self) -> Option<u32> {
        let seed = self.int("random_seed");
        (seed != -1).then_some(seed as u32)
    }

    /// Returns the smallest and the largest reward of an act.
    pub(super) fn reward_range(&self) -> (i32, i32) {
        (self.int("reward_min"), self.int("reward_max"))
    }

    /// Returns a limit of paddles, or `None` for the game's own.
    fn limit(&self, name: &str) -> Option<i32> {
        (self.text(name) != Some(GAMES_OWN)).then(|| self.int(name))
    }

    /// Returns the directory of recorded screens and the file of the recorded sound; empty if there are none.
    pub(super) fn recording_paths(&self) -> [&str; 2] {
        ["record_screen_dir", "record_sound_filename"].map(|name| self.text(name).unwrap_or_default())
    }

    /// Returns the settings of the emulator.
    pub(super) fn emulator(&self) -> AleSettings {
        AleSettings {
            repeat_action_probability: self.float("repeat_action_probability").clamp(0.0, 1.0),
            frame_skip: self.int("frame_skip").max(1).unsigned_abs(),
            max_num_frames_per_episode: self.int("max_num_frames_per_episode").max(0).unsigned_abs(),
            truncate_on_loss_of_life: self.bool("truncate_on_loss_of_life"),
            color_averaging: self.bool("color_averaging"),
            sound: self.bool("sound_obs"),
            recording: !self.recording_paths().concat().is_empty(),
            paddle_min: self.limit("paddle_min"),
            paddle_max: self.limit("paddle_max"),
            players: 1,
            mode: None,
            difficulty: None,
        }
    }
}
