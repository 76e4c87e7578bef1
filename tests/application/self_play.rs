//! Games of several players.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Line, checkpoints, outcome, run, signal, train, wait_for};

/// Returns a small training run by self-play, in which two versions of the agent are kept.
fn small(run: &Path, algorithm: &str, games: &str) -> Line {
    let line = train(run, algorithm).words("--quiet --num-threads 1 --num-envs 6 --total-frames 6912");
    let line = line.args(["--games", games]).set(&format!("{algorithm}.num_steps"), 16);
    line.set(&format!("{algorithm}.num_minibatches"), 2).settings(&[
        "evaluation.episodes=1",
        "environments.img_height=36",
        "environments.img_width=36",
        "environments.max_num_frames_per_episode=200",
        "environments.self_play.past_share=0.4",
        "environments.self_play.interval_frames=1500",
        "environments.self_play.versions=2",
    ])
}

fn matched(words: &str, agents: [&Path; 2]) -> Value {
    let line = run("match").arg(agents[0]).arg(agents[1]).words("--num-threads 1 --json").words(words);
    serde_json::from_str(&line.stdout()).expect("JSON")
}

#[test]
fn a_killed_run_by_self_play_continues_with_its_opponents() {
    if ale::roms::for_tests("pong").is_none() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| directory.path().join(name));
    small(&whole, "ppo", "pong@2p").succeed();
    let mut killed = small(&parts, "ppo", "pong@2p").set("checkpoints.interval_frames", 1152).start();
    // After the third version, when one has been removed.
    wait_for(&mut killed, "a checkpoint", || {
        checkpoints(&parts).iter().any(|checkpoint| {
            let name = checkpoint.file_name().expect("a name").to_string_lossy().into_owned();
            name.trim_start_matches("update-").parse::<u64>().is_ok_and(|update| update >= 9)
        })
    });
    signal(killed.id(), "-KILL");
    killed.wait().expect("the run ends");
    run("resume").arg(&parts).words("--quiet").succeed();
    let [whole, parts] = [&whole, &parts].map(|run| outcome(run));
    assert!(parts.0 == whole.0, "the learners differ");
    assert!(parts.1 == whole.1, "the environments and the opponents differ");
    assert_eq!(parts.2, whole.2);
    let ratings: Vec<f64> =
        whole.2.iter().filter_map(|record| record.get("self_play/elo")?.as_f64()).collect();
    assert!(ratings.len() > 3 && ratings.iter().any(|rating| *rating != 1000.0), "{ratings:?}");
}

#[test]
fn agents_play_against_each_other() {
    if ale::roms::for_tests("pong").is_none() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let [several, alone] = ["several", "alone"].map(|name| directory.path().join(name));
    small(&several, "pqn", "pong@2p,boxing@2p").succeed();
    small(&alone, "ppo", "pong").succeed();
    let report = matched("--episodes 3 --games pong", [&several, &alone]);
    let game = &report["games"][0];
    assert_eq!((&game["game"], &game["episodes"]), (&"pong@2p".into(), &3.into()));
    let count = |key: &str| game[key].as_array().map_or(0, Vec::len);
    assert_eq!((count("as_first_player"), count("as_second_player")), (2, 1));
    // The score of one is what the other lost.
    assert_eq!(game["mean_scores"][0].as_f64(), game["mean_scores"][1].as_f64().map(|score| -score));
    assert_eq!(report, matched("--episodes 3 --games pong", [&several, &alone]), "the seed decides");
    let table = run("match").arg(&several).words("random --episodes 2 --num-threads 1").stdout();
    assert!(table.contains("pong@2p") && table.contains("boxing@2p"), "{table}");
    let video = directory.path().join("video.gif");
    run("record").arg(&several).words("--game boxing@2p --max-steps 5 --out").arg(&video).succeed();
    assert!(video.exists());
    for (words, expected) in [
        ("--games qbert", "qbert cannot be played by 2 players; the numbers of its players are [1]"),
        ("--games tennis", "was not trained on tennis; it plays pong@2p, boxing@2p"),
        ("--games warlords@4p", "warlords@4p is not possible: a match is a game of two players"),
    ] {
        let error = run("match").arg(&several).words("random").words(words).fail(2);
        assert!(error.contains(expected), "{error}");
    }
    let error = run("match").words("random random").fail(2);
    assert!(error.contains("neither agent was trained on a game of two players"), "{error}");
    let error = run("match").arg(&alone).words("random").fail(2);
    assert!(error.contains("choose one, such as --games pong"), "{error}");
}

#[test]
fn impossible_experiments_with_several_players_are_refused() {
    let directory = TempDir::new().expect("a directory");
    for (command, expected) in [
        (
            "ppo --games pong@2p,pong",
            "pong cannot be trained together with pong@2p, which has another number of players",
        ),
        (
            "ppo --games pong@3p",
            "pong cannot be played by 3 players; the numbers of its players are [1, 2, 4]",
        ),
        ("ppo --games warlords", "choose their number: warlords@2p or warlords@4p"),
        ("dqn --games pong@2p", "use `ale-train ppo` or `ale-train pqn`"),
        ("ppo --games pong@2p --set policy.lstm=16", "set environments.self_play.past_share = 0"),
        ("ppo --games pong@2p --set environments.halves=true", "whose players step together"),
        (
            "ppo --games pong@2p --set environments.game.\"pong@2p\".total_frames=1M",
            "the players of pong@2p share their environments",
        ),
    ] {
        let error = train(&directory.path().join("run"), command).fail(2);
        assert!(error.contains(expected), "{command}: {error}");
    }
}
