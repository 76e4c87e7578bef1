//! Shell completion: the scripts, and the candidates that they ask the program for.
//!
//! A script calls the program with the words of the command line and [`VARIABLE`] set to the name of the shell.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};

use crate::config::{self, keys_with_help};
use crate::device;
use crate::output::is_control;
use crate::selection;
use crate::zoo_agents::{AGENTS, PREFIX};

/// The environment variable by which scripts ask for candidates.
const VARIABLE: &str = "ALE_TRAIN_COMPLETE";
/// The program, found by `$PATH`.
const PROGRAM: &str = "ale-train";
/// The default directory of runs.
const RUNS: &str = "checkpoints";

/// Prints the candidates if a script asks for them, and returns true if so.
pub(crate) fn answers(arguments: &[OsString]) -> bool {
    let directory = std::env::current_dir().ok();
    let completed = CompleteEnv::with_factory(super::command)
        .var(VARIABLE)
        .try_complete(arguments.iter().cloned(), directory.as_deref());
    completed.unwrap_or_else(|error| super::exit(&error, true))
}

/// Returns the completion script for a shell.
pub(crate) fn script(shell: clap_complete::Shell) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell =
        shells.completer(&shell.to_string()).unwrap_or_else(|| unreachable!("every shell has a completer"));
    // Writing to a closed pipe would panic.
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    if shell.name() == "bash" {
        script.extend_from_slice(include_bytes!("complete.bash"));
    }
    Ok(script)
}

/// Completes a single game.
pub(super) fn game() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| beginning_with(current, selection::ids()))
}

/// Completes games and sets, also after the `-` of an exclusion.
pub(super) fn games() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let current = current.to_string_lossy();
        let (minus, name) = current.strip_prefix('-').map_or(("", current.as_ref()), |name| ("-", name));
        let candidates = beginning_with(OsStr::new(name), selection::sets().chain(selection::ids()));
        candidates.into_iter().map(|candidate| candidate.add_prefix(minus)).collect()
    })
}

/// Completes keys with an equals sign.
pub(super) fn keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let current = current.to_string_lossy();
        let keys = keys_with_help().into_iter().filter(|(key, _)| key.starts_with(current.as_ref()));
        keys.map(|(key, help)| CompletionCandidate::new(format!("{key}=")).help(Some(help.into()))).collect()
    })
}

/// Completes devices.
pub(super) fn devices() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| beginning_with(current, device::names()))
}

/// Completes presets.
pub(super) fn presets() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        beginning_with(current, config::presets().iter().map(|preset| preset.name))
    })
}

fn beginning_with<'a>(current: &OsStr, names: impl Iterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    names.filter(|name| name.starts_with(current.as_ref())).map(CompletionCandidate::new).collect()
}

/// Completes directories; those of runs come first.
pub(super) fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let runs = runs_beginning_with(current);
        if runs.is_empty() { PathCompleter::dir().complete(current) } else { runs }
    })
}

fn runs_beginning_with(current: &OsStr) -> Vec<CompletionCandidate> {
    let runs = std::fs::read_dir(RUNS).into_iter().flatten().flatten();
    let runs =
        runs.filter(|entry| entry.path().is_dir()).map(|entry| Path::new(RUNS).join(entry.file_name()));
    // Such names would control the terminal or split a line.
    let runs = runs.filter(|run| !run.to_string_lossy().contains(is_control));
    let is_meant = |run: &PathBuf| run.as_os_str().as_encoded_bytes().starts_with(current.as_encoded_bytes());
    let mut candidates: Vec<_> = runs.filter(is_meant).map(CompletionCandidate::new).collect();
    candidates.sort();
    candidates
}

/// Completes runs, exported agents and agents of the zoo.
pub(super) fn agents() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let names: Vec<String> = AGENTS.iter().map(|agent| format!("{PREFIX}{}", agent.name)).collect();
        let of_zoo = beginning_with(current, names.iter().map(String::as_str));
        let known: Vec<_> = of_zoo.into_iter().chain(runs_beginning_with(current)).collect();
        if known.is_empty() { PathCompleter::any().filter(may_be_agent).complete(current) } else { known }
    })
}

fn may_be_agent(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|extension| extension == "safetensors")
}
