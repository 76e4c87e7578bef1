//! Tests the path from flags and files to experiments.

mod games;
mod keys;
mod layers;
mod presets;
mod progress;
mod rnd;
mod settled;
mod values;

use std::fs;

use toml::Value;

pub(crate) use self::values::assert_without_types;
use super::{Config, Experiment, from_layers};
use crate::cli::{self, Command};

/// Returns the experiment of `ale-train ppo ARGUMENTS`, or the error.
fn experiment(arguments: &[&str]) -> Result<Experiment, String> {
    experiment_by("ppo", arguments)
}

fn experiment_by(algorithm: &str, arguments: &[&str]) -> Result<Experiment, String> {
    let line = ["ale-train", algorithm].into_iter().chain(arguments.iter().copied());
    let Command::Train(command) = cli::parse(line).expect("flags that exist").command else {
        unreachable!("{algorithm} is a training command")
    };
    from_layers(&command.args.experiment.layers(), Some(command.algorithm))
        .and_then(Config::resolve)
        .map_err(|error| format!("{error:#}"))
}

/// Writes a configuration to a file. Returns the experiment that the file and the flags describe.
fn experiment_with_file(
    path: &str,
    text: &str,
    algorithm: &str,
    flags: &[&str],
) -> Result<Experiment, String> {
    fs::write(path, text).unwrap();
    experiment_by(algorithm, &[&["--config", path], flags].concat())
}

/// Returns the configuration that `ale-train config ARGUMENTS` prints.
fn config(arguments: &[&str]) -> anyhow::Result<Config> {
    let line = ["ale-train", "config"].into_iter().chain(arguments.iter().copied());
    let Command::Config(args) = cli::parse(line).unwrap().command else { unreachable!() };
    from_layers(&args.experiment.layers(), None)
}

/// Returns `first`, followed by `--set` and each of `sets`.
fn with_sets<'a>(first: &[&'a str], sets: &[&'a str]) -> Vec<&'a str> {
    first.iter().copied().chain(sets.iter().flat_map(|&set| ["--set", set])).collect()
}

/// Returns the value of a key of an experiment.
fn value(experiment: &Experiment, key: &str) -> Value {
    super::values(&experiment.to_toml().unwrap()).unwrap().remove(key).expect(key)
}
