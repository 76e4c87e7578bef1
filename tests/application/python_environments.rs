//! Training in environments of Python.
//!
//! Skipped without Gymnasium in `$ALE_TRAIN_TEST_PYTHON` or else python3; `.ci/run` installs it.

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::play::{PLAIN, Terminal, screen};
#[cfg(target_os = "linux")]
use crate::program::is_alive;
use crate::program::{self, ALE_TRAIN, Line, checkpoints, curves, outcome, run, signal, wait_for};
use crate::python::python_with;

/// Environments that cannot be pickled, that fail, that print, and that render frames.
const ENVS: &str = r#"
import os
import time

import gymnasium
import numpy as np
from corridor import Corridor


class Unsaved(Corridor):
    def __init__(self):
        super().__init__()
        self.unsaved = lambda: None


class Failing(Corridor):
    def step(self, action):
        if self.steps == 7 and os.path.exists("fault"):
            fault = open("fault").read()
            if fault == "raise":
                raise RuntimeError("the corridor collapsed")
            if fault == "hang":
                time.sleep(10_000)
            if fault == "nan":
                return np.array([np.nan], np.float32), 0.0, False, False, {}
            os._exit(3)
        return super().step(action)


class Evaluated(Corridor):
    def reset(self, *, seed=None, options=None):
        # Seeds of evaluations are large.
        if seed is not None and seed > 1000 and not os.path.exists("repaired"):
            raise RuntimeError("the evaluation collapsed")
        return super().reset(seed=seed, options=options)


class Images(Corridor):
    observation_space = gymnasium.spaces.Box(0, 255, (3, 40, 40), np.uint8)

    def _observe(self):
        return np.full((3, 40, 40), self.position, np.uint8)


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


class Shown(Corridor):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        colour = [20 * self.position, self.steps, 7]
        return np.full((30, 60, 3), colour, np.uint8)
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

    /// Returns `run.json` of a run.
    fn provenance(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.run(name).join("run.json")).expect("the provenance");
        serde_json::from_str(&text).expect("JSON")
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
        "ppo --env gymnasium:CartPole-v1 --total-frames 20000 --set environments.halves=true",
        "ppo --games gym:MountainCar-v0,CartPole-v1,python:corridor:Corridor --total-frames 20000",
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
    // One worker: of several that fail, any may be the first.
    let settings = "--total-frames 4096 --set environments.gymnasium.workers=1";
    let line = modules.train("run", "ppo --env python:corridor:Corridor").words(settings);
    let messages = line.set("environments.gymnasium.action_masks", true).fail(1);
    let expected =
        "environment 0: python:corridor:Corridor (seed 0): reset failed: the info has no \"action_mask\"";
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
        assert_eq!(messages.lines().count(), 1, "{messages}");
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

#[test]
fn environments_share_a_network_with_each_other_and_with_built_in_tasks() {
    let Some(modules) = Modules::new() else { return };
    // Observations of 2, 4 and 1 elements; the built-in task is in the middle.
    let games = ["gymnasium:MountainCar-v0", "CartPole-v1", "python:corridor:Corridor"];
    let line = modules.train("run", &format!("ppo --games {} --total-frames 12000", games.join(",")));
    let line = line.set("evaluation.episodes", 3).set("environments.game.CartPole-v1.total_frames", 1000);
    let output = line.set(r#"environments.game."gymnasium:MountainCar-v0".num_envs"#, 2).stdout();
    let scores = fs::read_to_string(modules.run("run").join("scores.json")).expect("scores");
    for game in games {
        assert!(output.contains(game) && scores.contains(game), "{game}: {output}, {scores}");
    }
    let curves = curves(&modules.run("run"));
    let last = |tag: &str| curves.iter().rev().find_map(|record| record[tag].as_f64());
    // Those with a budget rest after it. In each round, the others have two environments and four.
    assert_eq!(last("charts/frames/CartPole-v1"), Some(1000.0));
    let [car, corridor] =
        [games[0], games[2]].map(|game| last(&format!("charts/frames/{game}")).expect("frames"));
    assert_eq!(2.0 * car, corridor);
    for game in &games[1..] {
        assert!(last(&format!("charts/episodic_return/{game}")).is_some(), "{game}: {curves:?}");
    }
    let evaluate = run("eval run --episodes 2 --json --games").arg(games[2]).within(modules.directory.path());
    let evaluated: Value = serde_json::from_str(&evaluate.stdout()).expect("JSON");
    assert_eq!(evaluated["games"][0]["game"], games[2]);
}

/// Returns the first pixel of each frame of a GIF, after checking its size and its speed.
fn pixels(path: &Path) -> Vec<[u8; 3]> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(fs::File::open(path).expect("a GIF")).expect("a GIF");
    assert_eq!((decoder.width(), decoder.height()), (60, 30 + 12));
    let mut pixels = Vec::new();
    while let Some(frame) = decoder.read_next_frame().expect("a frame") {
        // Hundredths of a second: 20 frames per second.
        assert_eq!(frame.delay, 5);
        pixels.push([frame.buffer[0], frame.buffer[1], frame.buffer[2]]);
    }
    pixels
}

#[test]
fn a_video_has_the_frames_of_an_episode_up_to_its_end() {
    let Some(modules) = Modules::new() else { return };
    for (name, settings) in [
        ("ppo", "ppo --env python:envs:Shown --total-frames 4096"),
        ("lstm", "ppo --env python:envs:Shown --total-frames 4096 --set policy.lstm=8"),
        ("dqn", "dqn --env python:envs:Shown --total-frames 1000 --set dqn.learning_starts=100"),
    ] {
        modules.train(name, settings).succeed();
        let record = run("record --seed 3 --out video.gif").arg(modules.run(name));
        let said = record.within(modules.directory.path()).stdout();
        let pixels = pixels(&modules.run("video.gif"));
        let steps = pixels.len();
        // Position, steps and a constant.
        let [position, _, _] = pixels[steps - 1];
        for (step, &[_, shown, constant]) in (1..).zip(&pixels) {
            assert_eq!((shown, constant), (step, 7), "{name}: {pixels:?}");
        }
        // The end of the corridor is 10; episodes are truncated after 50 steps. Each step costs 1, and the end gives
        // 10.
        assert!(position == 200 || steps == 50, "{name}: {pixels:?}");
        let score = if position == 200 { 11 - steps as i64 } else { -(steps as i64) };
        assert_eq!(said, format!("score {score} after {steps} steps, in video.gif\n"), "{name}");
    }
}

#[test]
fn an_agent_is_watched_in_the_terminal() {
    let Some(modules) = Modules::new() else { return };
    modules.train("run", "ppo --env python:envs:Shown --total-frames 4096").succeed();
    let directory = modules.directory.path().display();
    let play = format!("cd {directory}; {ALE_TRAIN} play --checkpoint run --watch");
    let Some(mut terminal) = Terminal::run(&play) else { return };
    terminal.answer(PLAIN);
    terminal.on("the agent plays", "\t");
    terminal.on("the agent plays", "p");
    terminal.on("paused", "q");
    let (output, after) = terminal.close();
    let last = screen(&output);
    for expected in ["python:envs:Shown", "agent's value", " %", "▄▄▄▄"] {
        assert!(last.contains(expected), "no '{expected}' on the screen:\n{last}");
    }
    assert!(!last.contains("joystick") && !last.contains("switch"), "{last}");
    assert!(after.contains("python:envs:Shown: score "), "{after}");
}

#[test]
fn environments_that_cannot_be_shown_say_why() {
    let Some(modules) = Modules::new() else { return };
    modules.train("corridor", "ppo --env python:corridor:Corridor --total-frames 4096").succeed();
    modules.train("cart", "ppo --env gym:CartPole-v1 --total-frames 4096").succeed();
    modules.train("shown", "ppo --env python:envs:Shown --total-frames 4096").succeed();
    fs::write(modules.run("pygame.py"), "raise ImportError('no pygame')").expect("a module");
    for (words, expected) in [
        ("record corridor --out a.gif", "unexpected keyword argument 'render_mode'); possible are none"),
        ("record cart --out a.gif", "render failed: pygame is not installed, run `pip install"),
        ("record shown --game pong --out a.gif", "was not trained on 'pong'; it plays python:envs:Shown"),
        ("play --checkpoint shown", "python:envs:Shown can only be watched: add --watch"),
        (
            "play --checkpoint shown --watch --mode 3",
            "--mode is not possible: python:envs:Shown is not an Atari game",
        ),
        ("play --checkpoint cart --watch", "pygame is not installed"),
    ] {
        let message = run(words).within(modules.directory.path()).fail(2);
        assert!(message.contains(expected) && message.lines().count() == 1, "{words}: {message}");
    }
    assert!(!modules.run("a.gif").exists());
}

#[test]
fn output_of_environments_does_not_mix_with_results() {
    let Some(modules) = Modules::new() else { return };
    let line = modules.train("run", "ppo --env python:envs:Printing --total-frames 4096 --json");
    let records = line.stdout();
    assert!(!records.is_empty());
    for record in records.lines() {
        serde_json::from_str::<Value>(record).expect("a record");
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
        ("ppo --games pong,gym:CartPole-v1", 2, "cannot be trained together with pong"),
        (
            "ppo --games CartPole-v1,python:envs:Images",
            2,
            "python:envs:Images, whose observations are images",
        ),
        ("ppo --games CartPole-v1,gym:Pendulum-v1", 2, "gymnasium:Pendulum-v1"),
        (
            "ppo --games CartPole-v1,gym:CartPole-v1 --set environments.halves=true",
            2,
            "environments.halves = true is not possible with gymnasium:CartPole-v1, because other tasks do not run",
        ),
        ("ppo --games LunarLander-v3", 2, "gymnasium:LunarLander-v3 would be an environment of Gymnasium"),
    ] {
        let messages = modules.train("run", settings).fail(status);
        assert!(messages.contains(expected), "{settings}: {messages}");
        assert!(!messages.contains("Traceback"), "{settings}: {messages}");
    }
}
