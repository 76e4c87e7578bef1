//! Runs that are stopped by signals.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::{
    CART_POLE, DQN, HALVES, HARVEST, OVERLAP, PQN, SAC, THREE_GAMES, loss, resume, steps, train, updates,
};
use crate::program::{self, ALE_TRAIN, Line, checkpoints, curves, outcome, signal, wait_for};

/// Returns the command, without its output, with the default reaction to SIGHUP, because the tests themselves may run
/// under nohup.
fn with_default_signals(line: &Line) -> Command {
    let mut wrapped = Command::new("env");
    wrapped.args(["--default-signal=HUP", ALE_TRAIN]).args(line.arguments());
    wrapped.stdout(Stdio::null()).stderr(Stdio::null());
    wrapped
}

#[test]
fn a_run_that_a_signal_stopped_continues_bit_for_bit() {
    let signals = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];
    let mut in_rollouts = 0;
    for (settings, rollout) in
        [(HARVEST, 256), (HALVES, 256), (OVERLAP, 256), (THREE_GAMES, 0), (DQN, 0), (PQN, 0), (SAC, 0)]
    {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        train(&whole, 2, settings).succeed();

        let mut stopped = with_default_signals(&train(&parts, 1, settings)).spawn().expect("a run");
        for (delay, (name, status)) in (1..).zip(signals) {
            let before = updates(&parts);
            wait_for(&mut stopped, "update", || updates(&parts) > before);
            // An update and a rollout take some milliseconds each.
            std::thread::sleep(Duration::from_millis(7 * delay));
            signal(stopped.id(), name);
            assert_eq!(stopped.wait().expect("the run ends").code(), Some(status), "{name}: {settings:?}");
            assert_ne!(
                outcome(&parts),
                outcome(&whole),
                "the signal came after the end: make the run longer"
            );
            in_rollouts += usize::from(rollout > 0 && !steps(&parts).is_multiple_of(rollout));
            stopped = with_default_signals(&resume(&parts)).spawn().expect("a run");
        }
        assert!(stopped.wait().expect("the run ends").success());
        assert!(outcome(&parts) == outcome(&whole), "the runs differ");
    }
    assert!(in_rollouts > 0, "no signal arrived in a rollout");
}

#[test]
fn a_run_without_its_replay_in_checkpoints_fills_it_again_before_it_learns() {
    // More steps than those between two reports of losses: 250 updates, one every two steps.
    let learning_starts = 1500;
    let temp = TempDir::new().expect("a directory");
    let [(size, wait), (small_size, long_wait)] = [true, false].map(|in_checkpoint| {
        let run = temp.path().join(in_checkpoint.to_string());
        let words = "dqn --games CartPole-v1 --num-envs 2 --total-frames 10000";
        let dqn =
            ["dqn.buffer_size=4000", "dqn.batch_size=8", "dqn.train_ratio=0.5", "policy.hidden_size=16"];
        let training = train(&run, 1, words).settings(&dqn).set("dqn.learning_starts", learning_starts);
        let mut stopped = training.set("replay.in_checkpoint", in_checkpoint).start();
        wait_for(&mut stopped, "update", || updates(&run) > 0);
        signal(stopped.id(), "-TERM");
        assert_eq!(stopped.wait().expect("the run ends").code(), Some(143));
        let learner = checkpoints(&run).pop().expect("a checkpoint").join("learner.bin");
        let (size, before) = (fs::metadata(learner).expect("a learner").len(), steps(&run));
        resume(&run).succeed();
        let records = curves(&run);
        let losses = records.iter().filter(|record| loss(record).is_some());
        let steps = losses.map(|record| record["steps"].as_u64().expect("a number"));
        let first = steps.filter(|&steps| steps > before).min();
        (size, first.expect("losses after the signal: make the run longer") - before)
    });
    assert!(wait < learning_starts, "the run with a replay learned only after {wait} steps");
    assert!(long_wait >= learning_starts, "the run learned after {long_wait} steps");
    // The observation of a step has 16 bytes.
    assert!(
        small_size + 16 * learning_starts < size,
        "{small_size} bytes without the replay, {size} with it"
    );
}

#[test]
fn the_second_signal_ends_the_run_at_once() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut stopped = train(&run, 1, HARVEST).set("checkpoints.interval_frames", 20000).start();
    wait_for(&mut stopped, "checkpoint", || !checkpoints(&run).is_empty());
    // A run that has just been saved has nothing left to do after the first signal.
    let saved = updates(&run);
    wait_for(&mut stopped, "update after the checkpoint", || updates(&run) > saved);
    // Both signals wait for the stopped process, so that no checkpoint can be written between them.
    let kill = format!("kill -STOP {0}; kill -INT {0}; kill -TERM {0}; kill -CONT {0}", stopped.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    // The system may deliver two pending signals in either order.
    let status = stopped.wait().expect("the run ends").code();
    assert!(matches!(status, Some(130 | 143)), "{status:?}");
    assert_eq!(checkpoints(&run).len(), 1, "the last signal wrote a checkpoint");
    resume(&run).succeed();
}

#[test]
fn a_signal_that_a_wrapper_repeats_counts_once() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut stopped = train(&run, 1, HARVEST).start();
    wait_for(&mut stopped, "update", || updates(&run) > 0);
    let kill = format!("kill -INT {0}; sleep 0.01; kill -INT {0}", stopped.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(130));
    let newest = checkpoints(&run).pop().expect("a checkpoint of the end");
    let progress = fs::read_to_string(newest.join("progress.json")).expect("the progress");
    let progress: serde_json::Value = serde_json::from_str(&progress).expect("JSON");
    assert_eq!(progress["moment"]["steps"].as_u64(), Some(steps(&run)), "a part of the run is lost");
}

#[test]
fn a_signal_before_training_ends_the_program_with_a_message() {
    let temp = TempDir::new().expect("a directory");
    let config = temp.path().join("experiment.toml");
    assert!(Command::new("mkfifo").arg(&config).status().expect("a pipe").success());
    for (name, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let line = program::run("ppo --run-dir").arg(temp.path().join("run")).arg("--config").arg(&config);
        let waiting = with_default_signals(&line).stderr(Stdio::piped()).spawn().expect("a run");
        // Opening blocks until the program reads the pipe.
        let pipe = fs::OpenOptions::new().write(true).open(&config).expect("a pipe");
        signal(waiting.id(), name);
        let output = waiting.wait_with_output().expect("the program ends");
        drop(pipe);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "stopped by a signal\n");
        assert_eq!(output.status.code(), Some(status));
    }
    assert_eq!(fs::read_dir(temp.path()).expect("a directory").count(), 1, "something was written");
}

#[test]
fn a_run_under_nohup_ignores_hang_ups() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", ALE_TRAIN]);
    ignoring.args(train(&run, 1, CART_POLE).arguments());
    let mut going = ignoring.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    wait_for(&mut going, "second update", || updates(&run) >= 2);
    signal(going.id(), "-HUP");
    assert_eq!(going.wait().expect("the run ends").code(), Some(0));
}
