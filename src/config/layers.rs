//! The layers that an experiment is put together from: a preset or a file, then `--set`, then the other flags.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ale::roms::nearest;
use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use super::keys::KEYS;
use super::raw::{Algorithm, RawConfig};
use crate::cli::ExperimentArgs;
use crate::selection;

/// What a training begins with.
struct Presets {
    /// On the open game.
    harvest: &'static str,
    /// On single tasks that are no games, by their ids.
    tasks: &'static [(&'static str, &'static str)],
    /// On all other tasks that are no games.
    classic: &'static str,
    /// On all others.
    atari: &'static str,
}

const PPO: Presets = Presets {
    harvest: include_str!("../../configs/harvest-ppo.toml"),
    tasks: &[("Acrobot-v1", include_str!("../../configs/acrobot-ppo.toml"))],
    classic: include_str!("../../configs/cartpole-ppo.toml"),
    atari: include_str!("../../configs/atari-ppo.toml"),
};
const DQN: Presets = Presets {
    harvest: include_str!("../../configs/harvest-dqn.toml"),
    tasks: &[
        ("Acrobot-v1", include_str!("../../configs/acrobot-dqn.toml")),
        ("MountainCar-v0", include_str!("../../configs/mountaincar-dqn.toml")),
    ],
    classic: include_str!("../../configs/cartpole-dqn.toml"),
    atari: include_str!("../../configs/atari-dqn.toml"),
};
const PQN: Presets = Presets {
    harvest: include_str!("../../configs/harvest-pqn.toml"),
    tasks: &[],
    classic: include_str!("../../configs/cartpole-pqn.toml"),
    atari: include_str!("../../configs/atari-pqn.toml"),
};

/// The experiment that a command line asks for; with the algorithm that the command is for, if it is for one.
pub(crate) fn from_args(args: &ExperimentArgs, algorithm: Option<Algorithm>) -> Result<RawConfig> {
    let mut written = match &args.config {
        Some(path) => read(path)?,
        None => Table::new(),
    };
    for assignment in &args.set {
        let layer = parse_assignment(assignment)?;
        check_keys(&layer).with_context(|| format!("--set {assignment}"))?;
        merge(&mut written, layer);
    }
    merge(&mut written, flags(args));
    let algorithm = choose_algorithm(&mut written, algorithm)?;
    // A file stands on the defaults alone; without one, the games choose what to begin with.
    let mut config = if args.config.is_some() { Table::new() } else { preset(&written, algorithm)? };
    merge(&mut config, written);
    Ok(Value::Table(config).try_into()?)
}

/// Reads an experiment from TOML, such as the one that a run keeps in its folder.
pub(crate) fn from_toml(text: &str) -> Result<RawConfig> {
    let table: Table = text.parse()?;
    check_keys(&table)?;
    Ok(Value::Table(table).try_into()?)
}

/// The keys whose values differ between two experiments in TOML, the first of which is well-formed.
pub(crate) fn changed_keys(ours: &str, theirs: &str) -> Result<Vec<String>> {
    let (ours, theirs) = (values(ours)?, values(theirs)?);
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    Ok(keys.into_iter().filter(|&key| ours.get(key) != theirs.get(key)).cloned().collect())
}

/// Every value of an experiment in TOML by its key, such as `ppo.gamma`.
pub(crate) fn values(text: &str) -> Result<BTreeMap<String, Value>> {
    let table: Table = text.parse()?;
    let mut keys = Vec::new();
    collect_keys(&table, "", &mut keys);
    Ok(keys.into_iter().filter_map(|key| Some((key.clone(), value_of(&table, &key)?.clone()))).collect())
}

/// The value of a key such as `ppo.gamma`.
fn value_of<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key.split_once('.') {
        Some((section, rest)) => value_of(table.get(section)?.as_table()?, rest),
        None => table.get(key),
    }
}

fn read(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let parse = || -> Result<Table> {
        let table: Table = text.parse()?;
        check_keys(&table)?;
        // Values of the wrong type are told with the file's name here, rather than later without.
        let _: RawConfig = Value::Table(table.clone()).try_into()?;
        Ok(table)
    };
    parse().with_context(|| path.display().to_string())
}

/// `ppo.learning_rate=1e-4` as a table. A value that is no TOML is text: `environments.games=pong,qbert`.
fn parse_assignment(assignment: &str) -> Result<Table> {
    let (key, value) = assignment
        .split_once('=')
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(key, _)| !key.is_empty())
        .with_context(|| format!("--set {assignment}: expected KEY=VALUE, such as ppo.learning_rate=1e-4"))?;
    let parse = |value: &str| format!("{key} = {value}").parse::<Table>();
    parse(value)
        .or_else(|_| parse(&Value::String(value.to_owned()).to_string()))
        .with_context(|| format!("--set {assignment}"))
}

/// The flags that are short for a key.
fn flags(args: &ExperimentArgs) -> Table {
    let number = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let games: Vec<Value> = args.games.iter().map(|name| Value::String(name.trim().to_owned())).collect();
    let values = [
        ("experiment", "seed", args.seed.map(number)),
        ("experiment", "total_frames", args.total_frames.map(number)),
        ("experiment", "num_threads", args.num_threads.map(|threads| number(threads as u64))),
        ("experiment", "device", args.device.clone().map(Value::String)),
        ("environments", "num_envs", args.num_envs.map(|count| number(count as u64))),
        ("environments", "games", (!games.is_empty()).then_some(Value::Array(games))),
    ];
    let mut layer = Table::new();
    for (section, key, value) in values {
        if let Some(value) = value {
            let section = layer.entry(section).or_insert_with(|| Value::Table(Table::new()));
            section.as_table_mut().expect("sections are tables").insert(key.to_owned(), value);
        }
    }
    layer
}

/// The algorithm of an experiment, which is `wanted` if the command says so. A file that is for another one is refused.
fn choose_algorithm(written: &mut Table, wanted: Option<Algorithm>) -> Result<Algorithm> {
    let found = value_of(written, "experiment.algorithm").cloned();
    let found: Option<Algorithm> = found.map(Value::try_into).transpose().context("experiment.algorithm")?;
    if let (Some(found), Some(wanted)) = (found, wanted)
        && found != wanted
    {
        bail!(
            "experiment.algorithm = {found} is what `ale-train {found}` trains; this is `ale-train {wanted}`"
        );
    }
    let algorithm = wanted.or(found).unwrap_or_default();
    let key = Table::from_iter([("algorithm".to_owned(), Value::String(algorithm.to_string()))]);
    merge(written, Table::from_iter([("experiment".to_owned(), Value::Table(key))]));
    Ok(algorithm)
}

/// The preset for the games that were asked for.
fn preset(written: &Table, algorithm: Algorithm) -> Result<Table> {
    let presets = match algorithm {
        Algorithm::Ppo => PPO,
        Algorithm::Dqn => DQN,
        Algorithm::Pqn => PQN,
    };
    let environments = written.get("environments").cloned().unwrap_or_else(|| Value::Table(Table::new()));
    let environments: super::raw::RawEnvironments = environments.try_into()?;
    // A name that means nothing is told when the experiment is resolved.
    let ids = selection::expand(environments.games.iter().map(String::as_str)).unwrap_or_default();
    let own = presets.tasks.iter().find(|(task, _)| ids == [*task]).map(|&(_, text)| text);
    let text = own.unwrap_or(match ids.as_slice() {
        ["harvest"] => presets.harvest,
        [id, ..] if selection::registry().spec(id).is_ok() => presets.classic,
        _ => presets.atari,
    });
    Ok(text.parse()?)
}

/// Puts `layer` over `base`, key by key.
fn merge(base: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Fails at the first key that no experiment has.
fn check_keys(layer: &Table) -> Result<()> {
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    let mut found = Vec::new();
    collect_keys(layer, "", &mut found);
    for key in found {
        let (key, game) = without_game(&key);
        let named = |known: &str| known.replace(ANY_GAME, &format!("{OF_GAME}{}.", game.unwrap_or("NAME")));
        if known.contains(&key.as_str()) || known.iter().any(|known| known.starts_with(&format!("{key}."))) {
            continue;
        }
        if ["ppo.total_steps", "dqn.total_steps", "pqn.total_steps"].contains(&key.as_str()) {
            bail!("{key} follows from experiment.total_frames: set that one")
        }
        match nearest_key(&key, &known) {
            Some(nearest) => bail!("unknown key '{}'; did you mean '{}'?", named(&key), named(nearest)),
            None => {
                bail!(
                    "unknown key '{}'; the sections are experiment, environments, policy, ppo, dqn, pqn, replay, \
                     evaluation and checkpoints",
                    named(&key)
                )
            }
        }
    }
    Ok(())
}

/// How the keys of single games begin.
const OF_GAME: &str = "environments.game.";
/// How they begin in the table of keys.
const ANY_GAME: &str = "environments.game.NAME.";

/// A key of a single game as the table of keys has it, and the game; any other key as it is.
fn without_game(key: &str) -> (String, Option<&str>) {
    let Some(rest) = key.strip_prefix(OF_GAME) else { return (key.to_owned(), None) };
    match rest.split_once('.') {
        Some((game, rest)) => (format!("{ANY_GAME}{rest}"), Some(game)),
        // A section without keys.
        None => (ANY_GAME.trim_end_matches('.').to_owned(), Some(rest)),
    }
}

/// The known key that `key` may be a misspelling of: as a whole, or by its last part in whatever section.
fn nearest_key<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let keys = || known.iter().copied();
    if let Some(&similar) = nearest(key, keys()).first() {
        return Some(similar);
    }
    let name = |key: &'a str| key.rsplit('.').next().unwrap_or(key);
    let similar = *nearest(key.rsplit('.').next().unwrap_or(key), keys().map(name)).first()?;
    keys().find(|key| name(key) == similar)
}

fn collect_keys(table: &Table, prefix: &str, keys: &mut Vec<String>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) if !inner.is_empty() => collect_keys(inner, &key, keys),
            _ => keys.push(key),
        }
    }
}
