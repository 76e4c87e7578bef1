//! Experiments: from what the user wrote ([`RawConfig`]) to what is going to be done ([`Experiment`]).

mod layers;
mod raw;
mod resolve;
#[cfg(test)]
mod tests;

pub(crate) use layers::{changed_keys, from_args, from_toml};
pub(crate) use raw::{RawCheckpoints, RawConfig, RawEnvironments};
pub(crate) use resolve::{Experiment, Games, set_threads};
