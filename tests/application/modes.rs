//! Modes of a game are tasks of their own.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Line, checkpoints, curves, outcome, run, signal, train, wait_for};

/// Returns a small training run of the tasks.
fn small(run: &Path, games: &str) -> Line {
    let line =
        train(run, "ppo --quiet --num-threads 1 --num-envs 2 --total-frames 2304").args(["--games", games]);
    line.settings(&[
        "ppo.num_steps=16",
        "ppo.num_minibatches=2",
        "evaluation.episodes=1",
        "environments.img_height=36",
        "environments.img_width=36",
        "environments.max_num_frames_per_episode=200",
    ])
}

/// Returns the name, the mode and the difficulty of each game in an evaluation.
fn evaluated(agent: &Path, words: &str) -> Value {
    let line = run("eval").arg(agent).words("--episodes 1 --num-threads 1 --json").words(words);
    let report: Value = serde_json::from_str(&line.stdout()).expect("JSON");
    let games = report["games"].as_array().expect("games").iter();
    games.map(|game| json!([game["game"], game["mode"], game["difficulty"]])).collect()
}

#[test]
fn modes_of_a_game_are_trained_as_tasks_of_their_own() {
    if ale::roms::for_tests("pong").is_none() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| directory.path().join(name));
    let games = "pong,Pong@1,pong@1.2";
    small(&whole, games).succeed();
    let tags: String = curves(&whole).iter().map(ToString::to_string).collect();
    for task in ["pong", "pong@1", "pong@1.2"] {
        assert!(tags.contains(&format!("\"charts/episodic_return/{task}\"")), "{task}: {tags}");
    }
    let expected = json!([["pong", 0, 0], ["pong@1", 1, 0], ["pong@1.2", 1, 2]]);
    assert_eq!(evaluated(&whole, ""), expected);
    assert_eq!(evaluated(&whole, "--games pong@1.2 --mode 0"), json!([["pong@1.2", 0, 2]]));

    let mut killed = small(&parts, games).set("checkpoints.interval_frames", 384).start();
    wait_for(&mut killed, "checkpoint", || !checkpoints(&parts).is_empty());
    signal(killed.id(), "-KILL");
    killed.wait().expect("the run ends");
    run("resume").arg(&parts).words("--quiet").succeed();
    let [(expected, ..), (learner, ..)] = [&whole, &parts].map(|run| outcome(run));
    assert!(learner == expected, "the learners differ");

    let one = directory.path().join("one.safetensors");
    run("export").arg(&whole).words("--games pong@1 --out").arg(&one).succeed();
    assert_eq!(evaluated(&one, ""), json!([["pong@1", 1, 0]]));
    let video = directory.path().join("video.gif");
    run("record").arg(&whole).words("--game pong@1.2 --max-steps 5 --out").arg(&video).succeed();
    assert!(fs::metadata(&video).is_ok_and(|file| file.len() > 1000));
}

#[test]
fn each_episode_draws_one_of_several_modes() {
    if ale::roms::for_tests("pong").is_none() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let agent = directory.path().join("run");
    let output = small(&agent, "pong").set("environments.game.pong.mode", "[0, 1]").stdout();
    assert!(output.contains("pong (mode 0, 1; difficulty 0)"), "{output}");
    assert_eq!(evaluated(&agent, ""), json!([["pong", [0, 1], 0]]));
    assert_eq!(evaluated(&agent, "--mode 1"), json!([["pong", 1, 0]]));
}
