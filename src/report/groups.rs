use std::collections::BTreeSet;

use super::curve::{self, Band};
use super::labels::labels;
use super::runs::{RunHistory, Settings};

/// Keys, and sections of keys, that do not change the experiment: runs that differ only in them are in one group.
const INCIDENTAL: [&str; 4] =
    ["experiment.seed", "experiment.num_threads", "environments.halves", "checkpoints"];

/// Runs of the same experiment with several seeds.
pub(super) struct Group {
    /// The algorithm and the keys in which the groups differ, in short.
    pub(super) label: String,
    /// The settings that the runs share.
    pub(super) settings: Settings,
    pub(super) runs: Vec<RunHistory>,
}

/// Groups runs by their settings, in the given order.
pub(super) fn grouped(runs: Vec<RunHistory>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        let settings = shared(&run.settings);
        match groups.iter_mut().find(|group| group.settings == settings) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { label: String::new(), settings, runs: vec![run] }),
        }
    }
    for (index, label) in labels(&groups).into_iter().enumerate() {
        groups[index].label = label;
    }
    groups
}

/// Returns the settings without incidental ones.
fn shared(settings: &Settings) -> Settings {
    let is_incidental =
        |key: &str| INCIDENTAL.iter().any(|other| key == *other || key.starts_with(&format!("{other}.")));
    let shared = settings.iter().filter(|(key, _)| !is_incidental(key));
    shared.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Returns the games of all groups, sorted.
pub(super) fn games(groups: &[Group]) -> BTreeSet<&str> {
    let runs = groups.iter().flat_map(|group| &group.runs);
    runs.flat_map(|run| run.games.keys().map(String::as_str)).collect()
}

impl Group {
    /// Returns the name of the algorithm.
    pub(super) fn algorithm(&self) -> &'static str {
        self.runs[0].experiment.run.algorithm.descriptor().title
    }

    /// Returns the scores in a game of all runs that have one.
    pub(super) fn scores(&self, game: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.games.get(game)?.score()).collect()
    }

    /// Returns the learning curve of a game over the runs.
    pub(super) fn returns(&self, game: &str) -> Vec<Band> {
        curve::band(self.runs.iter().filter_map(|run| Some(&run.games.get(game)?.curve)))
    }

    /// Returns the curve of a tag of all games together, over the runs.
    pub(super) fn diagnostic(&self, tag: &str) -> Vec<Band> {
        curve::band(self.runs.iter().filter_map(|run| run.diagnostics.get(tag)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    #[test]
    fn runs_of_several_seeds_form_one_group() {
        let low = "[ppo]\ngamma = 0.9\n[experiment]\nseed = 1";
        let other_seed =
            "[ppo]\ngamma = 0.9\n[experiment]\nseed = 2\nnum_threads = 1\n[checkpoints]\nkeep_last = 9";
        let high = "[ppo]\ngamma = 0.99";
        let runs = [("a", low), ("b", high), ("c", other_seed)].map(|(name, config)| run(name, config));
        let groups = grouped(runs.into());
        let names = |group: &Group| group.runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
        assert_eq!(groups.iter().map(names).collect::<Vec<_>>(), [vec!["a", "c"], vec!["b"]]);
        assert_eq!(games(&groups).into_iter().collect::<Vec<_>>(), ["harvest"]);
    }
}
