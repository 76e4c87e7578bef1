//! Results equal those of `gymnasium.vector.SyncVectorEnv`.

use std::io::Write;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};

use gymnasium_workers::{EnvGroup, EnvOptions, WorkerOptions, WorkerVectorEnv, WrapperOptions};
use rl_env::{ActionBuffer, AutoresetMode, Pcg64, ResetSeeds, VectorEnv};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Row, draw_for, group, group_with, make, options, python_directory, rows};

const NUM_ENVS: usize = 5;
const NUM_STEPS: usize = 60;

/// A line of the reference.
#[derive(Deserialize)]
struct Line {
    observations: Vec<String>,
    #[serde(rename = "final")]
    final_observations: Vec<Option<String>>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
}

/// The environments of a comparison.
struct Case<'a> {
    groups: &'a [EnvGroup],
    options: &'a WorkerOptions,
    seed: u64,
    /// The order of the axes of images, by name if there are other observations beside them; `None` without images.
    axes: Option<&'a Value>,
    /// The numbers of workers.
    workers: RangeInclusive<usize>,
}

/// Returns what `SyncVectorEnv` does with these actions.
fn reference(case: &Case<'_>, actions: &[ActionBuffer]) -> Vec<Line> {
    let Case { groups, options, seed, axes, .. } = case;
    let flat = |actions: &ActionBuffer| match actions {
        ActionBuffer::Discrete(values) => json!(values),
        ActionBuffer::Continuous(values) => {
            json!(values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>())
        }
    };
    let request = json!({
        "paths": options.paths,
        "groups": groups,
        "mode": options.autoreset_mode,
        "flatten": options.flatten,
        "axes": axes,
        "seed": seed,
        "actions": actions.iter().map(flat).collect::<Vec<_>>(),
    });
    let mut child = Command::new(options.python.as_ref().unwrap())
        .arg("-B")
        .arg(python_directory().join("reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(request.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The episodes of the reference, which count their rewards and steps.
#[derive(Clone, Copy, Default)]
struct Episode {
    total: f64,
    length: u64,
    over: bool,
}

/// Turns a line of the reference into the rows that are expected, except the first line, which is a reset.
fn expected(line: &Line, mode: AutoresetMode, episodes: &mut [Episode], is_reset: bool) -> Vec<Row> {
    let bytes = |text: &String| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let row = |(env, episode): (usize, &mut Episode)| {
        let autoreset = episode.over && mode == AutoresetMode::NextStep;
        if is_reset || episode.over {
            *episode = Episode::default();
        }
        let stepped = !is_reset && !autoreset;
        if stepped {
            episode.total += line.rewards[env];
            episode.length += 1;
        }
        episode.over = line.terminated[env] || line.truncated[env];
        let observation = bytes(&line.observations[env]);
        let last = line.final_observations[env].as_ref().map_or_else(|| observation.clone(), bytes);
        Row {
            final_observation: (mode == AutoresetMode::SameStep).then_some(last),
            observation,
            reward: line.rewards[env] as f32,
            terminated: line.terminated[env],
            truncated: line.truncated[env],
            autoreset,
            steps: u32::from(stepped),
            episode: episode.over.then_some((episode.total, episode.length)),
        }
    };
    episodes.iter_mut().enumerate().map(row).collect()
}

/// Compares environments with the reference, for several numbers of workers. Returns the number of episodes.
fn compare(case: &Case<'_>) -> usize {
    let &Case { groups, options, seed, ref workers, .. } = case;
    let mode = options.autoreset_mode;
    let mut lines = Vec::new();
    let mut actions = Vec::new();
    let mut ends = 0;
    for workers in workers.clone() {
        let options = WorkerOptions { workers, ..options.clone() };
        let mut envs = WorkerVectorEnv::new(groups, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((envs.num_workers(), envs.num_envs()), (workers, NUM_ENVS));
        if lines.is_empty() {
            let mut generator = Pcg64::new(seed);
            let spaces = envs.action_spaces();
            actions = (0..NUM_STEPS).map(|_| draw_for(&mut generator, spaces.iter())).collect();
            lines = reference(case, &actions);
            assert_eq!(lines.len(), NUM_STEPS + 1);
        }
        let mut episodes = [Episode::default(); NUM_ENVS];
        let place = |step: usize| format!("{}, {mode:?}, {workers} workers, step {step}", groups[0].name);
        envs.reset(ResetSeeds::From(seed)).unwrap();
        assert_eq!(rows(envs.batch()), expected(&lines[0], mode, &mut episodes, true), "{}", place(0));
        ends = 0;
        for (step, actions) in actions.iter().enumerate() {
            let found = rows(envs.step(actions.as_actions()).unwrap());
            let expected = expected(&lines[step + 1], mode, &mut episodes, false);
            assert_eq!(found, expected, "{}", place(step + 1));
            ends += found.iter().filter(|row| row.episode.is_some()).count();
        }
    }
    ends
}

/// Compares environments of one name in both modes.
fn compare_all(groups: &[EnvGroup], flatten: bool, must_end: bool) {
    compare_with_axes(groups, flatten, must_end, None);
}

/// Compares environments of one name in both modes, with images whose axes are in this order.
fn compare_with_axes(groups: &[EnvGroup], flatten: bool, must_end: bool, axes: Option<&Value>) {
    let Some(options) = options(1) else { return };
    for (seed, autoreset_mode) in [(42, AutoresetMode::NextStep), (7, AutoresetMode::SameStep)] {
        let options = WorkerOptions { autoreset_mode, flatten, ..options.clone() };
        let workers = if axes.is_some() { 2..=2 } else { 1..=3 };
        let ends = compare(&Case { groups, options: &options, seed, axes, workers });
        assert!(ends > 0 || !must_end, "no episode of {} has ended", groups[0].name);
    }
}

#[test]
fn classic_control_equals_gymnasium() {
    compare_all(&[group("gymnasium:CartPole-v1", NUM_ENVS)], false, true);
    let limited = EnvOptions { max_episode_steps: Some(20), ..EnvOptions::default() };
    compare_all(&[EnvGroup { options: limited, ..group("gym:Pendulum-v1", NUM_ENVS) }], true, true);
}

#[test]
fn toy_text_equals_gymnasium() {
    compare_all(&[group("gymnasium:Taxi-v4", NUM_ENVS)], false, false);
    compare_all(&[group_with("gymnasium:FrozenLake-v1", NUM_ENVS, r#"{"map_name": "8x8"}"#)], false, true);
    compare_all(&[group("gymnasium:Blackjack-v1", NUM_ENVS)], true, true);
}

#[test]
fn all_kinds_of_spaces_equal_gymnasium() {
    for name in ["corridor", "mixed", "pixels", "doubles", "integers", "bits", "levels"] {
        compare_all(&[group(&format!("python:sample_envs:{name}"), NUM_ENVS)], false, true);
    }
}

#[test]
fn flattened_spaces_equal_gymnasium() {
    for name in ["doubles", "integers"] {
        compare_all(&[group(&format!("python:sample_envs:{name}"), NUM_ENVS)], true, true);
    }
}

/// Returns environments whose observations are images, or stacks of the last three ones.
fn images(kwargs: &str, is_stacked: bool) -> EnvGroup {
    let mut group = group_with("python:sample_envs:image", NUM_ENVS, kwargs);
    if is_stacked {
        let kwargs = serde_json::from_str(r#"{"stack_size": 3}"#).unwrap();
        let name = "gymnasium.wrappers.FrameStackObservation".to_owned();
        group.options.wrappers = vec![WrapperOptions { name, kwargs }];
    }
    group
}

#[test]
fn images_have_channels_first() {
    let Some(options) = options(1) else { return };
    let options = WorkerOptions { flatten: true, ..options };
    for (kwargs, is_stacked, axes, shape) in [
        // MiniGrid, its one-hot observations, MinAtar, and pictures with channels first, last and without channels.
        (r#"{"shape": [7, 7, 3]}"#, false, &[2, 0, 1][..], [3, 7, 7]),
        (r#"{"shape": [7, 7, 20]}"#, false, &[2, 0, 1], [20, 7, 7]),
        (r#"{"shape": [10, 10, 10], "dtype": "bool"}"#, false, &[2, 0, 1], [10, 10, 10]),
        (r#"{"shape": [3, 40, 48]}"#, false, &[0, 1, 2], [3, 40, 48]),
        (r#"{"shape": [40, 48, 3]}"#, false, &[2, 0, 1], [3, 40, 48]),
        (r#"{"shape": [40, 48]}"#, false, &[0, 1], [1, 40, 48]),
        // Stacks.
        (r#"{"shape": [7, 7, 3]}"#, true, &[0, 3, 1, 2], [9, 7, 7]),
        (r#"{"shape": [3, 40, 48]}"#, true, &[0, 1, 2, 3], [9, 40, 48]),
        (r#"{"shape": [40, 48, 1]}"#, true, &[0, 3, 1, 2], [3, 40, 48]),
        (r#"{"shape": [40, 48]}"#, true, &[0, 1, 2], [3, 40, 48]),
    ] {
        let groups = [images(kwargs, is_stacked)];
        let envs = WorkerVectorEnv::new(&groups, &options).unwrap();
        assert_eq!(envs.single_observation_space().shape().unwrap(), shape, "{kwargs}");
        compare_with_axes(&groups, true, true, Some(&json!(axes)));
    }
}

#[test]
fn images_beside_other_observations_come_first() {
    let axes = json!({ "image": [2, 0, 1], "map": [0, 1] });
    compare_with_axes(&[group("python:sample_envs:seen", NUM_ENVS)], true, true, Some(&axes));
}

#[test]
fn small_matrices_and_tiny_images_are_vectors_of_floats() {
    for kwargs in [r#"{"shape": [6, 7]}"#, r#"{"shape": [3, 3, 2]}"#, r#"{"shape": [4], "dtype": "bool"}"#] {
        compare_all(&[group_with("python:sample_envs:image", NUM_ENVS, kwargs)], true, true);
    }
    compare_all(&[group_with("python:sample_envs:image", NUM_ENVS, r#"{"shape": [128]}"#)], true, true);
}

#[test]
fn modules_register_ids() {
    compare_all(&[group("gymnasium:sample_envs:samples/Corridor-v0", NUM_ENVS)], false, true);
}

#[test]
fn wrappers_equal_gymnasium() {
    let wrapper = |name: &str, kwargs: &str| WrapperOptions {
        name: name.to_owned(),
        kwargs: serde_json::from_str(kwargs).unwrap(),
    };
    let wrappers = vec![
        wrapper("sample_envs.Negated", r#"{"factor": 3}"#),
        wrapper("gymnasium.wrappers.ClipReward", r#"{"min_reward": -1, "max_reward": 1.5}"#),
        wrapper("gymnasium.wrappers.FrameStackObservation", r#"{"stack_size": 3}"#),
    ];
    let options = EnvOptions { wrappers, ..EnvOptions::default() };
    compare_all(&[EnvGroup { options, ..group("gymnasium:CartPole-v1", NUM_ENVS) }], true, true);
}

#[test]
fn several_environments_are_tasks() {
    let Some(options) = options(2) else { return };
    let groups = [
        group_with("gymnasium:FrozenLake-v1", 2, r#"{"map_name": "4x4"}"#),
        group_with("gymnasium:FrozenLake-v1", 1, r#"{"map_name": "4x4", "is_slippery": false}"#),
        group_with("python:sample_envs:sixteen", 2, "{}"),
    ];
    let mut envs = WorkerVectorEnv::new(&groups, &options).unwrap();
    assert_eq!(envs.tasks(), ["gymnasium:FrozenLake-v1", "python:sample_envs:sixteen"]);
    assert_eq!(envs.task_ids(), [0, 0, 0, 1, 1]);
    assert_eq!(envs.action_spaces()[4].to_string(), "MultiDiscrete([3, 2])");
    envs.reset(ResetSeeds::From(1)).unwrap();
    // Two environments of a task continue as they do alone.
    let mut alone = WorkerVectorEnv::new(&groups[2..], &options).unwrap();
    alone.reset(ResetSeeds::From(4)).unwrap();
    let mut generator = Pcg64::new(3);
    for _ in 0..50 {
        let own = draw_for(&mut generator, alone.action_spaces().iter());
        let all = [&[0, 1, 2], own.discrete().unwrap()].concat();
        let found = rows(envs.step(ActionBuffer::from(all).as_actions()).unwrap());
        assert_eq!(found[3..], rows(alone.step(own.as_actions()).unwrap()));
    }
}

#[test]
fn spaces_are_those_of_learners() {
    let Some(options) = options(1) else { return };
    let spaces = |name: &str, flatten| {
        let options = WorkerOptions { flatten, ..options.clone() };
        let envs = make(&format!("python:sample_envs:{name}"), 1, &options);
        (envs.single_observation_space().to_string(), envs.action_spaces()[0].to_string())
    };
    let texts = |observation: &str, action: &str| (observation.to_owned(), action.to_owned());
    assert_eq!(spaces("corridor", false), texts("Box(0, 1, [5], float32)", "Discrete(3)"));
    assert_eq!(spaces("pixels", true), texts("Box(0, 255, [3, 5, 7], uint8)", "MultiDiscrete([2, 2, 2, 2])"));
    assert_eq!(spaces("doubles", false), texts("Box(-2, 2, [2, 3], float32)", "Box(-1, 1, [4], float32)"));
    assert_eq!(spaces("doubles", true).0, "Box(-2, 2, [6], float32)");
    let seen = "Tuple(Box(0, 255, [3, 7, 7], uint8), Box(0, 255, [1, 40, 41], uint8), \
                Box([0.0, 0.0, 0.0, 0.0, -1.0, -1.0], 1, [6], float32))";
    assert_eq!(spaces("seen", true).0, seen);
    assert_eq!(spaces("integers", false).0, "Box(-5, 5, [3], int64)");
    assert_eq!(spaces("levels", false).0, "Box(0, 1, [11], float32)");
}
