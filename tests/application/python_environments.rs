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
import gymnasium
import numpy as np
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


class Doors(gymnasium.Env):
    """Doors, of which some are locked. One of the others has a reward."""

    def __init__(self, keys=0):
        self.observation_space = gymnasium.spaces.MultiBinary(4)
        self.action_space = gymnasium.spaces.MultiDiscrete([4, keys]) if keys else gymnasium.spaces.Discrete(4)
        self.keys = keys

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), self.info()

    def observe(self):
        self.goal = int(self.np_random.integers(4))
        self.open = self.np_random.integers(2, size=4).astype(np.int8)
        self.open[self.goal] = 1
        return np.eye(4, dtype=np.int8)[self.goal]

    def info(self):
        if not self.keys:
            return {"action_mask": self.open.copy()}
        # The key with the number of the goal is the only one.
        return {"action_mask": (self.open.copy(), np.arange(self.keys) == self.goal % self.keys)}

    def step(self, action):
        door = int(action[0]) if self.keys else int(action)
        if not self.open[door] or self.keys and action[1] != self.goal % self.keys:
            raise RuntimeError(f"the door {action} is locked")
        reward = float(door == self.goal)
        self.steps += 1
        return self.observe(), reward, False, self.steps == 10, self.info()


class Grid(gymnasium.Env):
    """A small image with the channels last."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(0, 255, (7, 7, 3), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observe(), {}

    def observe(self):
        return self.np_random.integers(11, size=(7, 7, 3), dtype=np.uint8)

    def step(self, action):
        return self.observe(), 1.0, bool(self.np_random.random() < 0.1), False, {}
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
        "ppo --env python:envs:Doors --total-frames 20000 --set environments.gymnasium.action_masks=true",
        "pqn --env python:envs:Doors --total-frames 20000 --set environments.gymnasium.action_masks=true",
        "dqn --env python:envs:Doors --total-frames 20000 --set environments.gymnasium.action_masks=true \
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
fn actions_that_a_mask_does_not_allow_are_never_chosen_and_all_learners_learn() {
    let Some(modules) = Modules::new() else { return };
    for settings in [
        "ppo --total-frames 8000 --set ppo.learning_rate=0.003",
        "pqn --total-frames 8000 --set pqn.learning_rate=0.003 --set pqn.start_e=0.5",
        "dqn --total-frames 4000 --set dqn.learning_starts=100 --set dqn.learning_rate=0.003",
        "dqn --total-frames 4000 --set dqn.learning_starts=100 --set dqn.dueling=true --set dqn.learning_rate=0.003 \
         --set environments.gymnasium.kwargs.keys=3",
        "ppo --total-frames 12000 --set ppo.learning_rate=0.003 --set environments.gymnasium.kwargs.keys=3",
    ] {
        let run = modules.run("run");
        let line = modules.train("run", settings).words("--env python:envs:Doors");
        let line = line
            .set("environments.gymnasium.action_masks", true)
            .settings(&["evaluation.greedy=true", "evaluation.episodes=20"]);
        line.succeed();
        // A random agent opens the right door in less than half of ten steps.
        let scores: Vec<f64> =
            outcome(&run).2.iter().filter_map(|record| record["evaluation/return"].as_f64()).collect();
        assert!(scores.last().is_some_and(|score| *score > 9.9), "{settings}: {scores:?}");
        fs::remove_dir_all(run).expect("a run");
    }
}

#[test]
fn masks_that_are_missing_end_the_run() {
    let Some(modules) = Modules::new() else { return };
    let line = modules.train("run", "ppo --env python:corridor:Corridor --total-frames 4096");
    let messages = line.set("environments.gymnasium.action_masks", true).fail(1);
    let expected =
        "environment 0: python:corridor:Corridor (seed 4): reset failed: the info has no \"action_mask\"";
    assert!(messages.contains(expected), "{messages}");
}

#[test]
fn stacks_of_small_images_are_learned_from() {
    let Some(modules) = Modules::new() else { return };
    for algorithm in ["ppo --set ppo.num_steps=32", "dqn --set dqn.learning_starts=100"] {
        let settings = format!("{algorithm} --env python:envs:Grid --total-frames 2048");
        modules.train("run", &settings).set("environments.gymnasium.frame_stack", 2).succeed();
        fs::remove_dir_all(modules.run("run")).expect("a run");
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
