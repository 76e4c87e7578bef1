//! All keys of an experiment, collected from the declarations of the settings.

use std::mem;

use algorithms::networks::PolicyConfig;
use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use rl_env::nearest;
use settings::{Field, Kind, Section};
use toml::{Table, Value};

use super::key_path::{self, quoted};
use super::sections::{
    CheckpointSettings, DistributedSettings, EnvironmentSettings, EvaluationSettings, RunSettings,
};
use super::suggestions::{has_values_of, similar, synonyms};
use super::values::{is_absent, read_value, unsets};
use crate::learner::Algorithm;
use crate::selection;

/// The field of every algorithm that is computed from `experiment.total_frames` and therefore is not a key.
pub(super) const DERIVED: &str = "total_steps";
/// The preset that a file starts from. It is not a key of an experiment.
pub(super) const PRESET: &str = "preset";
/// The prefix of the keys of single games, before the id of the game.
const OF_GAME: &str = "environments.game.";
/// The id that stands for any game in the names of keys.
const ANY_GAME: &str = "NAME";
/// The largest number of wrong keys that an error names.
const NAMED_ERRORS: usize = 10;

/// Returns the top-level sections of an experiment.
pub(super) fn sections() -> Vec<Section> {
    let mut sections = vec![
        Section::of::<RunSettings>("experiment"),
        Section::of::<EnvironmentSettings>("environments"),
        Section::of::<PolicyConfig>("policy"),
    ];
    // Learners with a replay share its section.
    for section in Algorithm::ALL.iter().flat_map(|algorithm| algorithm.descriptor().sections) {
        if sections.iter().all(|known| known.name != section.name) {
            sections.push(*section);
        }
    }
    sections.push(Section::of::<EvaluationSettings>("evaluation"));
    sections.push(Section::of::<CheckpointSettings>("checkpoints"));
    sections.push(Section::of::<DistributedSettings>("distributed"));
    sections
}

/// The keys of a section or subsection.
pub(super) struct Keys {
    /// The name of the section, such as `environments.game.NAME`.
    pub(super) section: String,
    /// The lines of its documentation.
    pub(super) lines: &'static [&'static str],
    pub(super) fields: Vec<&'static Field>,
}

/// Returns the keys of all sections, each followed by its subsections.
pub(super) fn keys() -> Vec<Keys> {
    let mut keys = Vec::new();
    for Section { name, lines, fields } in sections() {
        collect(name, lines, fields, &mut keys);
    }
    keys
}

fn collect(section: &str, lines: &'static [&'static str], fields: &'static [Field], keys: &mut Vec<Keys>) {
    let is_section = |field: &Field| matches!(field.kind, Kind::Section { .. } | Kind::Tables { .. });
    let is_key = |field: &&Field| field.name != DERIVED && !is_section(field);
    keys.push(Keys { section: section.to_owned(), lines, fields: fields.iter().filter(is_key).collect() });
    for field in fields {
        match field.kind {
            Kind::Section { lines, fields } => {
                collect(&format!("{section}.{}", field.name), lines, fields, keys);
            }
            Kind::Tables { lines, fields } => {
                collect(&format!("{section}.{}.{ANY_GAME}", field.name), lines, fields, keys);
            }
            _ => {}
        }
    }
}

/// Returns the declaration of a key such as `ppo.gamma`. Keys within a [table](Kind::Table), such as
/// `environments.gymnasium.kwargs.n`, have the declaration of the table.
pub(crate) fn field(key: &str) -> Option<&'static Field> {
    let (key, _) = without_game(key);
    let (section, name) = key.rsplit_once('.')?;
    let keys = keys().into_iter().find(|keys| keys.section == section);
    let field = keys.and_then(|keys| keys.fields.into_iter().find(|field| field.name == name));
    field.or_else(|| table_around(section))
}

/// Returns the declaration of the [table](Kind::Table) with this key, or of one around it.
fn table_around(key: &str) -> Option<&'static Field> {
    field(key).filter(|field| matches!(field.kind, Kind::Table { .. }))
}

/// Returns the documentation of a key as the help of a flag: without backticks and the period at its end.
pub(crate) fn help(key: &str) -> String {
    let about = field(key).unwrap_or_else(|| unreachable!("{key} is a key")).about();
    about.trim_end_matches('.').replace('`', "")
}

/// Returns every key with its documentation.
pub(crate) fn keys_with_help() -> Vec<(String, String)> {
    let mut documented = Vec::new();
    for Keys { section, fields, .. } in keys() {
        documented.extend(fields.iter().map(|field| (format!("{section}.{}", field.name), field.about())));
    }
    documented
}

/// Returns true if a section configures other algorithms only.
pub(super) fn is_unused(section: &str, algorithm: Algorithm) -> bool {
    !configures(section, algorithm) && Algorithm::ALL.iter().any(|&algorithm| configures(section, algorithm))
}

/// Returns true if a section, or the one around it, configures an algorithm.
fn configures(section: &str, algorithm: Algorithm) -> bool {
    let (section, _) = key_path::split_first(section);
    algorithm.descriptor().sections.iter().any(|known| known.name == section)
}

/// A key that a flag is named after.
pub(crate) struct KeyOfFlag {
    /// The key, such as `ppo.learning_rate` for `--learning-rate`.
    pub(crate) key: String,
    /// True if the key is a switch, which the flag alone turns on.
    pub(crate) is_switch: bool,
    /// True if the value of the flag is also a value of the key, with the same unit.
    pub(crate) has_same_values: bool,
}

/// Returns the key that a flag is named after. The keys of `algorithm`, if it is known, come before others of the same
/// name. `may_be_misspelt` accepts near names.
pub(crate) fn key_of_flag(
    flag: &str,
    algorithm: Option<Algorithm>,
    may_be_misspelt: bool,
) -> Option<KeyOfFlag> {
    let mut sections = keys();
    sections.retain(|keys| !keys.section.starts_with(OF_GAME));
    if let Some(algorithm) = algorithm {
        sections.retain(|keys| !is_unused(&keys.section, algorithm));
        sections.sort_by_key(|keys| keys.section != algorithm.name());
    }
    let known: Vec<String> = sections.iter().flat_map(names).collect();
    let name = flag.replace('-', "_");
    let same = known.iter().find(|key| **key == name).map(String::as_str);
    let same = same.or_else(|| synonyms(&name, &known).first().copied());
    let near = || if may_be_misspelt { similar(&name, &known).first().copied() } else { None };
    let key = same.or_else(near)?;
    let has_same_values = has_values_of(&name, key);
    let is_switch = has_same_values && matches!(field(key)?.kind, Kind::Boolean);
    Some(KeyOfFlag { key: key.to_owned(), is_switch, has_same_values })
}

/// Returns a layer of an experiment with normalised values. Fails if there are unknown keys, and at the first value of
/// the wrong kind.
pub(super) fn read(mut layer: Table) -> Result<Table> {
    check_keys(&layer)?;
    use_ids(&mut layer)?;
    for key in leaf_keys(&layer) {
        let is_in_table = table_around(key_path::split_last(&key).0).is_some();
        if !is_in_table && let (Some(field), Some(value)) = (field(&key), value_of_mut(&mut layer, &key)) {
            *value = read_value(&key, field, value)?;
        }
    }
    Ok(layer)
}

/// Replaces other spellings of the games that have overrides with their ids.
fn use_ids(layer: &mut Table) -> Result<()> {
    let Some(Value::Table(games)) = value_of_mut(layer, OF_GAME.trim_end_matches('.')) else { return Ok(()) };
    selection::check_number(games.len()).context("environments.game")?;
    for (name, overrides) in mem::take(games) {
        let id = selection::id_of_spelling(&name).map_or(name.clone(), str::to_owned);
        let repeated = games.insert(id.clone(), overrides).is_some();
        ensure!(!repeated, "{OF_GAME}{name} is not possible: another section already configures {id}");
    }
    Ok(())
}

/// Returns an experiment without the optional keys, and the sections of games, that are set to `absent`.
pub(super) fn without_absent(experiment: &Table) -> Table {
    let mut present = experiment.clone();
    for (key, value) in leaves(experiment) {
        let is_unset = match field(&key) {
            Some(field) => unsets(field, value),
            None => is_absent(value) && is_of_games(&without_game(&key).0),
        };
        let (section, name) = key_path::split_last(&key);
        if is_unset && let Some(Value::Table(section)) = value_of_mut(&mut present, section) {
            section.remove(name);
        }
    }
    present
}

/// Returns the keys that an experiment could have but does not set, without those of single games.
pub(super) fn absent_keys(experiment: &Table, algorithm: Algorithm) -> Vec<String> {
    let present = leaf_keys(experiment);
    let is_absent = |key: &String| {
        let keys_within = format!("{key}.");
        !present.iter().any(|present| present == key || present.starts_with(&keys_within))
    };
    let sections = keys()
        .into_iter()
        .filter(|keys| !keys.section.starts_with(OF_GAME) && !is_unused(&keys.section, algorithm));
    sections.flat_map(|keys| names(&keys)).filter(is_absent).collect()
}

/// Returns the value of a key such as `ppo.gamma`.
pub(super) fn value_of_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    match key_path::split_first(key) {
        (section, Some(rest)) => value_of_mut(table.get_mut(section)?.as_table_mut()?, rest),
        (name, None) => table.get_mut(name),
    }
}

/// Fails if there are unknown keys, and names the first few.
fn check_keys(layer: &Table) -> Result<()> {
    check_quotes(layer, "")?;
    let known: Vec<String> = keys().iter().flat_map(names).collect();
    let leaves = leaves(layer);
    let mut errors = leaves.iter().filter_map(|(key, value)| check_key(key, value, &known).err());
    let Some(first) = errors.next() else { return Ok(()) };
    let others: Vec<String> = errors.take(NAMED_ERRORS - 1).map(|error| format!("\n  {error}")).collect();
    if others.is_empty() {
        Err(first)
    } else {
        bail!("several keys are wrong:\n  {first}{}", others.concat())
    }
}

/// Fails if a key is unknown, or has a value although it is a section.
fn check_key(written: &str, value: &Value, known: &[String]) -> Result<()> {
    let (key, game) = without_game(written);
    if known.contains(&key) || field(&key).is_some() {
        return Ok(());
    }
    if let Some(example) = known.iter().find(|known| known.starts_with(&format!("{key}."))) {
        if is_absent(value) && is_of_games(&key) {
            return game.map_or(Ok(()), |game| selection::expand([game]).map(|_| ()));
        }
        ensure!(
            value.is_table(),
            "{written} = {value} is not possible: it is a section with keys such as {}",
            with_game(example, game)
        );
        return Ok(());
    }
    let is_derived = |section: &Section| key == format!("{}.{DERIVED}", section.name);
    if Algorithm::ALL.iter().any(|algorithm| algorithm.descriptor().sections.iter().any(is_derived)) {
        bail!("{key} is computed from experiment.total_frames; set that key instead")
    }
    Err(unknown(written, value, known))
}

/// Returns true for the sections of games: that of a single game, and the one that contains all of them.
fn is_of_games(section: &str) -> bool {
    [OF_GAME.trim_end_matches('.'), &format!("{OF_GAME}{ANY_GAME}")].contains(&section)
}

/// Returns the error about an unknown key. It suggests keys or, if none is similar, names what is allowed.
fn unknown(written: &str, value: &Value, known: &[String]) -> Error {
    let completed = complete_key_of_game(written);
    let (key, game) = without_game(completed.as_deref().unwrap_or(written));
    let is_usable = |known: &&String| game.is_some() || !known.starts_with(OF_GAME);
    let known: &[String] = &known.iter().filter(is_usable).cloned().collect::<Vec<_>>();
    let mut meant = if known.contains(&key) { vec![key.as_str()] } else { synonyms(&key, known) };
    let of_game = key_per_game(&key, game);
    if meant.is_empty() {
        meant = of_game.as_ref().map_or_else(|| similar(&key, known), |key| vec![key]);
    }
    let meant_keys: Vec<String> = meant.iter().map(|key| format!("'{}'", with_game(key, game))).collect();
    let section = key.rsplit_once('.').map_or("", |(section, _)| section);
    if value.is_table()
        && let [near, ..] = nearest(written, sections().iter().map(|section| section.name))[..]
    {
        return anyhow!("unknown section [{written}]; did you mean [{near}]?");
    }
    if game.is_some() && !meant.is_empty() && meant.iter().all(|key| !key.starts_with(OF_GAME)) {
        let (common, per_game) = (meant_keys.join(" and "), names_in(section).join(", "));
        return anyhow!(
            "{written} is not possible: {common} cannot differ between games; only {per_game} can"
        );
    }
    if key.rsplit('.').next() == Some(PRESET) {
        return anyhow!(
            "unknown key '{written}'; write `{PRESET} = \"NAME\"` before the first section of a file, or use --{PRESET}"
        );
    }
    match names_in(section) {
        _ if !meant.is_empty() => {
            anyhow!("unknown key '{written}'; did you mean {}?", meant_keys.join(" or "))
        }
        names if names.is_empty() => anyhow!("unknown key '{written}'; the sections are {}", section_names()),
        names => anyhow!("unknown key '{written}'; the keys of this section are {}", names.join(", ")),
    }
}

/// Returns the key of single games that has the name of `key`, if `key` is none of a game.
fn key_per_game(key: &str, game: Option<&str>) -> Option<String> {
    let section = format!("{OF_GAME}{ANY_GAME}");
    let name = key.rsplit('.').next().filter(|name| game.is_none() && names_in(&section).contains(name))?;
    Some(format!("{section}.{name}"))
}

/// Fails at a quoted key with dots that is not a game. It looks like a path of keys but is a single one.
fn check_quotes(layer: &Table, section: &str) -> Result<()> {
    layer.iter().try_for_each(|(key, value)| {
        let is_game = section == OF_GAME;
        ensure!(is_game || !key.contains('.'), "unknown key '\"{key}\"'; write it without quotes: {key}");
        let inner = |table| check_quotes(table, &format!("{section}{}.", quoted(key)));
        value.as_table().map_or(Ok(()), inner)
    })
}

fn names(keys: &Keys) -> Vec<String> {
    keys.fields.iter().map(|field| format!("{}.{}", keys.section, field.name)).collect()
}

/// Returns the names of the keys of a section, none if it is unknown.
fn names_in(section: &str) -> Vec<&'static str> {
    let keys = keys().into_iter().find(|keys| keys.section == section);
    keys.map(|keys| keys.fields.iter().map(|field| field.name).collect()).unwrap_or_default()
}

fn section_names() -> String {
    sections().iter().map(|section| section.name).collect::<Vec<_>>().join(", ")
}

/// Replaces the id of a game in a key by the one that stands for any game, and returns both.
fn without_game(key: &str) -> (String, Option<&str>) {
    let Some(rest) = key.strip_prefix(OF_GAME) else { return (key.to_owned(), None) };
    match key_path::split_first(rest) {
        (game, Some(rest)) => (format!("{OF_GAME}{ANY_GAME}.{rest}"), Some(game)),
        // A section without keys.
        (game, None) => (format!("{OF_GAME}{ANY_GAME}"), Some(game)),
    }
}

/// Replaces the id that stands for any game by that of a game.
fn with_game(key: &str, game: Option<&str>) -> String {
    match game {
        Some(game) => key.replacen(&format!("{OF_GAME}{ANY_GAME}"), &format!("{OF_GAME}{}", quoted(game)), 1),
        None => key.to_owned(),
    }
}

/// Returns the whole of a key of a game that lacks its beginning, such as `breakout.mode` or `game.breakout.mode`.
fn complete_key_of_game(key: &str) -> Option<String> {
    let rest = key.strip_prefix("environments.").unwrap_or(key);
    let rest = rest.strip_prefix("game.").unwrap_or(rest);
    let (game, of_game) = key_path::split_first(rest);
    selection::id_of_spelling(game).and(of_game).map(|_| format!("{OF_GAME}{rest}"))
}

/// Returns the names of the values of a table, such as `ppo.gamma`, and of its empty tables.
pub(super) fn leaf_keys(table: &Table) -> Vec<String> {
    leaves(table).into_iter().map(|(key, _)| key).collect()
}

fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut values = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                values.extend(
                    leaves(inner).into_iter().map(|(rest, value)| (format!("{}.{rest}", quoted(key)), value)),
                );
            }
            _ => values.push((quoted(key).into_owned(), value)),
        }
    }
    values
}
