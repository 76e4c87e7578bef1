//! A run prints its preset, its plan and its progress. The measurement for the plan does not change the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::program::{ale_train, succeed};

/// Runs that are long enough to be measured: each kind of collection and of learner.
const RUNS: [&str; 4] = [
    "ppo --games harvest --num-envs 2 --total-frames 4096 --set ppo.num_steps=16",
    "ppo --games CartPole-v1 --total-frames 5000 --set environments.halves=true",
    "dqn --games harvest --num-envs 2 --total-frames 8000 --set dqn.buffer_size=2000 --set dqn.learning_starts=100 --set dqn.train_ratio=0.05",
    "sac --games Pendulum-v1 --num-envs 2 --total-frames 12000 --set sac.buffer_size=2000 --set sac.learning_starts=300 --set sac.batch_size=32 --set sac.train_ratio=0.05 --set policy.hidden_size=16",
];

fn train(settings: &str, run: &Path) -> Command {
    let mut command = ale_train();
    command.args(settings.split(' ')).args(["--num-threads", "1", "--set", "evaluation.episodes=0"]);
    command.args(["--set", "checkpoints.interval_frames=2000", "--set", "checkpoints.keep_last=99"]);
    command.args(["--set", "checkpoints.interval_minutes=0"]);
    command.arg("--run-dir").arg(run);
    command
}

/// Runs a command and returns what it printed to standard error.
fn messages(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stderr).expect("UTF-8")
}

fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join("checkpoints")).expect("checkpoints");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Returns learner and environments at the end of a run.
fn outcome(run: &Path) -> [Vec<u8>; 2] {
    let last = checkpoints(run).pop().expect("a checkpoint");
    ["learner.bin", "environments.bin"].map(|name| fs::read(last.join(name)).expect("a file"))
}

/// Removes all checkpoints except the first, so that the run can be resumed from it.
fn rewind(run: &Path) {
    let checkpoints = checkpoints(run);
    assert!(checkpoints.len() > 1, "{checkpoints:?}");
    for checkpoint in &checkpoints[1..] {
        fs::remove_dir_all(checkpoint).expect("a directory");
    }
}

fn is_measured(messages: &str) -> bool {
    messages.contains("  memory        about ") && messages.contains("  time          about ")
}

#[test]
fn the_measurement_does_not_change_a_run_or_a_resumed_run() {
    let temp = TempDir::new().expect("a directory");
    for (number, settings) in RUNS.into_iter().enumerate() {
        let [quiet, measured] = ["quiet", "measured"].map(|name| temp.path().join(format!("{name}{number}")));
        let silence = messages(train(settings, &quiet).arg("--quiet"));
        assert!(silence.is_empty(), "{silence}");
        let plan = messages(&mut train(settings, &measured));
        assert!(is_measured(&plan), "{plan}");
        assert!(outcome(&quiet) == outcome(&measured), "{settings}");
        let end = outcome(&quiet);
        rewind(&measured);
        let plan = messages(ale_train().arg("resume").arg(&measured));
        assert!(is_measured(&plan), "{plan}");
        assert!(outcome(&measured) == end, "resumed: {settings}");
    }
}

#[test]
fn a_run_prints_and_records_its_preset_and_its_size() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let plan =
        messages(&mut train("ppo --games CartPole-v1,Acrobot-v1 --num-envs 3 --total-frames 600", &run));
    let expected = [
        "preset cartpole-ppo, chosen for 2 games; --preset selects another",
        "PPO on CartPole-v1, Acrobot-v1, seed 1, run directory",
        "  environments  6, 3 of each game; 1 thread\n",
        "  frames        576 of the requested 600, 288 of each game, an update every 192\n",
    ];
    for text in expected {
        assert!(plan.contains(text), "no {text:?} in {plan}");
    }
    let budget = "environments.game.CartPole-v1.total_frames=200";
    let limited = "ppo --games CartPole-v1,Acrobot-v1 --num-envs 3 --total-frames 600";
    let limited = messages(train(limited, &temp.path().join("limited")).args(["--set", budget]));
    for text in [
        "  frames        584 of the requested 600, an update every 192\n",
        "  overrides     total_frames = 200: CartPole-v1\n",
    ] {
        assert!(limited.contains(text), "no {text:?} in {limited}");
    }
    assert!(!plan.contains("  time "), "too short for a measurement: {plan}");
    let provenance = fs::read_to_string(run.join("run.json")).expect("a provenance");
    assert!(provenance.contains("\"preset\": \"cartpole-ppo\""), "{provenance}");
}

#[test]
fn the_plan_predicts_the_size_of_checkpoints() {
    let temp = TempDir::new().expect("a directory");
    let overlapped = "ppo --games harvest --num-envs 16 --total-frames 24000 --set ppo.num_steps=16 \
        --set ppo.num_minibatches=16 --set ppo.update_epochs=1 --set ppo.overlap=true --set policy.hidden_size=32";
    let in_file = format!("{} --set replay.folder={}", RUNS[2], temp.path().display());
    for (number, settings) in RUNS.into_iter().chain([overlapped, &in_file]).enumerate() {
        let run = temp.path().join(number.to_string());
        let plan = messages(&mut train(settings, &run));
        let (_, predicted) = plan.split_once("a checkpoint takes ").expect("a prediction");
        let predicted = in_bytes(predicted.lines().next().expect("a line"));
        // The last one of PPO contains no rollout.
        let largest =
            checkpoints(&run).iter().map(|checkpoint| size(checkpoint)).max().expect("a checkpoint");
        let ratio = largest as f64 / predicted;
        assert!((0.75..1.33).contains(&ratio), "{ratio:.2} times the prediction: {settings}\n{plan}");
    }
}

/// Returns the size of the files in a directory.
fn size(directory: &Path) -> u64 {
    fs::read_dir(directory).expect("files").map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Reads a size as the plan prints it, such as `20 MB`.
fn in_bytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').expect("a unit");
    let scale =
        [("kB", 1e3), ("MB", 1e6), ("GB", 1e9)].into_iter().find(|(name, _)| *name == unit).expect("a unit");
    number.parse::<f64>().expect("a number") * scale.1
}
