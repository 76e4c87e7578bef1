//! Runs that are killed and resumed.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::{
    BUDGET, CART_POLE, DISCRETE_SAC, DQN, EVALUATED, HALVES, HARVEST, OVERLAP, PENDULUM, PQN, RECURRENT, RND,
    SAC, loss, resume, train, updates,
};
use crate::program::{self, checkpoints, outcome, signal, wait_for};

#[test]
fn a_killed_run_continues_bit_for_bit_with_another_number_of_threads() {
    let all = [HARVEST, CART_POLE, DQN, EVALUATED, BUDGET, HALVES, OVERLAP, PENDULUM, RND, SAC, DISCRETE_SAC];
    for settings in all {
        let temp = TempDir::new().expect("a directory");
        let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
        train(&whole, 2, settings).succeed();

        let mut killed = train(&parts, 1, settings).set("checkpoints.interval_frames", 5000).start();
        // Updates after the checkpoint are lost and repeated.
        wait_for(&mut killed, "checkpoint", || !checkpoints(&parts).is_empty());
        let before = updates(&parts);
        wait_for(&mut killed, "update after it", || updates(&parts) > before);
        signal(killed.id(), "-KILL");
        assert_eq!(killed.wait().expect("the run ends").code(), None);
        let longer = fs::metadata(parts.join("metrics.jsonl")).expect("curves").len();

        resume(&parts).words("--num-threads 3").succeed();
        assert!(outcome(&parts) == outcome(&whole), "the runs differ");
        assert!(fs::metadata(parts.join("metrics.jsonl")).expect("curves").len() > longer);
        assert!(checkpoints(&parts).len() <= 4, "the last three and the best are kept");
    }
}

#[test]
fn a_run_that_was_killed_before_its_first_checkpoint_starts_again() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    train(&whole, 2, HARVEST).succeed();
    let mut killed = train(&parts, 1, HARVEST).start();
    wait_for(&mut killed, "second update", || updates(&parts) >= 2);
    signal(killed.id(), "-KILL");
    assert_eq!(killed.wait().expect("the run ends").code(), None);
    assert!(checkpoints(&parts).is_empty());

    let said = resume(&parts).messages();
    let expected = format!("the run {} has no checkpoint yet: it starts from the beginning", parts.display());
    assert!(said.contains(&expected), "{said}");
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
}

#[test]
fn halves_that_take_turns_learn_the_same() {
    // A recurrent network has separate states for the halves.
    for settings in [HARVEST, PQN, RECURRENT, RND] {
        let temp = TempDir::new().expect("a directory");
        let [together, halves] = ["together", "halves"].map(|name| temp.path().join(name));
        train(&together, 2, settings).succeed();
        train(&halves, 2, settings).set("environments.halves", true).succeed();
        let [(learner, environments, curves), (same_learner, same_environments, same_curves)] =
            [outcome(&together), outcome(&halves)];
        assert!(learner == same_learner && environments == same_environments, "the results differ");
        let losses = |curves: Vec<Value>| curves.iter().filter_map(loss).cloned().collect::<Vec<_>>();
        assert_eq!(losses(curves), losses(same_curves));
    }
}

#[test]
fn checkpoints_by_time_do_not_affect_training() {
    let temp = TempDir::new().expect("a directory");
    let [plain, timed] = ["plain", "timed"].map(|name| temp.path().join(name));
    let train = |run: &Path| {
        train(run, 1, CART_POLE).settings(&["checkpoints.interval_frames=0", "checkpoints.keep_last=99"])
    };
    train(&plain).succeed();
    train(&timed).set("checkpoints.interval_minutes", 1e-6).succeed();
    assert_eq!(checkpoints(&plain).len(), 1);
    assert!(checkpoints(&timed).len() > 2, "no checkpoint by time");
    assert!(outcome(&timed) == outcome(&plain), "the runs differ");
}

#[test]
fn a_run_has_a_checkpoint_at_its_start_which_does_not_affect_training() {
    for settings in [OVERLAP, DQN, EVALUATED] {
        let temp = TempDir::new().expect("a directory");
        let [plain, early] = ["plain", "early"].map(|name| temp.path().join(name));
        // No checkpoint follows an evaluation.
        let train = |run: &Path| train(run, 1, settings).set("checkpoints.keep_best", false);
        train(&plain).succeed();
        train(&early).set("checkpoints.interval_minutes", 10).succeed();
        assert!(outcome(&early) == outcome(&plain), "the runs differ: {settings:?}");
        let [start, later @ ..] = &checkpoints(&early)[..] else { panic!("no checkpoints: {settings:?}") };
        assert!(start.ends_with("update-00000000"), "{}", start.display());
        assert!(!later.is_empty() && checkpoints(&plain).len() == 1, "{settings:?}");

        // A run that was killed in its first minute.
        for checkpoint in later {
            fs::remove_dir_all(checkpoint).expect("a checkpoint");
        }
        resume(&early).succeed();
        assert!(outcome(&early) == outcome(&plain), "the resumed run differs: {settings:?}");
        assert!(
            !early.join("checkpoints/update-00000000.001").exists(),
            "the start is repeated: {settings:?}"
        );
    }
}

#[test]
fn a_requested_checkpoint_does_not_affect_training() {
    for settings in [HARVEST, DQN] {
        let temp = TempDir::new().expect("a directory");
        let [plain, asked] = ["plain", "asked"].map(|name| temp.path().join(name));
        train(&plain, 1, settings).succeed();
        let mut run = train(&asked, 1, settings).start();
        wait_for(&mut run, "update", || updates(&asked) > 0);
        program::run("checkpoint").arg(&asked).succeed();
        assert!(run.wait().expect("the run ends").success());
        assert_eq!(checkpoints(&asked).len(), 2, "the requested one and the last one: {settings:?}");
        assert!(outcome(&asked) == outcome(&plain), "the runs differ: {settings:?}");
    }
}
