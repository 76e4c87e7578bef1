//! The life of runs: listed, extended, fine-tuned.
#![cfg(unix)]

mod program;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use program::{ale_train, fail, stdout, succeed};

/// A run of eight rollouts with 64 frames each, with a checkpoint in the middle.
const SMALL: [&str; 14] = [
    "--games",
    "CartPole-v1",
    "--num-envs",
    "4",
    "--num-threads",
    "1",
    "--set",
    "experiment.total_frames=512",
    "--set",
    "ppo.num_steps=16",
    "--set",
    "evaluation.episodes=2",
    "--set",
    "checkpoints.interval_frames=256",
];

/// Returns a command that trains with PPO.
fn train(run: &Path, settings: &[&str]) -> Command {
    let mut command = ale_train();
    command.arg("ppo").args(SMALL).arg("--run-dir").arg(run).args(settings);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().expect("a copy").success());
}

/// Returns the runs below a directory.
fn listed(directory: &Path) -> Vec<Value> {
    let json = stdout(ale_train().arg("runs").arg(directory).arg("--json"));
    serde_json::from_str(&json).expect("an array")
}

#[test]
fn runs_lists_the_state_of_every_run() {
    let temp = TempDir::new().expect("a directory");
    let of = |name: &str| temp.path().join(name);
    succeed(&mut train(&of("sweep/finished"), &[]));
    for name in ["stopped", "unsaved", "damaged"] {
        copy(&of("sweep/finished"), &of(name));
    }
    let newest = |name: &str| of(name).join("checkpoints/update-00000008");
    fs::remove_dir_all(newest("stopped")).expect("a checkpoint");
    fs::remove_dir_all(of("unsaved/checkpoints")).expect("checkpoints");
    fs::write(newest("damaged").join("learner.bin"), "x").expect("a file");
    fs::write(of("notes.txt"), "x").expect("a file");
    let endless = ["--total-frames", "1000000000", "--set", "checkpoints.interval_frames=0"];
    let mut running = train(&of("running"), &endless).spawn().expect("a run");
    let deadline = Instant::now() + Duration::from_mins(1);
    let has_begun = |run: &Value| {
        run["path"].as_str() == of("running").to_str()
            && run["frames"].as_u64().is_some_and(|frames| frames > 0)
    };
    while !listed(temp.path()).iter().any(has_begun) {
        assert!(Instant::now() < deadline, "no frames in a minute");
        std::thread::sleep(Duration::from_millis(10));
    }

    let runs = listed(temp.path());
    let run = |name: &str| {
        let path = of(name);
        runs.iter().find(|run| run["path"].as_str() == path.to_str()).expect("a run")
    };
    let states = ["running", "sweep/finished", "stopped", "unsaved", "damaged"];
    for name in states {
        assert_eq!(run(name)["state"], json!(name.trim_start_matches("sweep/")), "{name}");
    }
    assert_eq!(runs.len(), states.len());
    assert_eq!(run("running"), &runs[0], "the newest comes first");
    let finished = run("sweep/finished");
    assert_eq!((&finished["frames"], &finished["total_frames"]), (&json!(512), &json!(512)));
    assert_eq!((&finished["algorithm"], &finished["games"]), (&json!("ppo"), &json!(["CartPole-v1"])));
    assert_eq!(finished["score"]["origin"], json!("evaluation"));
    assert_eq!(run("stopped")["frames"], json!(256));
    assert_eq!(run("stopped")["score"]["origin"], json!("training"));
    assert_eq!(run("unsaved")["frames"], json!(0));
    let problem = run("damaged")["problem"].as_str().expect("a problem");
    assert!(problem.contains("learner.bin is damaged: it has 1 bytes"), "{problem}");

    let table = stdout(ale_train().arg("runs").arg(temp.path()));
    running.kill().expect("a running process");
    running.wait().expect("the run ends");
    assert_eq!(table.lines().count(), 1 + states.len() + 1, "{table}");
    assert!(table.lines().last().expect("a line").starts_with("damaged: the checkpoint "), "{table}");
}

#[test]
fn directories_without_runs_are_named() {
    let temp = TempDir::new().expect("a directory");
    let nothing = stdout(ale_train().arg("runs").current_dir(temp.path()));
    assert_eq!(nothing, "no runs in checkpoints; `ale-train ppo` starts one\n");
    assert_eq!(stdout(ale_train().args(["runs", "--json"]).current_dir(temp.path())), "[]\n");
    let nowhere = fail(ale_train().args(["runs", "nowhere"]).current_dir(temp.path()), 2);
    assert_eq!(nowhere, "error: there is no nowhere\n");
}
