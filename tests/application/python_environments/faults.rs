//! Environments that fail and workers that end.

use std::fs;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::Value;

use super::Modules;
use crate::program::{checkpoints, outcome};
#[cfg(target_os = "linux")]
use crate::program::{is_alive, signal, wait_for};

#[test]
fn a_fault_ends_the_run_with_a_checkpoint_of_the_learner() {
    let Some(modules) = Modules::new() else { return };
    for (index, (settings, fault, cause)) in [
        ("ppo --env python:envs:Failing", "raise", "RuntimeError: the corridor collapsed"),
        (
            "ppo --env python:envs:Failing --set environments.halves=true",
            "raise",
            "step 8 of the episode failed",
        ),
        (
            "ppo --env python:envs:Failing --set policy.lstm=8",
            "exit",
            "worker process ended with exit status 3",
        ),
        ("ppo --env python:envs:Failing --set environments.halves=true", "exit", "ended with exit status 3"),
        (
            // One worker: of several that end, any may be the first.
            "ppo --games CartPole-v1,python:envs:Failing --set environments.gymnasium.workers=1",
            "exit",
            "environment 4: python:envs:Failing (seed 8)",
        ),
        (
            "dqn --env python:envs:Failing --set dqn.learning_starts=100",
            "nan",
            "element 0 of the observation",
        ),
        ("pqn --env python:envs:Failing", "hang", "its worker process did not respond for 3 seconds"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("run-{index}");
        fs::write(modules.run("fault"), fault).expect("a file");
        let line = modules.train(&name, settings).words("--total-frames 4096 --quiet");
        let line = line.set("environments.gymnasium.timeout", 3);
        let messages = line.fail(1);
        let expected = format!(
            "the learner is saved: continue with `ale-train resume {}`",
            modules.run(&name).display()
        );
        for part in [cause, "error: training failed: environment ", "python:envs:Failing (seed ", &expected] {
            assert!(messages.contains(part), "{settings}: {messages}");
        }
        // A machine with one core adds a warning about the number of threads.
        assert_eq!(messages.lines().filter(|line| !line.starts_with("warning: ")).count(), 1, "{messages}");
        let newest = checkpoints(&modules.run(&name)).pop().expect("a checkpoint");
        let progress = fs::read_to_string(newest.join("progress.json")).expect("the progress");
        let progress: Value = serde_json::from_str(&progress).expect("JSON");
        let steps = progress["moment"]["steps"].as_u64().expect("a number of steps");
        // All environments have made the same number of steps: 8 at least.
        assert!(steps >= 32 && steps.is_multiple_of(4), "{steps} steps");
        fs::remove_file(modules.run("fault")).expect("a file");
        let messages = modules.resume(&name).messages();
        let warning = "new episodes start, because the checkpoint does not have the state of the former ones: \
                       environment ";
        assert!(messages.contains(warning), "{messages}");
        let provenance = modules.provenance(&name);
        let frames = &provenance["new_episodes"][0]["frames"];
        assert_eq!(
            (frames.as_u64(), provenance.get("unsaved_episodes")),
            (Some(steps), None),
            "{provenance}"
        );
    }
}

#[test]
fn a_fault_of_an_evaluation_keeps_the_state_of_the_environments() {
    let Some(modules) = Modules::new() else { return };
    let train = |name: &str| {
        let line = modules.train(name, "ppo --env python:envs:Evaluated --total-frames 4096 --quiet");
        line.set("evaluation.episodes", 4).set("evaluation.interval_frames", 1024)
    };
    let messages = train("run").fail(1);
    assert!(
        messages.contains("the evaluation collapsed") && messages.contains("the learner is saved"),
        "{messages}"
    );
    fs::write(modules.run("repaired"), "").expect("a file");
    modules.resume("run").succeed();
    assert_eq!(modules.provenance("run").get("new_episodes"), None);
    train("whole").succeed();
    let [(learner, ..), (expected, ..)] = ["run", "whole"].map(|name| outcome(&modules.run(name)));
    assert!(learner == expected, "the learners differ");
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_worker_ends_the_run_and_leaves_no_process() {
    let Some(modules) = Modules::new() else { return };
    let line = modules.train("run", "ppo --env gym:CartPole-v1 --total-frames 500000 --quiet");
    let mut command = line.set("checkpoints.interval_frames", 1000).command();
    let mut training =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    wait_for(&mut training, "checkpoint", || !checkpoints(&modules.run("run")).is_empty());
    let workers = children(training.id());
    assert_eq!(workers.len(), 2);
    signal(workers[1], "-KILL");
    let output = training.wait_with_output().expect("the messages");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    for part in [" gymnasium:CartPole-v1 (seed ", "was ended by signal 9 (SIGKILL)", "the learner is saved"] {
        assert!(messages.contains(part), "{messages}");
    }
    assert!(!workers.into_iter().any(is_alive));
}

/// Returns the processes that a process has started.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("threads");
    let of_thread = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("a thread").path().join("children");
        // The thread may have ended.
        fs::read_to_string(path).unwrap_or_default()
    };
    let texts: Vec<String> = threads.map(of_thread).collect();
    texts.iter().flat_map(|text| text.split_whitespace()).map(|id| id.parse().expect("an id")).collect()
}
