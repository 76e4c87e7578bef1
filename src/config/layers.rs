//! The layers of an experiment, each of which overrides the ones before: a preset, the sizes computed from the number
//! of games, the network of an agent whose weights a run starts from, a file, `--set`, and the other flags.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use super::document;
use super::embedded_presets::{self, Chosen, Preset};
use super::experiment_games::check_override;
use super::key_path::{self, quoted};
use super::schema::{PRESET, field, is_unused, leaf_keys, read, value_of_mut, without_absent};
use super::sections::EnvironmentSettings;
use super::values::ABSENT;
use super::written::Config;
use crate::files::{self, limit};
use crate::learner::Algorithm;
use crate::selection;

/// The key of the games.
const GAMES: &str = "environments.games";
/// The section of the overrides for single games.
const OVERRIDES: &str = "environments.game";

/// The layers that a command line gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    /// The name of a preset.
    pub(crate) preset: Option<String>,
    pub(crate) file: Option<PathBuf>,
    /// Assignments such as `ppo.gamma=0.9`.
    pub(crate) set: Vec<String>,
    /// The keys that other flags set.
    pub(crate) flags: Table,
    /// The keys that determine the network of the agent whose weights a run starts from, absent ones included.
    pub(crate) inherited: Table,
}

/// Returns the experiment that a command line describes. `algorithm` is that of the training command, if it is one.
pub(crate) fn from_layers(given: &Layers, algorithm: Option<Algorithm>) -> Result<Config> {
    let assignments =
        given.set.iter().map(|set| Ok((set, assigned("--set", set)?))).collect::<Result<Vec<_>>>()?;
    let above = || assignments.iter().map(|(_, layer)| layer.clone()).chain([given.flags.clone()]);
    let mut file = given.file.as_deref().map(File::read).transpose()?.unwrap_or_default();
    let left_out = file.leave_out_games(&merged(above())).with_context(|| file.path.display().to_string())?;
    let mut written = merged([file.experiment.clone()].into_iter().chain(above()));
    let named = algorithm.or(algorithm_of(&written)?);
    let requested = match (&given.preset, &file.preset) {
        (Some(name), _) => Some(embedded_presets::requested(name, named)?),
        (None, Some(name)) => {
            let requested = embedded_presets::of_file(name, named);
            Some(requested.with_context(|| file.path.display().to_string())?)
        }
        (None, None) => None,
    };
    let algorithm = algorithm.or(requested.as_ref().map(|chosen| chosen.preset.algorithm));
    let algorithm = choose_algorithm(&mut written, algorithm)?;
    assignments.iter().try_for_each(|(set, layer)| check_use(set, layer, algorithm))?;
    // The games have not selected this preset, so its network is the user's choice.
    let requested_keys =
        requested.as_ref().map(|chosen| chosen.preset.experiment.clone()).unwrap_or_default();
    let inherited = without_keys_of(&given.inherited, &merged([requested_keys, written.clone()]));
    // A file that names no preset overrides the defaults. Without a file, the games select a preset.
    let chosen = match requested {
        None if given.file.is_none() => Some(fitting_preset(&written, algorithm)?),
        requested => requested,
    };
    let below = match &chosen {
        Some(chosen) => scaled(chosen.preset, &written)?,
        None => Table::new(),
    };
    let own = Config::new(&merged([below.clone(), written.clone()]))?;
    let config = Config::new(&merged([below, inherited, written]))?;
    let inherited = settings_of(&config, &own)?;
    let mut config = Config { preset: chosen, inherited, ..config };
    config.notes.extend(left_out);
    config.notes.extend(file.unused_sections(algorithm));
    Ok(config)
}

/// The file of `--config`, which is empty without the flag.
#[derive(Default)]
struct File {
    path: PathBuf,
    /// The preset that it changes, if it names one.
    preset: Option<String>,
    experiment: Table,
}

impl File {
    fn read(path: &Path) -> Result<Self> {
        let text = files::read_argument(path, limit::EXPERIMENT)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(path, &text).with_context(|| path.display().to_string())
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let mut experiment = document::parse(text)?;
        let preset = match experiment.remove(PRESET) {
            Some(Value::String(name)) => Some(name),
            // The description of a preset.
            None | Some(Value::Table(_)) => None,
            Some(other) => {
                bail!("preset = {other} is invalid: it must be the name of a preset in quotes")
            }
        };
        Ok(Self { path: path.to_owned(), preset, experiment: read(experiment)? })
    }

    /// Removes the overrides for games that the layer `above` leaves out when it selects other games. Returns a note
    /// about them. Overrides for a game that is not one of the file, or that `above` overrides too, remain: they are
    /// mistakes.
    fn leave_out_games(&mut self, above: &Table) -> Result<Option<String>> {
        if value_of(above, GAMES).is_none() {
            return Ok(None);
        }
        let [selected, of_file] = [above, &self.experiment].map(games_of);
        let (selected, of_file) = (selected?, of_file?);
        let names_games = value_of(&self.experiment, GAMES).is_some();
        let is_overridden = |id: &str| value_of(above, &format!("{OVERRIDES}.{}", quoted(id))).is_some();
        let Some(Value::Table(overrides)) = value_of_mut(&mut self.experiment, OVERRIDES) else {
            return Ok(None);
        };
        let mut left_out = Vec::new();
        for id in overrides.keys() {
            if names_games && !of_file.is_empty() {
                check_override(id, &of_file)?;
            }
            let is_known = selection::id_of_spelling(id).is_some();
            if is_known && !selected.is_empty() && !selected.contains(&id.as_str()) && !is_overridden(id) {
                left_out.push(id.clone());
            }
        }
        overrides.retain(|id, _| !left_out.iter().any(|left_out| left_out == id));
        Ok((!left_out.is_empty()).then(|| {
            let (file, games) = (self.path.display(), left_out.join(", "));
            format!("{file}: its overrides for {games} have no effect, because other games are selected")
        }))
    }

    /// Returns a note about each section that the algorithm does not use.
    fn unused_sections(&self, algorithm: Algorithm) -> impl Iterator<Item = String> {
        let unused = self.experiment.keys().filter(move |section| is_unused(section, algorithm));
        let file = self.path.display();
        unused.map(move |section| format!("{file}: {algorithm} does not use the section [{section}]"))
    }
}

/// Returns the experiment of a preset for the games that it names.
pub(crate) fn from_preset(preset: &Preset) -> Result<Config> {
    Config::new(&scaled(preset, &Table::new())?)
}

/// Fails if an assignment sets a key of another algorithm.
fn check_use(assignment: &str, layer: &Table, algorithm: Algorithm) -> Result<()> {
    let Some(section) = layer.keys().find(|section| is_unused(section, algorithm)) else { return Ok(()) };
    let key = leaf_keys(layer).concat();
    let usable = key.replacen(section, algorithm.name(), 1);
    let hint = if field(&usable).is_some() { format!("; did you mean {usable}?") } else { String::new() };
    bail!("--set {assignment}: {algorithm} does not use the section [{section}]{hint}")
}

/// Returns a layer without the keys that another one has, too.
fn without_keys_of(layer: &Table, other: &Table) -> Table {
    let mut rest = layer.clone();
    rest.retain(|key, value| match (value, other.get(key)) {
        (Value::Table(section), Some(Value::Table(other))) => {
            *section = without_keys_of(section, other);
            true
        }
        (_, other) => other.is_none(),
    });
    rest
}

/// Returns the keys in which an experiment differs from another one, with their values: `policy.lstm = 8`.
fn settings_of(experiment: &Config, other: &Config) -> Result<Vec<String>> {
    let (own, others) = (leaves(&experiment.to_table()?), leaves(&other.to_table()?));
    let keys: BTreeSet<&String> = own.keys().chain(others.keys()).collect();
    let setting = |key: &String| match own.get(key) {
        Some(value) => format!("{key} = {value}"),
        None => format!("{key} = {ABSENT}"),
    };
    Ok(keys.into_iter().filter(|&key| own.get(key) != others.get(key)).map(setting).collect())
}

/// Reads an experiment from TOML, such as the one in the directory of a run.
pub(crate) fn from_toml(text: &str) -> Result<Config> {
    Config::new(&from_text(text)?)
}

/// Returns the keys of an experiment in TOML, with normalised values.
pub(super) fn from_text(text: &str) -> Result<Table> {
    read(parse(text)?)
}

/// Parses an experiment, without the description of a preset.
fn parse(text: &str) -> Result<Table> {
    let mut table = document::parse(text)?;
    table.remove(PRESET);
    Ok(table)
}

/// Returns the keys whose values differ between two experiments in TOML.
pub(crate) fn changed_keys(first: &str, second: &str) -> Result<Vec<String>> {
    let (first, second) = (values(first)?, values(second)?);
    let keys: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    Ok(keys.into_iter().filter(|&key| first.get(key) != second.get(key)).cloned().collect())
}

/// Returns the values of an experiment in TOML by their keys, such as `ppo.gamma`.
pub(crate) fn values(text: &str) -> Result<BTreeMap<String, Value>> {
    Ok(leaves(&parse(text)?))
}

/// Returns the values of a table by their keys, such as `ppo.gamma`.
pub(super) fn leaves(table: &Table) -> BTreeMap<String, Value> {
    let keys = leaf_keys(table);
    keys.into_iter().filter_map(|key| Some((key.clone(), value_of(table, &key)?.clone()))).collect()
}

/// Returns the value of a key such as `ppo.gamma`.
fn value_of<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    match key_path::split_first(key) {
        (section, Some(rest)) => value_of(table.get(section)?.as_table()?, rest),
        (name, None) => table.get(name),
    }
}

/// Reads `ppo.learning_rate=1e-4`, given by `flag`. A value that is not valid TOML is read as a
/// string: `environments.games=pong,qbert`.
pub(crate) fn assigned(flag: &str, assignment: &str) -> Result<Table> {
    let layer = parse_assignment(assignment).with_context(|| {
        format!("{flag} {assignment}: expected KEY=VALUE, such as ppo.learning_rate=1e-4")
    })?;
    read(layer).with_context(|| format!("{flag} {assignment}"))
}

fn parse_assignment(assignment: &str) -> Option<Table> {
    let (key, value) = assignment.split_once('=')?;
    let value = value.trim();
    parse_value(key, value).or_else(|| parse_value(key, &Value::String(value.to_owned()).to_string()))
}

/// Parses a value as TOML. After a line break, another key could follow.
fn parse_value(key: &str, value: &str) -> Option<Table> {
    document::parse(&format!("{key} = {value}")).ok().filter(|_| !value.contains('\n'))
}

/// Returns the flag that sets a key, such as `--num-envs`, if it is one of the keys that flags set.
pub(crate) fn flag_of(key: &str, given: &Layers) -> Option<String> {
    let is_set = leaf_keys(&given.flags).iter().any(|of_flag| of_flag == key);
    is_set.then(|| format!("--{}", key_path::split_last(key).1.replace('_', "-")))
}

/// Returns the algorithm of an experiment, and sets it. Fails if the algorithm of a file differs from that
/// of the command.
fn choose_algorithm(written: &mut Table, wanted: Option<Algorithm>) -> Result<Algorithm> {
    let configured = algorithm_of(written)?;
    if let (Some(configured), Some(wanted)) = (configured, wanted)
        && configured != wanted
    {
        bail!(
            "experiment.algorithm = {configured} requires `ale-train {configured}`, not `ale-train {wanted}`"
        );
    }
    let algorithm = wanted.or(configured).unwrap_or_default();
    let key = Table::from_iter([("algorithm".to_owned(), Value::String(algorithm.to_string()))]);
    merge(written, Table::from_iter([("experiment".to_owned(), Value::Table(key))]));
    Ok(algorithm)
}

/// Returns the algorithm that an experiment names, if it names one.
fn algorithm_of(written: &Table) -> Result<Option<Algorithm>> {
    let algorithm = value_of(written, "experiment.algorithm").cloned();
    algorithm.map(Value::try_into).transpose().context("experiment.algorithm")
}

/// Returns the preset for the games and the device.
fn fitting_preset(written: &Table, algorithm: Algorithm) -> Result<Chosen> {
    let device = value_of(written, "experiment.device").and_then(Value::as_str).unwrap_or("cpu");
    Ok(embedded_presets::fitting(&games_of(written)?, device, algorithm))
}

/// Returns the experiment of a preset, with the sizes that follow from the games.
fn scaled(preset: &Preset, written: &Table) -> Result<Table> {
    let mut config = preset.experiment.clone();
    if let Some(by_games) = &preset.about.by_games {
        let mut merged = config.clone();
        merge(&mut merged, written.clone());
        let sizes = by_games.layer(&games_of(&merged)?, written, preset.algorithm)?;
        merge(&mut config, sizes);
    }
    Ok(config)
}

/// Returns the ids of the games of an experiment. Unknown names are reported when the experiment is resolved.
fn games_of(experiment: &Table) -> Result<Vec<&'static str>> {
    let environments = without_absent(experiment).remove("environments");
    let environments = environments.unwrap_or_else(|| Value::Table(Table::new()));
    let environments: EnvironmentSettings = environments.try_into()?;
    Ok(selection::expand(environments.games.iter().map(String::as_str)).unwrap_or_default())
}

/// Returns all layers in one, in which later ones override earlier ones.
fn merged(layers: impl IntoIterator<Item = Table>) -> Table {
    layers.into_iter().fold(Table::new(), |mut base, layer| {
        merge(&mut base, layer);
        base
    })
}

/// Overrides `base` by `layer`, key by key.
pub(super) fn merge(base: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
