//! Action masks. The observations of the environments of these tests are the masks themselves.

use gymnasium_workers::{BatchOrder, BuildError, EnvGroup, WorkerOptions, WorkerVectorEnv};
use rl_env::{ActionBuffer, AutoresetMode, Batch, ObservationBuffer, Pcg64, ResetSeeds, Space, VectorEnv};

use crate::support::{failure, group, group_with, options};

const NUM_ENVS: usize = 5;

fn masked(kind: &str) -> EnvGroup {
    group_with("python:sample_envs:Masked", NUM_ENVS, &format!(r#"{{"kind": "{kind}"}}"#))
}

fn options_with_masks(options: WorkerOptions, autoreset_mode: AutoresetMode) -> WorkerOptions {
    WorkerOptions { action_masks: true, autoreset_mode, ..options }
}

/// Draws an allowed action for each row, or if the next step only resets, any action.
fn draw(generator: &mut Pcg64, envs: &WorkerVectorEnv) -> ActionBuffer {
    let batch = envs.batch();
    let mut actions = Vec::new();
    for (row, &env) in batch.env_ids.iter().enumerate() {
        let sizes = match &envs.action_spaces()[env] {
            Space::Discrete { n, .. } => vec![*n],
            Space::MultiDiscrete { nvec, .. } => nvec.clone(),
            space => panic!("{space}"),
        };
        let mut rest = batch.action_masks.row(row);
        for size in sizes {
            let own;
            (own, rest) = rest.split_at(size);
            let allowed: Vec<usize> = (0..size).filter(|&option| own[option] == 1).collect();
            actions.push(allowed[generator.below(allowed.len() as u32) as usize] as i32);
        }
    }
    actions.into()
}

/// Checks that masks are the observations, but allow everything after terminated steps.
fn check(masks: &ObservationBuffer, observations: &ObservationBuffer, row: usize, is_terminated: bool) {
    let bits: Vec<u8> = observations.row_f32(row).iter().map(|&bit| bit as u8).collect();
    let expected = if is_terminated { vec![1; bits.len()] } else { bits };
    assert_eq!(masks.row(row), expected);
}

fn check_batch(batch: &Batch, mode: AutoresetMode) {
    for row in 0..batch.len() {
        let same_step = mode == AutoresetMode::SameStep;
        let is_over = batch.terminated[row] && !same_step;
        check(&batch.action_masks, &batch.observations, row, is_over);
        if same_step {
            check(&batch.final_action_masks, &batch.final_observations, row, batch.terminated[row]);
        }
    }
}

#[test]
fn masks_reach_the_rows_of_all_batches() {
    let Some(options) = options(2) else { return };
    let in_turn = WorkerOptions { batch_size: 2, batch_order: BatchOrder::InTurn, ..options.clone() };
    let first_come = WorkerOptions { batch_size: 3, ..options.clone() };
    for (kind, options, num_envs) in [
        ("int8", options.clone(), 5),
        ("bool", options, 5),
        ("tuple", first_come, 5),
        ("joined", in_turn.clone(), 4),
        ("binary", in_turn, 4),
    ] {
        for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
            let options = options_with_masks(options.clone(), mode);
            let groups = [EnvGroup { num_envs, ..masked(kind) }];
            let mut envs = WorkerVectorEnv::new(&groups, &options).unwrap_or_else(|error| panic!("{error}"));
            assert!(envs.batch().has_action_masks());
            envs.reset(ResetSeeds::From(3)).unwrap();
            check_batch(envs.batch(), mode);
            let mut generator = Pcg64::new(4);
            let (mut ends, mut masked) = (0, 0);
            for _ in 0..80 {
                let actions = draw(&mut generator, &envs);
                let batch = envs.step(actions.as_actions()).unwrap_or_else(|error| panic!("{kind}: {error}"));
                check_batch(batch, mode);
                ends += batch.episodes.iter().flatten().count();
                masked += usize::from(batch.action_masks.row(0).contains(&0));
            }
            assert!(ends > 5 && masked > 5, "{kind}: {ends} {masked}");
        }
    }
}

#[test]
fn masks_of_fewer_options_end_with_zeros() {
    let Some(options) = options(2) else { return };
    let groups = [masked("int8"), group_with("python:sample_envs:Masked", 2, r#"{"kind": "short"}"#)];
    let envs =
        WorkerVectorEnv::new(&groups[..1], &options_with_masks(options.clone(), AutoresetMode::SameStep));
    assert_eq!(envs.unwrap().batch().action_masks.row_bytes(), 5);
    let options = options_with_masks(options, AutoresetMode::SameStep);
    let mut envs = WorkerVectorEnv::new(&groups, &options).unwrap();
    let batch = envs.reset(ResetSeeds::From(3)).unwrap();
    assert_eq!(batch.action_masks.row_bytes(), 5);
    for row in NUM_ENVS..NUM_ENVS + 2 {
        let bits: Vec<u8> = batch.observations.row_f32(row).iter().map(|&bit| bit as u8).collect();
        assert_eq!(
            (&batch.action_masks.row(row)[..3], &batch.action_masks.row(row)[3..]),
            (&bits[..3], &[0, 0][..])
        );
    }
}

#[test]
fn snapshots_have_masks() {
    let Some(options) = options(2) else { return };
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let options = options_with_masks(options.clone(), mode);
        let new = || WorkerVectorEnv::new(&[masked("tuple")], &options).unwrap();
        let (mut envs, mut restored) = (new(), new());
        envs.reset(ResetSeeds::From(3)).unwrap();
        let mut generator = Pcg64::new(4);
        let rows = |batch: &Batch| {
            (batch.observations.clone(), batch.action_masks.clone(), batch.final_action_masks.clone())
        };
        for _ in 0..30 {
            let snapshot = envs.snapshot().unwrap();
            assert_eq!(rows(restored.restore(&snapshot).unwrap()), rows(envs.batch()));
            let actions = draw(&mut generator, &envs);
            let expected = rows(envs.step(actions.as_actions()).unwrap());
            assert_eq!(rows(restored.step(actions.as_actions()).unwrap()), expected);
        }
        let plain = WorkerOptions { action_masks: false, ..options.clone() };
        let mut plain = WorkerVectorEnv::new(&[masked("tuple")], &plain).unwrap();
        let error = plain.restore(&envs.snapshot().unwrap()).unwrap_err();
        assert!(error.to_string().contains("it has action masks"), "{error}");
    }
}

#[test]
fn unusable_masks_are_errors_with_their_environment_and_step() {
    let Some(options) = options(2) else { return };
    for (fault, what) in [
        ("missing", "the info has no \"action_mask\", but must have one, because action_masks is set"),
        ("empty", "allows no action"),
        (
            "long",
            "is array([1, 1, 1, 1, 1, 1], dtype=int8), but must be 5 zeros and ones, for [2, 3] options",
        ),
        ("numbers", "but must be 5 zeros and ones"),
        ("text", "the action mask is 'all', but must be 5 zeros and ones"),
    ] {
        for (at_step, place) in [(0, "reset failed: "), (2, "step 2 of the episode failed: ")] {
            let kwargs =
                format!(r#"{{"kind": "joined", "fault": "{fault}", "at_step": {at_step}, "at_seed": 11}}"#);
            let options = options_with_masks(options.clone(), AutoresetMode::SameStep);
            let group = group_with("python:sample_envs:Masked", NUM_ENVS, &kwargs);
            let mut envs = WorkerVectorEnv::new(&[group], &options).unwrap();
            let mut generator = Pcg64::new(4);
            let mut result = envs.reset(ResetSeeds::From(10)).map(drop);
            for _ in 0..2 {
                if result.is_ok() {
                    let actions = draw(&mut generator, &envs);
                    result = envs.step(actions.as_actions()).map(drop);
                }
            }
            let (env, message) = failure(result.unwrap_err());
            assert_eq!(env, 1, "{message}");
            let expected = format!("python:sample_envs:Masked (seed 11): {place}");
            assert!(message.starts_with(&expected) && message.contains(what), "{message}");
            assert!(!message.contains("Traceback"), "{message}");
        }
    }
}

#[test]
fn continuous_actions_have_no_masks() {
    let Some(options) = options(1) else { return };
    let options = options_with_masks(options, AutoresetMode::SameStep);
    let error = WorkerVectorEnv::new(&[group("gymnasium:Pendulum-v1", 1)], &options).err().unwrap();
    assert!(matches!(error, BuildError::Space { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("supported are Discrete, MultiDiscrete and MultiBinary, because action_masks is set")
    );
}
