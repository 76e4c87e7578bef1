//! An interrupted run continues as if it had never stopped. Errors in writing or reading checkpoints are reported and
//! lose nothing.

mod disk;
mod evaluations;
mod foreign;
mod kills;
mod signals;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::ale_train;

/// A run of the built-in game with about forty updates of one epoch each, because epochs on images are slow.
const HARVEST: [&str; 9] = [
    "ppo",
    "--games",
    "harvest",
    "--total-frames",
    "40000",
    "--set",
    "ppo.num_steps=32",
    "--set",
    "ppo.update_epochs=1",
];
const CART_POLE: [&str; 5] = ["ppo", "--games", "CartPole-v1", "--total-frames", "20000"];
/// A run with a recurrent network, whose updates are slow.
const RECURRENT: [&str; 9] = [
    "ppo",
    "--games",
    "CartPole-v1",
    "--total-frames",
    "5000",
    "--set",
    "ppo.num_steps=64",
    "--set",
    "policy.lstm=16",
];
/// A run whose replay is full before the run ends.
const DQN: [&str; 13] = [
    "dqn",
    "--games",
    "harvest",
    "--total-frames",
    "16000",
    "--set",
    "dqn.buffer_size=3000",
    "--set",
    "dqn.learning_starts=200",
    "--set",
    "dqn.batch_size=8",
    "--set",
    "policy.hidden_size=64",
];
/// A run with regular evaluations.
const EVALUATED: [&str; 9] = [
    "ppo",
    "--games",
    "CartPole-v1",
    "--total-frames",
    "20000",
    "--set",
    "evaluation.interval_frames=3000",
    "--set",
    "evaluation.episodes=5",
];
/// Two games, one of which rests in the second half.
const BUDGET: [&str; 9] = [
    "ppo",
    "--games",
    "CartPole-v1,Acrobot-v1",
    "--num-envs",
    "4",
    "--total-frames",
    "20000",
    "--set",
    "environments.game.CartPole-v1.total_frames=5555",
];
/// Three games, one of which rests in the second half.
const THREE_GAMES: [&str; 11] = [
    "ppo",
    "--games",
    "CartPole-v1,Acrobot-v1,MountainCar-v0",
    "--num-envs",
    "4",
    "--total-frames",
    "20000",
    "--set",
    "environments.game.CartPole-v1.total_frames=3333",
    "--set",
    "ppo.num_steps=32",
];
/// Continuous actions and statistics of observations.
const PENDULUM: [&str; 5] = ["ppo", "--games", "Pendulum-v1", "--total-frames", "20000"];
/// A run whose halves take turns.
const HALVES: [&str; 7] =
    ["ppo", "--games", "CartPole-v1", "--total-frames", "20000", "--set", "environments.halves=true"];
/// A run that collects rollouts during updates.
const OVERLAP: [&str; 7] =
    ["ppo", "--games", "CartPole-v1", "--total-frames", "20000", "--set", "ppo.overlap=true"];
const PQN: [&str; 5] = ["pqn", "--games", "CartPole-v1", "--total-frames", "100000"];

/// A run with continuous actions, correlated noise and a replay that is full before the run ends.
const SAC: [&str; 19] = [
    "sac",
    "--games",
    "Pendulum-v1",
    "--num-envs",
    "2",
    "--total-frames",
    "16000",
    "--set",
    "sac.buffer_size=3000",
    "--set",
    "sac.noise_correlation=0.5",
    "--set",
    "policy.hidden_size=16",
    "--set",
    "sac.learning_starts=300",
    "--set",
    "sac.batch_size=32",
    "--set",
    "sac.train_ratio=0.25",
];

/// Returns a training command, by default without evaluations and without checkpoints by the clock. The first of the
/// settings is the algorithm.
fn train(run: &Path, threads: &str, settings: &[&str]) -> Command {
    let mut command = ale_train();
    command.arg(settings[0]).args(["--seed", "4", "--num-threads", threads, "--run-dir"]).arg(run);
    command.args(["--set", "evaluation.episodes=0", "--set", "checkpoints.interval_minutes=0"]);
    command.args(&settings[1..]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("checkpoints")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_complete =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    let mut paths: Vec<PathBuf> = paths.filter(is_complete).collect();
    paths.sort();
    paths
}

/// Returns the result of a run: the learner and the environments of its newest checkpoint, and the curves without
/// measured times.
fn outcome(run: &Path) -> (Vec<u8>, Vec<u8>, Vec<Value>) {
    let newest = checkpoints(run).pop().expect("a checkpoint");
    let read = |name: &str| fs::read(newest.join(name)).expect("a file of the checkpoint");
    (read("learner.bin"), read("environments.bin"), curves(run))
}

fn curves(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    let mut records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    for record in &mut records {
        let record = record.as_object_mut().expect("an object");
        record.retain(|tag, _| tag != "seconds" && tag != "charts/SPS" && !tag.starts_with("time/"));
    }
    records
}

/// Waits until `happened` returns true.
fn wait_for(run: &mut Child, what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !happened() {
        assert!(Instant::now() < deadline, "no {what} in two minutes");
        assert!(run.try_wait().expect("a process").is_none(), "the run ended before {what}: make it longer");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn updates(run: &Path) -> usize {
    // Each algorithm reports one of these metrics.
    let reports = |text: String| {
        ["losses/value_loss", "losses/td_loss", "losses/qf_loss"].map(|tag| text.matches(tag).count())
    };
    fs::read_to_string(run.join("metrics.jsonl")).map_or(0, |text| reports(text).into_iter().sum())
}

fn signal(run: &Child, name: &str) {
    let status = Command::new("kill").args([name, &run.id().to_string()]).status().expect("a signal");
    assert!(status.success());
}

/// Returns the loss in a record, if there is one.
fn loss(record: &Value) -> Option<&Value> {
    ["losses/value_loss", "losses/td_loss", "losses/qf_loss"].into_iter().find_map(|tag| record.get(tag))
}

/// Returns the number of steps at the newest checkpoint.
fn steps(run: &Path) -> u64 {
    let newest = checkpoints(run).pop().expect("a checkpoint").join("progress.json");
    let progress: Value = serde_json::from_slice(&fs::read(newest).expect("progress")).expect("JSON");
    progress["moment"]["steps"].as_u64().expect("a number")
}
