//! A resumed run continues its episodes if their state can be saved. Otherwise it starts new ones.

use std::fs;

use serde_json::json;

use super::Modules;
use crate::program::{checkpoints, outcome, signal, wait_for};

#[test]
fn a_killed_run_in_python_continues_bit_for_bit_with_another_number_of_workers() {
    let Some(modules) = Modules::new() else { return };
    for settings in [
        "ppo --env gymnasium:CartPole-v1 --total-frames 8000",
        "ppo --env gymnasium:CartPole-v1 --total-frames 8000 --set environments.halves=true",
        "ppo --games gym:MountainCar-v0,CartPole-v1,python:corridor:Corridor --total-frames 8000",
        "dqn --env python:corridor:Corridor --total-frames 8000 --set dqn.learning_starts=100",
        "sac --env gym:Pendulum-v1 --total-frames 4000 --set sac.learning_starts=100 --set sac.train_ratio=0.1",
        "ppo --env python:envs:Doors --total-frames 8000 --set environments.gymnasium.action_masks=true",
        "pqn --env python:envs:Doors --total-frames 8000 --set environments.gymnasium.action_masks=true",
        "dqn --env python:envs:Doors --total-frames 8000 --set environments.gymnasium.action_masks=true \
         --set environments.gymnasium.kwargs.keys=3 --set dqn.learning_starts=100",
    ] {
        let [whole, parts] = ["whole", "parts"].map(|name| modules.run(name));
        modules.train("whole", settings).succeed();
        let mut killed = modules.train("parts", settings).set("checkpoints.interval_frames", 1000).start();
        wait_for(&mut killed, "checkpoint", || !checkpoints(&parts).is_empty());
        signal(killed.id(), "-KILL");
        killed.wait().expect("the run ends");
        modules.resume("parts").set("environments.gymnasium.workers", 1).succeed();
        let [(learner, _, curves), (expected, _, expected_curves)] = [&parts, &whole].map(|run| outcome(run));
        assert!(learner == expected, "{settings}: the learners differ");
        assert!(curves == expected_curves, "{settings}: the curves differ");
        for run in [whole, parts] {
            fs::remove_dir_all(run).expect("a run");
        }
    }
}

#[test]
fn episodes_start_anew_where_the_state_cannot_be_saved() {
    let Some(modules) = Modules::new() else { return };
    let settings = "ppo --env python:envs:Unsaved --total-frames 4096";
    let messages = modules.train("first", settings).messages();
    let warning = "a resumed run will start new episodes, because their state cannot be saved: ";
    assert!(messages.contains(warning), "{messages}");
    let reason = |seed: u64| {
        let cause =
            "snapshot failed: AttributeError: Can't pickle local object 'Unsaved.__init__.<locals>.<lambda>'";
        format!("environment 0: python:envs:Unsaved (seed {seed}): {cause}")
    };
    let provenance = modules.provenance("first");
    assert_eq!(provenance["unsaved_episodes"], reason(4));
    assert_eq!(provenance.get("new_episodes"), None);
    let messages = modules.resume("first").words("--total-frames 8192").messages();
    assert!(
        messages.contains("new episodes start, because the checkpoint does not have the state"),
        "{messages}"
    );
    assert!(!messages.contains("a resumed run will"), "{messages}");
    modules.resume("first").words("--total-frames 12288").succeed();
    // The seeds of the new episodes differ from those of the first ones, and from one resumption to the next.
    let [second, third] = [4096, 8192].map(|frames| 4 + 2_000_000 + frames);
    let provenance = modules.provenance("first");
    let moment = |frames: u64, seed: u64| json!({"frames": frames, "reason": reason(seed)});
    assert_eq!(provenance["new_episodes"], json!([moment(4096, 4), moment(8192, second)]));
    assert_eq!(provenance["unsaved_episodes"], reason(third));
}

#[test]
fn a_saved_state_leaves_no_trace_in_the_provenance() {
    let Some(modules) = Modules::new() else { return };
    modules.train("run", "ppo --env python:corridor:Corridor --total-frames 2048").succeed();
    modules.resume("run").words("--total-frames 4096").succeed();
    let provenance = modules.provenance("run");
    assert!(provenance["commit"].is_string(), "{provenance}");
    for key in ["unsaved_episodes", "new_episodes"] {
        assert_eq!(provenance.get(key), None, "{provenance}");
    }
}
