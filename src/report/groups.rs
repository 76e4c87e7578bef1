use std::cmp::Reverse;

use super::group::{Group, games};
use super::labels::labels;
use super::runs::{RunHistory, Settings};

/// Keys and sections that do not change the experiment: runs that differ only in these belong to one group.
const INCIDENTAL: [&str; 6] = [
    "experiment.seed",
    "experiment.num_threads",
    "environments.halves",
    "checkpoints",
    "replay.folder",
    "distributed.report_ranks",
];

/// The games of a run. They do not change the experiment of runs with a single game, such as those of a benchmark that
/// trains an agent for each game.
const GAMES: &str = "environments.games";

/// Groups runs by their settings, in the given order.
pub(super) fn grouped(runs: Vec<RunHistory>) -> Vec<Group> {
    labelled(unlabelled(runs))
}

/// Groups runs by their settings, and the groups into parts that have no game in common, those with the most games
/// first. Labels tell the groups of a part apart.
pub(super) fn parts(runs: Vec<RunHistory>) -> Vec<Vec<Group>> {
    let mut parts: Vec<Vec<Group>> = Vec::new();
    for group in unlabelled(runs) {
        let shares_a_game = |part: &Vec<Group>| !games(part).is_disjoint(&group.games());
        let index = parts.iter().position(shares_a_game).unwrap_or(parts.len());
        let (mut same, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(shares_a_game);
        same.push(vec![group]);
        parts = others;
        parts.insert(index, same.into_iter().flatten().collect());
    }
    parts.sort_by_key(|part| Reverse(games(part).len()));
    parts.into_iter().map(labelled).collect()
}

fn unlabelled(runs: Vec<RunHistory>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        let settings = shared(&run);
        match groups.iter_mut().find(|group| group.settings == settings) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { label: String::new(), settings, runs: vec![run] }),
        }
    }
    groups
}

fn labelled(mut groups: Vec<Group>) -> Vec<Group> {
    for (index, label) in labels(&groups).into_iter().enumerate() {
        groups[index].label = label;
    }
    groups
}

/// Returns the settings without incidental ones.
fn shared(run: &RunHistory) -> Settings {
    let mut shared = run.settings.clone();
    shared.retain(|key, _| !is_incidental(key) && (key != GAMES || run.games.len() > 1));
    shared
}

fn is_incidental(key: &str) -> bool {
    INCIDENTAL.iter().any(|other| key == *other || key.starts_with(&format!("{other}.")))
}

#[cfg(test)]
mod tests {
    use super::super::group::in_words;
    use super::super::testing::finished_run;
    use super::*;

    #[test]
    fn runs_of_several_seeds_form_one_group() {
        let low = "[ppo]\ngamma = 0.9\n[experiment]\nseed = 1";
        let other_seed =
            "[ppo]\ngamma = 0.9\n[experiment]\nseed = 2\nnum_threads = 1\n[checkpoints]\nkeep_last = 9";
        let high = "[ppo]\ngamma = 0.99";
        let elsewhere = "[ppo]\ngamma = 0.9\n[replay]\nfolder = 'b'\n[distributed]\nreport_ranks = true";
        let runs = [("a", low), ("b", high), ("c", other_seed), ("d", elsewhere)]
            .map(|(name, config)| finished_run(name, config));
        let groups = grouped(runs.into());
        let names = |group: &Group| group.runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
        assert_eq!(groups.iter().map(names).collect::<Vec<_>>(), [vec!["a", "c", "d"], vec!["b"]]);
        assert_eq!(games(&groups).into_iter().collect::<Vec<_>>(), ["harvest"]);
    }

    fn label_and_runs(group: &Group) -> String {
        let names: Vec<&str> = group.runs.iter().map(|run| run.name.as_str()).collect();
        format!("{}: {}", group.label, names.join(" "))
    }

    #[test]
    fn runs_that_differ_in_their_only_game_form_one_group_and_groups_without_a_common_game_are_apart() {
        let config = |games: &str, more: &str| format!("{more}\n[environments]\ngames = [{games}]");
        let dqn = "[experiment]\nalgorithm = 'dqn'";
        let runs = [
            ("cartpole", config("'CartPole-v1'", "")),
            ("pong", config("'pong'", "")),
            ("dqn", config("'CartPole-v1'", dqn)),
            ("qbert", config("'qbert'", "")),
            ("both", config("'qbert', 'hero'", "")),
        ];
        let parts = parts(runs.iter().map(|(name, config)| finished_run(name, config)).collect());
        let shown: Vec<Vec<String>> =
            parts.iter().map(|part| part.iter().map(label_and_runs).collect()).collect();
        assert_eq!(
            shown,
            [
                vec!["PPO, 2 games, one at a time: pong qbert", "PPO, hero, qbert: both"],
                vec!["PPO: cartpole", "DQN: dqn"]
            ]
        );
        let games: Vec<String> = parts.iter().map(|part| in_words(&games(part))).collect();
        assert_eq!(games, ["hero, pong, qbert", "CartPole-v1"]);
    }
}
