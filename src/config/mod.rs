//! Experiments: from TOML and flags ([`Config`]) to what a run needs ([`Experiment`]).
//!
//! * `sections` declares the settings of the application; algorithms and networks declare their own.
//! * `schema` lists all keys, `key_reference` prints them, `values` reads their values; `suggestions` finds the keys
//!   that an unknown one may stand for.
//! * `document` parses TOML, `written` reads the sections of an experiment, `layers` combines presets, files and flags
//!   into one.
//! * `embedded_presets` has the files of `configs/` and selects one by the games; `scaling` adapts its sizes to their
//!   number.
//! * `amended_experiment` changes the experiment of a run that is resumed.
//! * `experiment` checks an experiment and derives everything else, with `experiment_games`, their `flavour`s and
//!   `budgets`; `warnings` reports probable mistakes; `some_games` leaves out games.

mod amended_experiment;
mod budgets;
mod document;
mod drawn;
mod embedded_presets;
mod experiment;
mod experiment_games;
mod flavour;
mod gymnasium_settings;
mod key_path;
mod key_reference;
mod layers;
mod scaling;
mod schema;
mod sections;
mod self_play_settings;
mod some_games;
mod suggestions;
#[cfg(test)]
mod tests;
mod values;
mod warnings;
mod written;

pub(crate) use amended_experiment::{Change, amended, changed};
pub(crate) use embedded_presets::{Chosen, Preset, named, presets};
pub(crate) use experiment::Experiment;
pub(crate) use experiment_games::Games;
pub(crate) use flavour::Flavour;
pub(crate) use gymnasium_settings::GymnasiumSettings;
pub(crate) use key_reference::reference;
pub(crate) use layers::{
    Layers, assigned, changed_keys, flag_of, from_layers, from_preset, from_toml, values,
};
pub(crate) use schema::{KeyOfFlag, field, help, key_of_flag, keys_with_help};
pub(crate) use sections::{CheckpointSettings, EnvironmentSettings, RunSettings};
pub(crate) use self_play_settings::SelfPlaySettings;
#[cfg(test)]
pub(crate) use tests::assert_without_types;
pub(crate) use values::ABSENT;
pub(crate) use written::Config;
