//! All keys of an experiment, collected from the declarations of the settings.

use algorithms::networks::PolicyConfig;
use anyhow::{Result, bail, ensure};
use rl_env::nearest;
use settings::{Field, Kind, Section};
use toml::{Table, Value};

use super::sections::{
    CheckpointSettings, DistributedSettings, EnvironmentSettings, EvaluationSettings, RunSettings,
};
use super::values::{read_value, unsets};
use crate::learner::Algorithm;

/// The field of every algorithm that is computed from `experiment.total_frames` and therefore is not a key.
pub(super) const DERIVED: &str = "total_steps";
/// The prefix of the keys of single games, before the id of the game.
const OF_GAME: &str = "environments.game.";
/// The id that stands for any game in the names of keys.
const ANY_GAME: &str = "NAME";

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
    let is_key = |field: &&Field| field.name != DERIVED && !matches!(field.kind, Kind::Tables { .. });
    keys.push(Keys { section: section.to_owned(), lines, fields: fields.iter().filter(is_key).collect() });
    for field in fields {
        if let Kind::Tables { lines, fields } = field.kind {
            collect(&format!("{section}.{}.{ANY_GAME}", field.name), lines, fields, keys);
        }
    }
}

/// Returns the declaration of a key such as `ppo.gamma`.
pub(crate) fn field(key: &str) -> Option<&'static Field> {
    let (key, _) = without_game(key);
    let (section, name) = key.rsplit_once('.')?;
    let keys = keys().into_iter().find(|keys| keys.section == section)?;
    keys.fields.into_iter().find(|field| field.name == name)
}

/// Returns the documentation of a key as the help of a flag: without backticks and the period at its end.
pub(crate) fn help(key: &str) -> String {
    let about = field(key).unwrap_or_else(|| unreachable!("{key} is a key")).about();
    about.trim_end_matches('.').replace('`', "")
}

/// Returns every key with its documentation.
pub(crate) fn keys_with_help() -> Vec<(String, String)> {
    let of_section = |keys: Keys| {
        let with_help = |field: &&Field| (format!("{}.{}", keys.section, field.name), field.about());
        keys.fields.iter().map(with_help).collect::<Vec<_>>()
    };
    keys().into_iter().flat_map(of_section).collect()
}

/// Returns true if a section configures other algorithms only.
pub(super) fn is_unused(section: &str, algorithm: Algorithm) -> bool {
    let configures =
        |algorithm: &Algorithm| algorithm.descriptor().sections.iter().any(|own| own.name == section);
    !configures(&algorithm) && Algorithm::ALL.iter().any(configures)
}

/// Returns the key that a flag is named after, such as `ppo.learning_rate` for `learning-rate`, and true if it is a switch.
/// The keys of `algorithm`, if it is known, come before others of the same name. `may_be_misspelt` accepts near names.
pub(crate) fn key_of_flag(
    flag: &str,
    algorithm: Option<Algorithm>,
    may_be_misspelt: bool,
) -> Option<(String, bool)> {
    let is_own = |keys: &Keys| algorithm.is_some_and(|algorithm| keys.section == algorithm.name());
    let is_usable = |keys: &Keys| {
        let is_unused = algorithm.is_some_and(|algorithm| is_unused(&keys.section, algorithm));
        !is_unused && !keys.section.starts_with(OF_GAME)
    };
    let mut sections = keys();
    sections.retain(is_usable);
    sections.sort_by_key(|keys| !is_own(keys));
    let known: Vec<String> = sections.iter().flat_map(names).collect();
    let name = flag.replace('-', "_");
    let exact = known.iter().find(|key| **key == name || key.rsplit('.').next() == Some(&name));
    let near = || if may_be_misspelt { nearest_keys(&name, &known).first().copied() } else { None };
    let key = exact.map(String::as_str).or_else(near)?;
    Some((key.to_owned(), matches!(field(key)?.kind, Kind::Boolean)))
}

/// Returns a layer of an experiment with normalised values. Fails at the first unknown key, and at the first value of
/// the wrong kind.
pub(super) fn read(mut layer: Table) -> Result<Table> {
    check_keys(&layer)?;
    for key in leaf_keys(&layer) {
        if let (Some(field), Some(value)) = (field(&key), value_of_mut(&mut layer, &key)) {
            *value = read_value(&key, field, value)?;
        }
    }
    Ok(layer)
}

/// Returns an experiment without the optional keys that are set to `absent`.
pub(super) fn without_absent(experiment: &Table) -> Table {
    let mut present = experiment.clone();
    for (key, value) in leaves(experiment) {
        if field(&key).is_some_and(|field| unsets(field, value))
            && let Some((section, name)) = key.rsplit_once('.')
            && let Some(Value::Table(section)) = value_of_mut(&mut present, section)
        {
            section.remove(name);
        }
    }
    present
}

/// Returns the value of a key such as `ppo.gamma`.
fn value_of_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    match key.split_once('.') {
        Some((section, rest)) => value_of_mut(table.get_mut(section)?.as_table_mut()?, rest),
        None => table.get_mut(key),
    }
}

/// Fails at the first unknown key.
fn check_keys(layer: &Table) -> Result<()> {
    check_quotes(layer)?;
    let known: Vec<String> = keys().iter().flat_map(names).collect();
    for (key, value) in leaves(layer) {
        let (key, game) = without_game(&key);
        if known.contains(&key) {
            continue;
        }
        let with_game = |key: &str| match game {
            Some(game) => key.replacen(&format!("{OF_GAME}{ANY_GAME}"), &format!("{OF_GAME}{game}"), 1),
            None => key.to_owned(),
        };
        if let Some(example) = known.iter().find(|known| known.starts_with(&format!("{key}."))) {
            ensure!(
                value.is_table(),
                "{} = {value} is not possible: it is a section with keys such as {}",
                with_game(&key),
                with_game(example)
            );
            continue;
        }
        let is_derived = |section: &Section| key == format!("{}.{DERIVED}", section.name);
        if Algorithm::ALL.iter().any(|algorithm| algorithm.descriptor().sections.iter().any(is_derived)) {
            bail!("{key} is computed from experiment.total_frames; set that key instead")
        }
        let near: Vec<String> =
            nearest_keys(&key, &known).into_iter().map(|near| format!("'{}'", with_game(near))).collect();
        if near.is_empty() {
            bail!("unknown key '{}'; the sections are {}", with_game(&key), section_names())
        }
        bail!("unknown key '{}'; did you mean {}?", with_game(&key), near.join(" or "))
    }
    Ok(())
}

/// Fails at a quoted key with dots. It looks like a path of keys but is a single one.
fn check_quotes(layer: &Table) -> Result<()> {
    layer.iter().try_for_each(|(key, value)| {
        ensure!(!key.contains('.'), "unknown key '\"{key}\"'; write it without quotes: {key}");
        value.as_table().map_or(Ok(()), check_quotes)
    })
}

fn names(keys: &Keys) -> Vec<String> {
    keys.fields.iter().map(|field| format!("{}.{}", keys.section, field.name)).collect()
}

fn section_names() -> String {
    sections().iter().map(|section| section.name).collect::<Vec<_>>().join(", ")
}

/// Replaces the id of a game in a key by the one that stands for any game, and returns both.
fn without_game(key: &str) -> (String, Option<&str>) {
    let Some(rest) = key.strip_prefix(OF_GAME) else { return (key.to_owned(), None) };
    match rest.split_once('.') {
        Some((game, rest)) => (format!("{OF_GAME}{ANY_GAME}.{rest}"), Some(game)),
        // A section without keys.
        None => (format!("{OF_GAME}{ANY_GAME}"), Some(rest)),
    }
}

/// Returns the keys that `key` may be a misspelling of: one as a whole, or all with a similar last part.
fn nearest_keys<'a>(key: &str, known: &'a [String]) -> Vec<&'a str> {
    let keys = || known.iter().map(String::as_str);
    if let Some(&similar) = nearest(key, keys()).first() {
        return vec![similar];
    }
    let name = |key: &'a str| key.rsplit('.').next().unwrap_or(key);
    let similar = nearest(key.rsplit('.').next().unwrap_or(key), keys().map(name)).first().copied();
    keys().filter(|key| Some(name(key)) == similar).collect()
}

/// Returns the names of the values of a table, such as `ppo.gamma`, and of its empty tables.
pub(super) fn leaf_keys(table: &Table) -> Vec<String> {
    leaves(table).into_iter().map(|(key, _)| key).collect()
}

fn leaves(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                found.extend(leaves(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            _ => found.push((key.clone(), value)),
        }
    }
    found
}
