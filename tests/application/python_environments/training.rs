//! Learners learn in environments of Python, from what these report.

use std::fs;

use serde_json::Value;

use super::Modules;
use crate::program::{curves, outcome, run};

#[test]
fn actions_that_a_mask_does_not_allow_are_never_chosen_and_all_learners_learn() {
    let Some(modules) = Modules::new() else { return };
    for settings in [
        "ppo --total-frames 8000 --set ppo.learning_rate=0.003",
        "pqn --total-frames 8000 --set pqn.learning_rate=0.003 --set pqn.start_e=0.5",
        "dqn --total-frames 4000 --set dqn.learning_starts=100 --set dqn.learning_rate=0.003",
        "dqn --total-frames 4000 --set dqn.learning_starts=100 --set dqn.dueling=true --set dqn.learning_rate=0.003 \
         --set environments.gymnasium.kwargs.keys=3",
        "ppo --total-frames 12000 --set ppo.learning_rate=0.003 --set environments.gymnasium.kwargs.keys=3",
    ] {
        let run = modules.run("run");
        let line = modules.train("run", settings).words("--env python:envs:Doors");
        let line = line
            .set("environments.gymnasium.action_masks", true)
            .settings(&["evaluation.greedy=true", "evaluation.episodes=20"]);
        line.succeed();
        // A random agent opens the right door in less than half of ten steps.
        let scores: Vec<f64> =
            outcome(&run).2.iter().filter_map(|record| record["evaluation/return"].as_f64()).collect();
        assert!(scores.last().is_some_and(|score| *score > 9.9), "{settings}: {scores:?}");
        fs::remove_dir_all(run).expect("a run");
    }
}

#[test]
fn stacks_of_small_images_are_learned_from() {
    let Some(modules) = Modules::new() else { return };
    for algorithm in ["ppo --set ppo.num_steps=32", "dqn --set dqn.learning_starts=100"] {
        let settings = format!("{algorithm} --env python:envs:Grid --total-frames 2048");
        modules.train("run", &settings).set("environments.gymnasium.frame_stack", 2).succeed();
        fs::remove_dir_all(modules.run("run")).expect("a run");
    }
}

#[test]
fn environments_share_a_network_with_each_other_and_with_built_in_tasks() {
    let Some(modules) = Modules::new() else { return };
    // Observations of 2, 4 and 1 elements; the built-in task is in the middle.
    let games = ["gymnasium:MountainCar-v0", "CartPole-v1", "python:corridor:Corridor"];
    let line = modules.train("run", &format!("ppo --games {} --total-frames 12000", games.join(",")));
    let line = line.set("evaluation.episodes", 3).set("environments.game.CartPole-v1.total_frames", 1000);
    let output = line.set(r#"environments.game."gymnasium:MountainCar-v0".num_envs"#, 2).stdout();
    let scores = fs::read_to_string(modules.run("run").join("scores.json")).expect("scores");
    for game in games {
        assert!(output.contains(game) && scores.contains(game), "{game}: {output}, {scores}");
    }
    let curves = curves(&modules.run("run"));
    let last = |tag: &str| curves.iter().rev().find_map(|record| record[tag].as_f64());
    // Those with a budget rest after it. In each round, the others have two environments and four.
    assert_eq!(last("charts/frames/CartPole-v1"), Some(1000.0));
    let [car, corridor] =
        [games[0], games[2]].map(|game| last(&format!("charts/frames/{game}")).expect("frames"));
    assert_eq!(2.0 * car, corridor);
    for game in &games[1..] {
        assert!(last(&format!("charts/episodic_return/{game}")).is_some(), "{game}: {curves:?}");
    }
    let evaluate = run("eval run --episodes 2 --json --games").arg(games[2]).within(modules.directory.path());
    let evaluated: Value = serde_json::from_str(&evaluate.stdout()).expect("JSON");
    assert_eq!(evaluated["games"][0]["game"], games[2]);
}

#[test]
fn output_of_environments_does_not_mix_with_results() {
    let Some(modules) = Modules::new() else { return };
    let line = modules.train("run", "ppo --env python:envs:Printing --total-frames 4096 --json");
    let records = line.stdout();
    assert!(!records.is_empty());
    for record in records.lines() {
        serde_json::from_str::<Value>(record).expect("a record");
    }
}

#[test]
fn arguments_and_wrappers_reach_the_environments() {
    let Some(modules) = Modules::new() else { return };
    let train = |name: &str, settings: &[&str]| {
        let line = modules.train(name, "ppo --env python:corridor:Corridor --total-frames 4096");
        line.settings(settings).succeed();
        outcome(&modules.run(name)).2
    };
    let plain = train("plain", &[]);
    assert_ne!(plain, train("longer", &["environments.gymnasium.kwargs.length=20"]));
    let wrapper = r#"environments.gymnasium.wrappers=["gymnasium.wrappers.NormalizeReward"]"#;
    assert_ne!(plain, train("wrapped", &[wrapper]));
}
