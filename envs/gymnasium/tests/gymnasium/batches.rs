//! Batches with fewer rows than environments, and calls in the wrong order.

use std::time::{Duration, Instant};

use gymnasium_workers::{BatchOrder, WorkerOptions, WorkerVectorEnv};
use rl_env::{Actions, AutoresetMode, ResetSeeds, VectorEnv, VectorError};

use crate::support::{Row, group, group_with, make, options, row, rows};

const NUM_ENVS: usize = 6;
const CORRIDOR: &str = "python:sample_envs:corridor";

/// Returns the action of an environment at a step.
fn action_of(env: usize, step: usize) -> i32 {
    ((step * 5 + env) % 3) as i32
}

/// Returns the first `steps` rows of every environment after a reset.
fn traces(envs: &mut WorkerVectorEnv, steps: usize) -> Vec<Vec<Row>> {
    let mut traces = vec![Vec::new(); envs.num_envs()];
    envs.reset(ResetSeeds::From(5)).unwrap();
    loop {
        let batch = envs.batch();
        for (index, &env) in batch.env_ids.iter().enumerate() {
            traces[env].push(row(batch, index));
        }
        if traces.iter().all(|trace| trace.len() >= steps) {
            break;
        }
        let actions: Vec<i32> = batch.env_ids.iter().map(|&env| action_of(env, traces[env].len())).collect();
        envs.step(Actions::Discrete(&actions)).unwrap();
    }
    for trace in &mut traces {
        trace.truncate(steps);
    }
    traces
}

#[test]
fn results_do_not_depend_on_batches() {
    let Some(options) = options(1) else { return };
    for autoreset_mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let options = WorkerOptions { autoreset_mode, ..options.clone() };
        let expected = traces(&mut make(CORRIDOR, NUM_ENVS, &options), 80);
        for (batch_order, batch_size, workers) in [
            (BatchOrder::InTurn, 2, 1),
            (BatchOrder::InTurn, 2, 3),
            (BatchOrder::InTurn, 3, 2),
            (BatchOrder::FirstCome, 1, 1),
            (BatchOrder::FirstCome, 2, 3),
            (BatchOrder::FirstCome, 5, 2),
        ] {
            let options = WorkerOptions { batch_order, batch_size, workers, ..options.clone() };
            let found = traces(&mut make(CORRIDOR, NUM_ENVS, &options), 80);
            assert!(found == expected, "{options:?}");
        }
    }
}

#[test]
fn groups_take_turns() {
    let Some(options) = options(2) else { return };
    let options = WorkerOptions { batch_order: BatchOrder::InTurn, batch_size: 3, ..options };
    let mut envs = make(CORRIDOR, NUM_ENVS, &options);
    envs.reset(ResetSeeds::From(1)).unwrap();
    for turn in 0..6 {
        assert_eq!(envs.batch().env_ids, [[0, 1, 2], [3, 4, 5]][turn % 2]);
        envs.step(Actions::Discrete(&[0; 3])).unwrap();
    }
    let first = rows(envs.batch());
    envs.send(Actions::Discrete(&[0; 3])).unwrap();
    assert_eq!(rows(envs.batch()), first, "the last batch stays valid while it steps");
    envs.recv().unwrap();
    envs.recv().unwrap();
    // It is the turn of the second group, but only one of its environments is sent to.
    envs.send_to(Actions::Discrete(&[0; 2]), &[4, 0]).unwrap();
    let too_few = VectorError::TooFewInFlight { in_flight: 1, batch_size: 3 };
    assert_eq!(envs.recv().unwrap_err(), too_few);
    envs.send_to(Actions::Discrete(&[0; 2]), &[5, 3]).unwrap();
    assert_eq!(envs.recv().unwrap().env_ids, [3, 4, 5]);
}

#[test]
fn fast_environments_do_not_wait_for_slow_ones() {
    let Some(options) = options(4) else { return };
    let options = WorkerOptions { batch_size: 2, ..options };
    let mut envs = make("python:sample_envs:Slow", 4, &options);
    // Seeds 2 and 4 are slow.
    envs.reset(ResetSeeds::Each(&[Some(1), Some(2), Some(3), Some(4)])).unwrap();
    let begin = Instant::now();
    let mut counts = [0; 4];
    for _ in 0..40 {
        envs.step(Actions::Discrete(&[0; 2])).unwrap();
        envs.batch().env_ids.iter().for_each(|&env| counts[env] += 1);
    }
    assert!(counts[0] + counts[2] >= 60, "{counts:?}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_reset_drops_the_results_in_flight() {
    let Some(options) = options(2) else { return };
    for (batch_order, batch_size) in [(BatchOrder::FirstCome, 4), (BatchOrder::InTurn, 2)] {
        let options = WorkerOptions { batch_order, batch_size, ..options.clone() };
        let mut envs = make(CORRIDOR, NUM_ENVS, &options);
        let expected = traces(&mut envs, 20);
        envs.send(Actions::Discrete(&vec![0; batch_size])).unwrap();
        assert!(traces(&mut envs, 20) == expected, "{batch_order:?}");
    }
}

#[test]
fn invalid_calls_are_errors_that_change_nothing() {
    let Some(options) = options(2) else { return };
    let mut envs = make(CORRIDOR, 3, &options);
    assert!(matches!(envs.send(Actions::Discrete(&[0; 3])), Err(VectorError::OutOfOrder(_))));
    assert!(matches!(envs.recv(), Err(VectorError::OutOfOrder(_))));
    assert!(matches!(envs.snapshot(), Err(VectorError::OutOfOrder(_))));
    let few = envs.reset(ResetSeeds::Each(&[None])).unwrap_err();
    assert_eq!(few, VectorError::WrongLength { what: "seeds", got: 1, expected: 3 });
    envs.reset(ResetSeeds::From(3)).unwrap();
    let few = envs.send(Actions::Discrete(&[0; 2])).unwrap_err();
    assert_eq!(few, VectorError::WrongLength { what: "action values", got: 2, expected: 3 });
    let bad = envs.send(Actions::Discrete(&[0, 3, 0])).unwrap_err();
    assert_eq!(bad.to_string(), "environment 1: action 3 is not in the action space Discrete(3)");
    assert!(envs.send(Actions::Continuous(&[0.0; 3])).is_err());
    let zeros = Actions::Discrete(&[0; 2]);
    assert_eq!(envs.send_to(zeros, &[1, 1]), Err(VectorError::Duplicate { env: 1 }));
    assert_eq!(envs.send_to(zeros, &[1, 3]), Err(VectorError::UnknownEnv { env: 3, num_envs: 3 }));
    assert_eq!(envs.recv().unwrap_err(), VectorError::TooFewInFlight { in_flight: 0, batch_size: 3 });
    envs.send_to(zeros, &[2, 0]).unwrap();
    assert_eq!(envs.send_to(zeros, &[1, 0]), Err(VectorError::InFlight { env: 0 }));
    assert!(matches!(envs.reset(ResetSeeds::Continue), Err(VectorError::OutOfOrder(_))));
    assert!(matches!(envs.render(2), Err(VectorError::InFlight { env: 2 })));
    envs.send_to(Actions::Discrete(&[0]), &[1]).unwrap();
    let found = rows(envs.recv().unwrap());
    let mut others = make(CORRIDOR, 3, &options);
    others.reset(ResetSeeds::From(3)).unwrap();
    assert_eq!(found, rows(others.step(Actions::Discrete(&[0; 3])).unwrap()));
}

#[test]
fn environments_can_be_reset_by_the_caller() {
    let Some(options) = options(2) else { return };
    let options = WorkerOptions { autoreset_mode: AutoresetMode::Disabled, ..options };
    let mut envs = make("python:sample_envs:pixels", 3, &options);
    envs.reset(ResetSeeds::From(3)).unwrap();
    let over = loop {
        let batch = envs.step(Actions::Discrete(&[0; 12])).unwrap();
        let over: Vec<bool> = batch.episodes.iter().map(Option::is_some).collect();
        if over.contains(&true) {
            break over;
        }
    };
    let env = over.iter().position(|&over| over).unwrap();
    assert_eq!(envs.send(Actions::Discrete(&[0; 12])), Err(VectorError::EpisodeOver { env }));
    let before = rows(envs.batch());
    let after = rows(envs.reset_masked(&over, ResetSeeds::From(100)).unwrap());
    for env in 0..3 {
        assert_eq!(after[env].observation == before[env].observation, !over[env], "environment {env}");
        assert_eq!((after[env].reward, after[env].steps), (0.0, 0));
    }
    envs.step(Actions::Discrete(&[0; 12])).unwrap();
}

#[test]
fn steps_can_be_limited() {
    let Some(options) = options(1) else { return };
    let options = WorkerOptions { autoreset_mode: AutoresetMode::SameStep, ..options };
    let faulty = group_with("python:sample_envs:Faulty", 2, r#"{"fault": "raises", "at_step": 100}"#);
    let mut envs = WorkerVectorEnv::new(&[faulty], &options).unwrap();
    envs.reset(ResetSeeds::From(1)).unwrap();
    envs.limit_steps(0, Some(2)).unwrap();
    assert_eq!(envs.limit_steps(2, None), Err(VectorError::UnknownEnv { env: 2, num_envs: 2 }));
    let batch = envs.step(Actions::Discrete(&[0; 2])).unwrap();
    assert_eq!(batch.truncated, [false, false]);
    let batch = envs.step(Actions::Discrete(&[0; 2])).unwrap();
    assert_eq!((&batch.truncated, &batch.episodes), (&vec![true, false], &vec![None; 2]));
    let last = rows(batch);
    let batch = envs.step(Actions::Discrete(&[7, 0])).unwrap();
    let found = row(batch, 0);
    assert!(found.autoreset && found.observation == last[0].observation && found.reward == 0.0);
    assert!(!batch.autoreset[1] && batch.steps == [0, 1]);
    envs.limit_steps(0, None).unwrap();
    assert_eq!(envs.step(Actions::Discrete(&[0; 2])).unwrap().steps, [1, 1]);
}

#[test]
fn vectors_of_different_lengths_are_padded_with_zeros() {
    let Some(options) = options(2) else { return };
    // Five and three values, in groups that take turns and so share rows.
    let groups = [group(CORRIDOR, 2), group("python:sample_envs:short_corridor", 2)];
    assert!(WorkerVectorEnv::new(&groups, &options).is_err());
    for (pad, length) in [(0, 5), (8, 8)] {
        for (batch_order, batch_size) in
            [(BatchOrder::InTurn, 2), (BatchOrder::InTurn, 4), (BatchOrder::FirstCome, 1)]
        {
            let autoreset_mode = AutoresetMode::SameStep;
            let options =
                WorkerOptions { autoreset_mode, batch_order, batch_size, pad: Some(pad), ..options.clone() };
            let mut envs = WorkerVectorEnv::new(&groups, &options).unwrap();
            let found = traces(&mut envs, 60);
            let alone = WorkerOptions { autoreset_mode, ..options.clone() };
            let alone = WorkerOptions { batch_size: 0, pad: None, ..alone };
            let corridors = traces(&mut make(CORRIDOR, 2, &alone), 60);
            for (found, expected) in found.iter().zip(&corridors).flat_map(|(a, b)| a.iter().zip(b)) {
                let padding = vec![0; 4 * (length - 5)];
                assert_eq!(found.observation, [expected.observation.as_slice(), &padding].concat());
                let [found, expected] = [found, expected].map(|row| row.final_observation.clone().unwrap());
                assert_eq!(found, [expected.as_slice(), &padding].concat());
            }
            for row in found[2..].iter().flatten() {
                for observation in [&row.observation, row.final_observation.as_ref().unwrap()] {
                    assert_eq!(observation.len(), 4 * length);
                    assert!(observation[12..].iter().all(|&byte| byte == 0));
                    assert!(
                        observation[..12]
                            .chunks(4)
                            .all(|bit| bit == 0_f32.to_ne_bytes() || bit == 1_f32.to_ne_bytes())
                    );
                }
            }
        }
    }
}

#[test]
fn workers_may_have_unequal_parts() {
    let Some(options) = options(3) else { return };
    let envs = WorkerVectorEnv::new(&[group(CORRIDOR, 2)], &options).unwrap();
    assert_eq!(envs.num_workers(), 2);
    assert_eq!(envs.worker_ids().len(), 2);
}
