//! The per-game overrides of an experiment, for its plan.

use std::collections::BTreeMap;
use std::iter;

use anyhow::Result;

use super::plan_line::{LABEL_WIDTH, plan_line};
use crate::config::Experiment;
use crate::learner::to_table;
use crate::output::{WIDTH, wrapped};

/// The largest number of lines.
const LINES: usize = 10;

/// Returns the lines about games with overrides. Games with the same overrides share a line, which is broken if it is
/// too long.
pub(super) fn lines(experiment: &Experiment) -> Result<Vec<String>> {
    let mut games: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in experiment.games.names() {
        let Some(overrides) = experiment.environments.game.get(name) else { continue };
        let values = to_table(overrides)?;
        let values: Vec<String> = values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if !values.is_empty() {
            games.entry(values.join(", ")).or_default().push(name);
        }
    }
    let texts = games.into_iter().map(|(overrides, names)| format!("{overrides}: {}", names.join(", ")));
    let mut lines: Vec<String> = texts.flat_map(|text| wrapped(&text, WIDTH - LABEL_WIDTH)).collect();
    let hidden = lines.len().saturating_sub(LINES);
    if hidden > 0 {
        lines.truncate(LINES - 1);
        lines.push(format!("and {} more lines; config.toml has all overrides", hidden + 1));
    }
    let labels = iter::once("overrides").chain(iter::repeat(""));
    Ok(labels.zip(&lines).map(|(label, text)| plan_line(label, text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn lines_for(games: &[&str], overrides: impl Fn(usize, &str) -> String) -> Vec<String> {
        let sections = games
            .iter()
            .enumerate()
            .map(|(index, game)| format!("[environments.game.{game}]\n{}\n", overrides(index, game)));
        let text = format!("[environments]\ngames = {games:?}\n{}", sections.collect::<String>());
        lines(&config::from_toml(&text).unwrap().resolve().unwrap()).unwrap()
    }

    #[test]
    fn games_with_the_same_overrides_share_a_line() {
        let lines = lines_for(&["pong", "breakout", "boxing", "qbert"], |_, game| match game {
            "breakout" => "mode = 12\ndifficulty = 1".to_owned(),
            "qbert" => String::new(),
            _ => "num_envs = 2".to_owned(),
        });
        assert_eq!(
            lines,
            [
                "  overrides     difficulty = 1, mode = 12: breakout",
                "                num_envs = 2: pong, boxing"
            ]
        );
    }

    #[test]
    fn overrides_of_57_games_fit_a_terminal() {
        let atari57: Vec<&str> =
            ale::games().iter().filter(|game| game.atari57).map(|game| game.id).collect();
        let same = lines_for(&atari57, |_, _| "num_envs = 3".to_owned());
        let different = lines_for(&atari57, |index, _| format!("num_envs = {}", index + 1));
        for lines in [&same, &different] {
            assert!(lines.len() <= LINES && lines.iter().all(|line| line.len() <= WIDTH), "{lines:#?}");
        }
        assert!(
            same.last().unwrap().contains("zaxxon") || same.last().unwrap().contains("more lines"),
            "{same:#?}"
        );
        assert!(different[9].ends_with("and 48 more lines; config.toml has all overrides"), "{different:#?}");
    }
}
