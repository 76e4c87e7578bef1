//! Training in environments of Python.
//!
//! Skipped without Gymnasium in `$ALE_TRAIN_TEST_PYTHON` or else python3; `.ci/run` installs it.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::program::{self, Line, checkpoints, outcome, run, signal, wait_for};
use crate::python::python_with;

/// Environments that cannot be pickled, that fail, and that print.
const ENVS: &str = r#"
from corridor import Corridor


class Unsaved(Corridor):
    def __init__(self):
        super().__init__()
        self.unsaved = lambda: None


class Failing(Corridor):
    def step(self, action):
        if self.steps == 7:
            raise RuntimeError("the corridor collapsed")
        return super().step(action)


class Printing(Corridor):
    def step(self, action):
        print("one step")
        return super().step(action)
"#;

/// A directory with modules of environments, and the Python that has Gymnasium.
struct Modules {
    directory: TempDir,
    python: String,
}

impl Modules {
    /// Returns `None` if Gymnasium is missing.
    fn new() -> Option<Self> {
        let python = python_with("gymnasium")?;
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join("envs.py"), ENVS).expect("a module");
        let corridor = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/corridor.py");
        fs::copy(corridor, directory.path().join("corridor.py")).expect("a module");
        Some(Self { directory, python })
    }

    fn run(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a training of a few updates.
    fn train(&self, name: &str, settings: &str) -> Line {
        let line = program::train(&self.run(name), settings).within(self.directory.path());
        let line = line.words("--seed 4 --num-threads 2 --num-envs 4");
        line.set("environments.gymnasium.python", &self.python)
    }

    fn resume(&self, name: &str) -> Line {
        run("resume").arg(self.run(name)).within(self.directory.path())
    }
}

#[test]
fn a_killed_run_in_python_continues_bit_for_bit_with_another_number_of_workers() {
    let Some(modules) = Modules::new() else { return };
    for settings in [
        "ppo --env gymnasium:CartPole-v1 --total-frames 20000",
        "dqn --env python:corridor:Corridor --total-frames 20000 --set dqn.learning_starts=100",
        "sac --env gym:Pendulum-v1 --total-frames 4000 --set sac.learning_starts=100 --set sac.train_ratio=0.1",
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
    modules.resume("first").words("--total-frames 8192").succeed();
}

#[test]
fn an_exception_ends_the_run_with_its_traceback() {
    let Some(modules) = Modules::new() else { return };
    let line = modules.train("run", "ppo --env python:envs:Failing --total-frames 4096");
    let messages = line.fail(1);
    for part in ["RuntimeError: the corridor collapsed", "envs.py", "python:envs:Failing", "in step"] {
        assert!(messages.contains(part), "{messages}");
    }
}

#[test]
fn output_of_environments_does_not_mix_with_results() {
    let Some(modules) = Modules::new() else { return };
    let line = modules.train("run", "ppo --env python:envs:Printing --total-frames 4096 --json");
    let records = line.stdout();
    assert!(!records.is_empty());
    for record in records.lines() {
        serde_json::from_str::<serde_json::Value>(record).expect("a record");
    }
}

#[test]
fn arguments_and_wrappers_reach_the_environments() {
    let Some(modules) = Modules::new() else { return };
    let train = |name: &str, settings: &[&str]| {
        let line = modules.train(name, "ppo --env python:corridor:Corridor --total-frames 4096");
        line.settings(settings).succeed();
        outcome(&modules.run(name)).2
    };
    let plain = train("plain", &[]);
    assert_ne!(plain, train("longer", &["environments.gymnasium.kwargs.length=20"]));
    let wrapper = r#"environments.gymnasium.wrappers=["gymnasium.wrappers.NormalizeReward"]"#;
    assert_ne!(plain, train("wrapped", &[wrapper]));
}

#[test]
fn mistakes_are_one_sentence() {
    let Some(modules) = Modules::new() else { return };
    for (settings, status, expected) in [
        ("ppo --env gymnasium:NoSuch-v0", 2, "NoSuch"),
        ("ppo --env python:no_such_module:Env", 2, "has no module \"no_such_module\""),
        ("ppo --env python:corridor", 2, "does not name an environment"),
        ("sac --env python:corridor:Corridor", 2, "SAC needs a Box of bounded float32"),
        (
            "ppo --env gym:CartPole-v1 --set environments.halves=true",
            2,
            "environments.halves = true is not possible",
        ),
        ("ppo --games pong,gym:CartPole-v1", 2, "cannot be trained together with pong"),
        ("ppo --games LunarLander-v3", 2, "gymnasium:LunarLander-v3 would be an environment of Gymnasium"),
    ] {
        let messages = modules.train("run", settings).fail(status);
        assert!(messages.contains(expected), "{settings}: {messages}");
        assert!(!messages.contains("Traceback"), "{settings}: {messages}");
    }
}
