//! Experiments: from TOML and flags ([`Config`]) to what a run needs ([`Experiment`]).
//!
//! * `sections` declares the settings of the application; algorithms and networks declare their own.
//! * `schema` lists all keys, `reference` prints them, `values` reads their values; `suggestions` finds the keys that
//!   an unknown one may stand for.
//! * `document` parses TOML, `written` reads the sections of an experiment, `layers` combines presets, files and flags
//!   into one.
//! * `presets` embeds the files of `configs/` and selects one by the games; `scaling` adapts its sizes to their number.
//! * `amendment` changes the experiment of a run that is resumed.
//! * `experiment` checks an experiment and derives everything else, with `games`, their `flavour`s and `budgets`;
//!   `warnings` reports probable mistakes.

mod amendment;
mod budgets;
mod document;
mod experiment;
mod flavour;
mod games;
mod layers;
mod presets;
mod reference;
mod scaling;
mod schema;
mod sections;
mod suggestions;
#[cfg(test)]
mod tests;
mod values;
mod warnings;
mod written;

pub(crate) use amendment::{Change, amended, changed};
pub(crate) use experiment::Experiment;
pub(crate) use flavour::Flavour;
pub(crate) use games::Games;
pub(crate) use layers::{
    Layers, assigned, changed_keys, flag_of, from_layers, from_preset, from_toml, values,
};
pub(crate) use presets::{Chosen, Preset, named, presets};
pub(crate) use reference::reference;
pub(crate) use schema::{KeyOfFlag, field, help, key_of_flag, keys_with_help};
pub(crate) use sections::{CheckpointSettings, EnvironmentSettings, RunSettings};
#[cfg(test)]
pub(crate) use tests::assert_without_types;
pub(crate) use values::ABSENT;
pub(crate) use written::Config;
