//! Evaluations during and after training.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::{CART_POLE, EVALUATED, resume, train, updates};
use crate::program::{self, checkpoints, curves, outcome, signal, wait_for};

#[test]
fn evaluations_do_not_affect_training_and_determine_the_score() {
    let temp = TempDir::new().expect("a directory");
    let [plain, evaluated] = ["plain", "evaluated"].map(|name| temp.path().join(name));
    train(&plain, 2, CART_POLE).succeed();
    train(&evaluated, 2, EVALUATED).set("checkpoints.keep_last", 99).succeed();
    let [(learner, environments, _), (same_learner, same_environments, curves)] =
        [outcome(&plain), outcome(&evaluated)];
    assert!(learner == same_learner && environments == same_environments, "the results differ");

    let returns: Vec<f64> =
        curves.iter().filter_map(|record| record.get("evaluation/return")?.as_f64()).collect();
    // At the multiples of 3000 below 20000, and at the end.
    assert_eq!(returns.len(), 7);
    let progress = progress(&evaluated);
    assert_eq!(progress["score"].as_f64(), returns.last().copied());
    assert_eq!(progress["evaluation"]["frames"], progress["moment"]["frames"]);
    // A checkpoint follows each new best evaluation, and one is written at the end.
    let is_best = |index: &usize| returns[..*index].iter().all(|before| returns[*index] > *before);
    let best = (0..returns.len() - 1).filter(is_best).count();
    assert_eq!(checkpoints(&evaluated).len(), best + 1, "{returns:?}");
}

#[test]
fn an_interrupted_evaluation_is_repeated() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    // 1024 steps between two updates: the first evaluation and the first checkpoint follow the sixth.
    let settings = "ppo --games CartPole-v1 --total-frames 9000 --num-envs 8 --set ppo.num_steps=128 \
        --set evaluation.interval_frames=6000 --set evaluation.episodes=3000 \
        --set checkpoints.interval_frames=6000";
    train(&whole, 2, settings).succeed();
    let evaluations =
        |run: &Path| curves(run).iter().filter(|record| record.get("evaluation/return").is_some()).count();
    assert_eq!(evaluations(&whole), 2, "one during training and one at the end");

    let mut stopped = train(&parts, 1, settings).start();
    wait_for(&mut stopped, "sixth update", || updates(&parts) >= 6);
    signal(stopped.id(), "-INT");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(130));
    assert_eq!((updates(&parts), evaluations(&parts)), (6, 0), "the signal came too late");

    resume(&parts).succeed();
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
    // Both runs have a checkpoint of the evaluated agent with its score.
    let scores = |run: &Path| -> Vec<Value> {
        let all = checkpoints(run).into_iter().map(|checkpoint| progress_of(&checkpoint));
        let evaluated =
            all.filter(|progress| progress["evaluation"]["frames"] == progress["moment"]["frames"]);
        evaluated.map(|progress| progress["score"].clone()).collect()
    };
    assert_eq!(scores(&whole).len(), 2);
    assert_eq!(scores(&parts), scores(&whole));
    // Resuming a complete run changes nothing.
    resume(&parts).succeed();
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
}

#[test]
fn the_last_checkpoint_gets_the_score_of_an_interrupted_final_evaluation() {
    let temp = TempDir::new().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| temp.path().join(name));
    let settings = "ppo --games CartPole-v1 --total-frames 2048 --num-envs 8 --set ppo.num_steps=128 \
        --set evaluation.interval_frames=1M --set evaluation.episodes=3000";
    train(&whole, 2, settings).succeed();
    let mut stopped = train(&parts, 1, settings).start();
    wait_for(&mut stopped, "last update", || updates(&parts) >= 2);
    signal(stopped.id(), "-INT");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(130));
    assert!(progress(&parts)["score"].is_null(), "the signal came too late");

    resume(&parts).succeed();
    assert!(outcome(&parts) == outcome(&whole), "the runs differ");
    let [resumed, uninterrupted] = [progress(&parts), progress(&whole)];
    assert!(resumed["score"].is_f64(), "{resumed}");
    for key in ["score", "evaluation"] {
        assert_eq!(resumed[key], uninterrupted[key]);
    }
    // `--best` finds it, and resuming again writes nothing.
    program::run("eval --best --episodes 1").arg(&parts).succeed();
    let before = checkpoints(&parts);
    resume(&parts).succeed();
    assert_eq!(checkpoints(&parts), before);
}

#[test]
fn an_interrupted_evaluation_with_other_settings_is_recorded_after_resuming() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "ppo --games CartPole-v1 --total-frames 2048 --set evaluation.interval_frames=1M \
        --set evaluation.episodes=2";
    train(&run, 2, settings).succeed();
    let evaluations = || -> Vec<f64> {
        curves(&run).iter().filter_map(|record| record.get("evaluation/return")?.as_f64()).collect()
    };
    assert_eq!(evaluations().len(), 1);

    interrupt_evaluation(&run, 4000);
    assert_eq!(evaluations().len(), 1, "the signal came too late");

    resume(&run).succeed();
    let scores = fs::read_to_string(run.join("scores.json")).expect("scores");
    let scores: Value = serde_json::from_str(&scores).expect("JSON");
    let returns: Vec<f64> =
        serde_json::from_value(scores["agent"][0]["returns"].clone()).expect("the returns");
    let mean = returns.iter().sum::<f64>() / 4000.0;
    let [first, last] = evaluations()[..] else { panic!("the evaluation is not recorded") };
    assert!(returns.len() == 4000 && (last - mean).abs() < 1e-9 && first != last, "{first} {last} {mean}");
    assert_eq!(progress(&run)["score"].as_f64(), Some(last));
}

#[test]
fn settings_of_checkpoints_do_not_repeat_the_evaluation_of_a_finished_run() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    train(&run, 2, EVALUATED).succeed();
    let scores = || fs::read(run.join("scores.json")).expect("scores");
    let before = (curves(&run), scores());
    resume(&run).set("checkpoints.keep_last", 1).succeed();
    assert!(before == (curves(&run), scores()), "the evaluation was repeated");
    let config = fs::read_to_string(run.join("config.toml")).expect("a configuration");
    assert!(config.contains("keep_last = 1\n"), "{config}");
}

#[test]
fn a_stopped_run_can_be_shortened_to_where_it_stopped() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "ppo --games CartPole-v1 --total-frames 10M --set evaluation.episodes=2";
    let mut stopped = train(&run, 2, settings).start();
    wait_for(&mut stopped, "second update", || updates(&run) >= 2);
    signal(stopped.id(), "-INT");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(130));
    let frames = progress(&run)["moment"]["frames"].to_string();

    resume(&run).args(["--total-frames", &frames]).succeed();
    assert_eq!(progress(&run)["moment"]["frames"].to_string(), frames, "the run was trained further");
    assert!(curves(&run).iter().any(|record| record.get("evaluation/return").is_some()));
    // It is finished now.
    resume(&run).set("ppo.gamma", 0.9).fail(2);
}

#[test]
fn resuming_plays_the_missing_random_games_and_ends_the_session() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "ppo --games CartPole-v1 --total-frames 2048 --set evaluation.episodes=2";
    train(&run, 2, settings).succeed();
    let [scores, events] = ["scores.json", "events.out.tfevents.ale-train"].map(|name| run.join(name));
    let [complete, all_events] = [&scores, &events].map(|path| fs::read(path).expect("a file"));
    // A signal arrived before the random player had finished. The last event is the end of the session.
    let mut interrupted: Value = serde_json::from_slice(&complete).expect("JSON");
    interrupted["random"] = Value::Null;
    fs::write(&scores, interrupted.to_string()).expect("scores");
    let mut last = 0;
    let mut next = 0;
    while next < all_events.len() {
        let length = u64::from_le_bytes(all_events[next..next + 8].try_into().expect("eight bytes"));
        (last, next) = (next, next + length as usize + 16);
    }
    fs::write(&events, &all_events[..last]).expect("events");
    let before = curves(&run);

    resume(&run).succeed();
    let [scores, events] = [&scores, &events].map(|path| fs::read(path).expect("a file"));
    assert!(scores == complete && curves(&run) == before, "the scores differ");
    assert_eq!(events.len(), all_events.len());
    // The time of the event differs.
    let text = |events: &[u8]| String::from_utf8_lossy(&events[last..]).contains("session_end_info");
    assert!(text(&events) && text(&all_events), "the last event is not the end of the session");
}

/// Resumes a finished run with another number of episodes, and stops it during its evaluation.
fn interrupt_evaluation(run: &Path, episodes: usize) {
    let mut stopped = resume(run).set("evaluation.episodes", episodes).start();
    let changed = format!("episodes = {episodes}");
    let has_changed =
        || fs::read_to_string(run.join("config.toml")).is_ok_and(|text| text.contains(&changed));
    wait_for(&mut stopped, "change", has_changed);
    signal(stopped.id(), "-TERM");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(143));
}

/// Returns the progress at the newest checkpoint.
fn progress(run: &Path) -> Value {
    progress_of(&checkpoints(run).pop().expect("a checkpoint"))
}

fn progress_of(checkpoint: &Path) -> Value {
    serde_json::from_slice(&fs::read(checkpoint.join("progress.json")).expect("progress")).expect("JSON")
}

#[test]
fn a_finished_run_repeats_its_scores_and_makes_up_for_an_interrupted_evaluation() {
    let temp = TempDir::new().expect("a directory");
    let run = temp.path().join("run");
    let settings = "ppo --games CartPole-v1 --total-frames 2048 --set evaluation.episodes=4000";
    let mut stopped = train(&run, 1, settings).start();
    // The last checkpoint precedes the evaluation.
    wait_for(&mut stopped, "checkpoint", || !checkpoints(&run).is_empty());
    signal(stopped.id(), "-TERM");
    assert_eq!(stopped.wait().expect("the run ends").code(), Some(143));
    assert!(!curves(&run).iter().any(|record| record.get("evaluation/return").is_some()));

    let resume = || resume(&run).succeed();
    let first = resume();
    let recorded = curves(&run);
    assert!(recorded.iter().any(|record| record.get("evaluation/return").is_some()));
    let again = resume();
    assert_eq!((&again.stdout, curves(&run)), (&first.stdout, recorded));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    let extend = format!("extend it with `ale-train resume {} --total-frames N`", run.display());
    assert!(said.contains("is finished: it has trained for all of its") && said.contains(&extend), "{said}");

    // An evaluation with other settings replaces the scores, even if it is interrupted.
    interrupt_evaluation(&run, 4001);
    resume();
    let scores = fs::read_to_string(run.join("scores.json")).expect("scores");
    let scores: Value = serde_json::from_str(&scores).expect("JSON");
    assert_eq!(scores["agent"][0]["returns"].as_array().expect("returns").len(), 4001);
}
