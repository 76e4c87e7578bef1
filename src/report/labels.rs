//! Short names of groups: the algorithm, and the few keys in which groups of the same algorithm differ.

use std::collections::BTreeSet;

use toml::Value;

use super::group::{Group, in_words};
use super::runs::Settings;

/// The largest number of keys in a label.
const KEYS: usize = 3;
/// The largest number of characters of a label. If any would be longer, groups are called by their runs.
const LONGEST: usize = 48;
/// The largest number of characters of a value in a label.
const WIDTH: usize = 32;
/// Sections of keys, the most informative first. The sections of algorithms precede them.
const SECTIONS: [&str; 4] = ["policy", "environments", "experiment", "evaluation"];

/// Returns a label for each group: the name that the user gave to its runs, if all of them have the same one. Without
/// names, a single run is called by its directory, and so are all groups if their settings are too long.
pub(super) fn labels(groups: &[Group]) -> Vec<String> {
    let labels: Vec<String> = std::iter::zip(groups, from_settings(groups))
        .map(|(group, label)| given(group).map_or(label, str::to_owned))
        .collect();
    labels.iter().zip(groups).map(|(label, group)| unique_label(label, group, &labels)).collect()
}

/// Returns the name that the user gave to all runs of a group.
fn given(group: &Group) -> Option<&str> {
    let name = group.runs[0].setting.as_deref()?;
    group.runs.iter().all(|run| run.setting.as_deref() == Some(name)).then_some(name)
}

/// Returns the labels of groups without names.
fn from_settings(groups: &[Group]) -> Vec<String> {
    if let [Group { runs, .. }] = groups
        && let [run] = runs.as_slice()
    {
        return vec![run.name.clone()];
    }
    let labels: Vec<String> = groups.iter().map(|group| label(group, groups)).collect();
    if labels.iter().any(|label| label.chars().count() > LONGEST) {
        let names: Vec<String> = groups.iter().map(named_by_runs).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    labels
}

/// Returns the label of a group, with the name of a run if another group has the same label: the groups differ in more
/// keys than a label shows.
fn unique_label(label: &str, group: &Group, labels: &[String]) -> String {
    if labels.iter().filter(|other| *other == label).count() > 1 {
        format!("{label} ({})", group.runs[0].name)
    } else {
        label.to_owned()
    }
}

/// Returns the name of the first run, and the number of the others.
fn named_by_runs(group: &Group) -> String {
    match group.runs.as_slice() {
        [run] => run.name.clone(),
        [first, others @ ..] => format!("{} and {} more", first.name, others.len()),
        [] => String::new(),
    }
}

fn label(group: &Group, groups: &[Group]) -> String {
    let games = group.games();
    let is_rival = |other: &&Group| other.algorithm() == group.algorithm() && other.games() == games;
    let rivals: Vec<&Settings> = groups.iter().filter(is_rival).map(|other| &other.settings).collect();
    let keys = distinguishing(differing(&rivals), &rivals);
    let of_games = groups.iter().any(|other| other.games() != games).then(|| named(&games, group));
    let parts = keys.iter().map(|key| {
        let value = group.settings.get(key).map_or_else(|| "unset".to_owned(), |value| short(&shown(value)));
        format!("{} {value}", last_part(key, &keys))
    });
    std::iter::once(group.algorithm().to_owned()).chain(of_games).chain(parts).collect::<Vec<_>>().join(", ")
}

/// Returns a short name for the games of a group.
fn named(games: &BTreeSet<&str>, group: &Group) -> String {
    let is_of_one = group.runs[0].games.len() == 1;
    if is_of_one && games.len() > 1 {
        format!("{} games, one at a time", games.len())
    } else {
        short(&in_words(games))
    }
}

/// Returns the keys whose values differ between settings, sorted.
pub(super) fn differing(settings: &[&Settings]) -> Vec<String> {
    let keys: BTreeSet<&String> = settings.iter().flat_map(|settings| settings.keys()).collect();
    let differs = |key: &&String| settings.iter().any(|other| other.get(*key) != settings[0].get(*key));
    keys.into_iter().filter(differs).cloned().collect()
}

/// Returns all keys if they are few, or else the few keys that distinguish most of the settings.
fn distinguishing(mut keys: Vec<String>, settings: &[&Settings]) -> Vec<String> {
    keys.sort_by_key(|key| rank(key));
    if keys.len() <= KEYS {
        return keys;
    }
    let mut chosen: Vec<String> = Vec::new();
    while chosen.len() < KEYS && count_distinct(settings, &chosen) < settings.len() {
        // Of equally good keys, the first.
        let best = keys.iter().rev().max_by_key(|key| {
            let extended = [chosen.as_slice(), std::slice::from_ref(*key)].concat();
            count_distinct(settings, &extended)
        });
        let Some(best) = best.cloned() else { break };
        keys.retain(|key| *key != best);
        chosen.push(best);
    }
    chosen
}

/// Returns the number of settings that differ in the values of these keys.
fn count_distinct(settings: &[&Settings], keys: &[String]) -> usize {
    let values = settings.iter().map(|settings| -> Vec<String> {
        keys.iter().map(|key| settings.get(key).map(Value::to_string).unwrap_or_default()).collect()
    });
    values.collect::<BTreeSet<_>>().len()
}

/// Returns the rank of a key in a label: the keys of the algorithm come first.
fn rank(key: &str) -> usize {
    let section = key.split('.').next().unwrap_or(key);
    match SECTIONS.iter().position(|known| *known == section) {
        None => 0,
        Some(index) => 1 + index,
    }
}

/// Returns a key without its section if no other key has the same last part.
fn last_part<'a>(key: &'a str, keys: &[String]) -> &'a str {
    let last = |key: &'a str| key.rsplit('.').next().unwrap_or(key);
    let is_unique = keys.iter().filter(|other| other.rsplit('.').next() == Some(last(key))).count() == 1;
    if is_unique { last(key) } else { key }
}

/// Returns a value as text without quotes.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn short(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    text.chars().take(WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::groups::grouped;
    use super::super::runs::RunHistory;
    use super::super::testing::finished_run;

    fn labels(configs: &[(&str, &str)]) -> Vec<String> {
        let runs = configs.iter().map(|(name, config)| finished_run(name, config)).collect();
        grouped(runs).into_iter().map(|group| group.label).collect()
    }

    #[test]
    fn names_single_runs_by_directory_and_groups_by_algorithm() {
        assert_eq!(labels(&[("first", "")]), ["first"]);
        assert_eq!(labels(&[("first", ""), ("second", "[experiment]\nseed = 2")]), ["PPO"]);
    }

    #[test]
    fn names_of_the_user_replace_labels_and_stay_distinct() {
        let named = |name: &str, setting: Option<&str>, config: &str| RunHistory {
            setting: setting.map(str::to_owned),
            ..finished_run(name, config)
        };
        let runs = vec![
            named("a", Some("base"), ""),
            named("b", Some("base"), "[experiment]\nseed = 2"),
            named("c", None, "[ppo]\ngamma = 0.9"),
            named("d", Some("base"), "[ppo]\ngamma = 0.8"),
        ];
        let labels: Vec<String> = grouped(runs).into_iter().map(|group| group.label).collect();
        assert_eq!(labels, ["base (a)", "PPO, gamma 0.9", "base (d)"]);
        let single = grouped(vec![named("a", Some("</script>"), "")]);
        assert_eq!(single[0].label, "</script>");
    }

    #[test]
    fn unlike_algorithms_are_named_without_keys() {
        let configs =
            [("a", ""), ("b", "[experiment]\nalgorithm = 'dqn'"), ("c", "[experiment]\nalgorithm = 'pqn'")];
        assert_eq!(labels(&configs), ["PPO", "DQN", "PQN"]);
    }

    #[test]
    fn groups_of_an_algorithm_are_named_by_the_keys_in_which_they_differ() {
        let configs = [
            ("a", "[ppo]\nlearning_rate = 1e-3\n[policy]\nlayer_norm = true"),
            ("b", "[ppo]\nlearning_rate = 1e-4"),
            ("c", "[experiment]\nalgorithm = 'dqn'"),
        ];
        let expected = [
            "PPO, learning_rate 0.001, layer_norm true",
            "PPO, learning_rate 0.0001, layer_norm unset",
            "DQN",
        ];
        assert_eq!(labels(&configs), expected);
        let games =
            [("a", "[environments]\ngames = ['pong']"), ("b", "[environments]\ngames = ['qbert', 'pong']")];
        assert_eq!(labels(&games), ["PPO, pong", "PPO, pong, qbert"]);
    }

    #[test]
    fn groups_whose_settings_are_long_are_named_by_their_runs() {
        const OTHERS: &str = "'boxing', 'breakout', 'freeway'";
        let many = |game: &str, more: &str| format!("{more}\n[environments]\ngames = [{game}, {OTHERS}]");
        let scaled = "[policy]\nvalue_scale = 'popart'\n[experiment]\nseed = ";
        let configs = [
            ("transfer", many("'pong'", "")),
            ("scaled-1", many("'pong'", &format!("{scaled}1"))),
            ("scaled-2", many("'pong'", &format!("{scaled}2"))),
            ("other", many("'qbert'", "")),
        ];
        let configs: Vec<(&str, &str)> =
            configs.iter().map(|(name, config)| (*name, config.as_str())).collect();
        assert_eq!(labels(&configs), ["transfer", "scaled-1 and 1 more", "other"]);
        // The same name in two directories.
        let mut ambiguous = configs;
        ambiguous[3].0 = "transfer";
        let settings = labels(&ambiguous);
        assert!(settings[0].starts_with("PPO, boxing, breakout, freeway, pong"), "{settings:?}");
    }

    #[test]
    fn groups_that_differ_in_many_keys_are_named_by_few() {
        const COMMON: &str = "num_steps = 32\nnum_minibatches = 2\n[policy]\nlayer_norm = true";
        let with_gamma = |gamma: &str| format!("[ppo]\nlearning_rate = 1e-3\ngamma = {gamma}\n{COMMON}");
        let configs = [("a", String::new()), ("b", with_gamma("0.9")), ("c", with_gamma("0.8"))];
        let configs: Vec<(&str, &str)> =
            configs.iter().map(|(name, config)| (*name, config.as_str())).collect();
        assert_eq!(labels(&configs), ["PPO, gamma 0.99", "PPO, gamma 0.9", "PPO, gamma 0.8"]);
    }
}
