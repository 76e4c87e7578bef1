//! Errors about flags, with advice that clap cannot give.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

use crate::config::{KeyOfFlag, field, key_of_flag};
use crate::learner::Algorithm;
use crate::selection;

/// The command that users expect in place of those of the algorithms.
const TRAIN: &str = "train";

/// Rewrites an error about the arguments. An invalid value is explained in one sentence; for an unknown flag that is
/// named like a key, the error tells how to set the key.
pub(super) fn explained(mut error: Error, command: &Command, arguments: &[OsString]) -> Error {
    match error.kind() {
        ErrorKind::ValueValidation => not_possible(&error).unwrap_or(error),
        ErrorKind::InvalidSubcommand if text(&error, ContextKind::InvalidSubcommand) == Some(TRAIN) => {
            let algorithms = Algorithm::ALL.iter().map(|algorithm| algorithm.name().to_owned()).collect();
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(algorithms));
            error
        }
        ErrorKind::UnknownArgument => {
            // The advice to pass the flag as a value is never what is meant.
            error.remove(ContextKind::Suggested);
            if let Some(game) = unflagged_game(&error, command, arguments) {
                let tip = format!("write --games {game}");
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            } else if let Some(flag) = synonym(&error, command, arguments) {
                error.insert(ContextKind::SuggestedArg, ContextValue::String(flag));
            } else if let Some(assignment) = assignment(&error, command, arguments) {
                let tip = format!("set the key instead: --set {assignment}");
                error.remove(ContextKind::SuggestedArg);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
            error
        }
        _ => error,
    }
}

/// Returns an argument without a flag that names a game, if the command takes games.
fn unflagged_game(error: &Error, command: &Command, arguments: &[OsString]) -> Option<String> {
    let name = text(error, ContextKind::InvalidArg)?;
    let takes_games = chosen(command, arguments).get_arguments().any(|argument| argument.get_id() == "games");
    (takes_games && selection::expand([name]).is_ok()).then(|| name.to_owned())
}

/// Returns the error about a value that its parser rejects.
fn not_possible(error: &Error) -> Option<Error> {
    let (flag, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let allowed = error.source()?;
    // With the placeholder of its value: `--seed <S>`.
    let flag = flag.split(' ').next()?;
    Some(Error::raw(error.kind(), format!("{flag} {value} is invalid: it must be {allowed}\n")))
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// Flags of other programs, such as the scripts of `CleanRL`, with the ones that have their meaning here. Those that
/// are named like keys are not among them.
const SYNONYMS: [(&str, &str); 4] =
    [("steps", "total-frames"), ("exp-name", "run-dir"), ("name", "run-dir"), ("out", "run-dir")];

/// Returns the flag of the command that is meant by an unknown flag of another program.
fn synonym(error: &Error, command: &Command, arguments: &[OsString]) -> Option<String> {
    let unknown = text(error, ContextKind::InvalidArg)?.split('=').next()?.strip_prefix("--")?;
    let command = chosen(command, arguments);
    let flag = if let Some((_, flag)) = SYNONYMS.iter().find(|(synonym, _)| *synonym == unknown) {
        (*flag).to_owned()
    } else {
        let key = key_of_flag(unknown, algorithm_of(command), false)?.key;
        key.rsplit('.').next()?.replace('_', "-")
    };
    let takes = |argument: &Arg| argument.get_long() == Some(&flag);
    command.get_arguments().any(takes).then(|| format!("--{flag}"))
}

/// Returns the algorithm of a training command.
fn algorithm_of(command: &Command) -> Option<Algorithm> {
    Algorithm::ALL.iter().copied().find(|algorithm| algorithm.name() == command.get_name())
}

/// Returns the subcommand that the arguments choose.
fn chosen<'a>(mut command: &'a Command, arguments: &[OsString]) -> &'a Command {
    let mut arguments = arguments.iter();
    while let Some(chosen) = arguments.find_map(|argument| command.find_subcommand(argument)) {
        command = chosen;
    }
    command
}

/// Returns the assignment to the key that an unknown flag is named after, if the command takes assignments. A value
/// with another unit is not copied.
fn assignment(error: &Error, command: &Command, arguments: &[OsString]) -> Option<String> {
    let flag = text(error, ContextKind::InvalidArg)?.split('=').next()?;
    let command = chosen(command, arguments);
    command.get_arguments().find(|argument| argument.get_id() == "set")?;
    // A flag with a similar name is more likely to be meant than a key.
    let may_be_misspelt = error.get(ContextKind::SuggestedArg).is_none();
    let name = flag.strip_prefix("--")?;
    let KeyOfFlag { key, is_switch, has_same_values } =
        key_of_flag(name, algorithm_of(command), may_be_misspelt)?;
    if command.get_name() == "resume" && field(&key).is_some_and(|field| field.fixed.is_some()) {
        return None;
    }
    let value = if has_same_values { value_of(flag, arguments) } else { None };
    let value = value.unwrap_or(if is_switch { "true" } else { "VALUE" });
    Some(format!("{key}={value}"))
}

/// Returns the value that follows a flag.
fn value_of<'a>(flag: &str, arguments: &'a [OsString]) -> Option<&'a str> {
    let mut arguments = arguments.iter().filter_map(|argument| argument.to_str());
    let argument = arguments.find(|argument| argument.split('=').next() == Some(flag))?;
    let value = argument.split_once('=').map(|(_, value)| value);
    value.or_else(|| arguments.next().filter(|next| !next.starts_with("--")))
}
