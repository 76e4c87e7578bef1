//! Training that fails: NaN or infinity stops it with an error that names the tasks and weights, and saves the batch;
//! other symptoms cause warnings.

use std::fs;
use std::path::Path;

use safetensors::SafeTensors;
use tempfile::TempDir;

use crate::program::{self, Line};

/// Returns a training command on two tasks, in two environments of each.
fn train(algorithm: &str, run: &Path, settings: &[&str]) -> Line {
    let tasks = "--games CartPole-v1,Acrobot-v1 --num-envs 2 --set experiment.total_frames=4096";
    let line = program::run(algorithm).words(tasks).words("--num-threads 1 --quiet --run-dir").arg(run);
    line.set("checkpoints.interval_minutes", 0).settings(settings)
}

#[test]
fn saves_the_batch_and_names_the_tasks_and_weights() {
    for (algorithm, settings) in [
        ("ppo", ["ppo.learning_rate=1e30", "ppo.num_steps=16", "ppo.update_epochs=4"]),
        ("dqn", ["dqn.learning_rate=1e30", "dqn.learning_starts=40", "dqn.buffer_size=1000"]),
    ] {
        let directory = TempDir::new().expect("a directory");
        let run = directory.path().join("run");
        let message = train(algorithm, &run, &settings).fail(1);
        for part in
            ["is not finite after", "at learning rate 1e30", "CartPole-v1 (", "Acrobot-v1 (", "weights `"]
        {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(message.contains("there is no checkpoint yet") && message.lines().count() == 1, "{message}");
        let file = run.join("diverged_batch.safetensors");
        assert!(message.contains(file.to_str().expect("a name")), "{message}");
        let bytes = fs::read(file).expect("a file");
        let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
        let rows = tensors.tensor("observations").expect("observations").shape()[0];
        assert!(rows > 0 && tensors.iter().all(|(_, tensor)| tensor.shape()[0] == rows), "{tensors:?}");
    }
}

/// The first gradient step, after 1000 frames, leaves weights that are huge but finite, and the run is saved. The
/// second fails.
#[test]
fn names_the_last_checkpoint_which_can_be_evaluated_and_resumed() {
    let directory = TempDir::new().expect("a directory");
    let run = directory.path().join("run");
    let settings = [
        "dqn.learning_rate=1e6",
        "dqn.learning_starts=1000",
        "dqn.buffer_size=2000",
        "checkpoints.interval_frames=300",
    ];
    let message = train("dqn", &run, &settings).fail(1);
    let (_, named) = message.trim_end().split_once("the last good checkpoint is ").expect("a checkpoint");
    let checkpoint = Path::new(named);
    assert_eq!(checkpoint.parent(), Some(run.join("checkpoints").as_path()), "{message}");

    program::run("eval --episodes 1 --json").arg(named).succeed();
    let progress = fs::read_to_string(checkpoint.join("progress.json")).expect("a progress");
    let progress: serde_json::Value = serde_json::from_str(&progress).expect("JSON");
    assert_eq!(progress["moment"]["frames"], 1000, "{progress}");

    // It fails with the same batch, without saving another checkpoint.
    let batch = || fs::read(run.join("diverged_batch.safetensors")).expect("a file");
    let before = batch();
    fs::remove_file(run.join("diverged_batch.safetensors")).expect("it was there");
    assert_eq!(program::run("resume --quiet").arg(&run).fail(1), message);
    assert!(batch() == before, "another batch");
}

/// The only gradient step of an update leaves finite weights with infinite values. The run is saved neither when a
/// checkpoint is due nor at its end.
#[test]
fn agents_with_infinite_values_are_not_saved() {
    let settings = [
        "ppo.learning_rate=3.3e37",
        "ppo.num_steps=16",
        "ppo.num_minibatches=1",
        "ppo.update_epochs=1",
        "checkpoints.interval_frames=1",
    ];
    for (total_frames, says_more) in [(4096, true), (64, false)] {
        let directory = TempDir::new().expect("a directory");
        let run = directory.path().join("run");
        let message = train("ppo", &run, &settings).set("experiment.total_frames", total_frames).fail(1);
        assert!(
            message.contains("is not finite") && message.contains("there is no checkpoint yet"),
            "{message}"
        );
        assert_eq!(message.contains("diverged_batch.safetensors"), says_more, "{message}");
        assert!(!run.join("checkpoints").exists(), "{message}");
    }
}

/// The update in the background fails during the evaluation before a checkpoint, which has to wait for it.
#[test]
fn a_divergence_found_while_saving_is_reported_like_any_other() {
    let settings = [
        "ppo.overlap=true",
        "ppo.learning_rate=1e30",
        "ppo.num_steps=16",
        "ppo.update_epochs=4",
        "checkpoints.interval_frames=1",
        "evaluation.interval_frames=1",
    ];
    let directory = TempDir::new().expect("a directory");
    let run = directory.path().join("run");
    let message = train("ppo", &run, &settings).fail(1);
    assert!(
        message.contains("is not finite after") && message.contains("at learning rate 1e30"),
        "{message}"
    );
    assert!(!message.contains("training continues") && message.lines().count() == 1, "{message}");
    assert!(run.join("diverged_batch.safetensors").exists(), "{message}");
}

#[test]
fn warns_once_when_the_learning_rate_kills_exploration_and_rectifiers() {
    let directory = TempDir::new().expect("a directory");
    let run = directory.path().join("run");
    let settings = [
        "ppo.learning_rate=0.5",
        "ppo.anneal_lr=false",
        "ppo.num_steps=8",
        "ppo.num_minibatches=1",
        "policy.layer_norm=false",
    ];
    let words = "ppo --games harvest --num-envs 1 --total-frames 512 --num-threads 1 --quiet";
    let said = program::train(&run, words).settings(&settings).messages();
    for warning in
        ["warning: entropy is 0, a problem", "warning: share of dead units in a layer is 1.000, a problem"]
    {
        assert_eq!(said.matches(warning).count(), 1, "{said}");
    }
    let records = fs::read_to_string(run.join("metrics.jsonl")).expect("curves");
    let last: serde_json::Value =
        serde_json::from_str(records.lines().last().expect("a record")).expect("JSON");
    assert_eq!((&last["health/entropy"], &last["health/dead_units"]), (&1.0.into(), &1.0.into()), "{last}");
    assert_eq!(last["health/clipfrac"], 0.0, "{last}");
}
