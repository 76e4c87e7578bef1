//! A run prints its preset, its plan and its progress. The measurement for the plan does not change the run.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::program::{self, Line, checkpoints};

/// Runs that are long enough to be measured: each kind of collection and of learner.
const RUNS: [&str; 4] = [
    "ppo --games harvest --num-envs 2 --total-frames 4096 --set ppo.num_steps=16",
    "ppo --games CartPole-v1 --total-frames 5000 --set environments.halves=true",
    "dqn --games harvest --num-envs 2 --total-frames 8000 --set dqn.buffer_size=2000 --set dqn.learning_starts=100 --set dqn.train_ratio=0.05",
    "sac --games Pendulum-v1 --num-envs 2 --total-frames 12000 --set sac.buffer_size=2000 --set sac.learning_starts=300 --set sac.batch_size=32 --set sac.train_ratio=0.05 --set policy.hidden_size=16",
];

fn train(settings: &str, run: &Path) -> Line {
    let checkpoints = ["checkpoints.interval_frames=2000", "checkpoints.keep_last=99"];
    program::train(run, settings).settings(&checkpoints).words("--num-threads 1")
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
        let silence = train(settings, &quiet).arg("--quiet").messages();
        assert!(silence.is_empty(), "{silence}");
        let plan = train(settings, &measured).messages();
        assert!(is_measured(&plan), "{plan}");
        assert!(outcome(&quiet) == outcome(&measured), "{settings}");
        let end = outcome(&quiet);
        rewind(&measured);
        let plan = program::run("resume").arg(&measured).messages();
        assert!(is_measured(&plan), "{plan}");
        assert!(outcome(&measured) == end, "resumed: {settings}");
    }
}

#[test]
fn a_run_prints_and_records_its_preset_and_its_size() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "ppo --games CartPole-v1,Acrobot-v1 --num-envs 3 --total-frames 600";
    let plan = train(settings, &run).messages();
    let expected = [
        "preset cartpole-ppo, chosen for 2 games; --preset selects another",
        "PPO on CartPole-v1, Acrobot-v1, seed 1, run directory",
        "  environments  6, 3 of each game; 1 thread\n",
        "  frames        576 of the requested 600, 288 of each game, an update every 192\n",
    ];
    for text in expected {
        assert!(plan.contains(text), "no {text:?} in {plan}");
    }
    let limited = train(settings, &temp.path().join("limited"));
    let limited = limited.set("environments.game.CartPole-v1.total_frames", 200).messages();
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
        let plan = train(settings, &run).messages();
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
