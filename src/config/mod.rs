//! Experiments: from what the user wrote ([`RawConfig`]) to what is going to be done ([`Experiment`]).

mod budgets;
mod keys;
mod layers;
mod raw;
mod resolve;
mod show;
#[cfg(test)]
mod tests;

pub(crate) use budgets::Budgets;
pub(crate) use layers::{changed_keys, from_args, from_toml, values};
pub(crate) use raw::{Algorithm, RawCheckpoints, RawConfig, RawEnvironments, RawEvaluation, RawReplay};
pub(crate) use resolve::{Experiment, Games, set_threads};
pub(crate) use show::run as show;
