//! Operations on selected environments: access, action masks, snapshots and restores.

use std::ops::Range;

use crate::stub::Stub;
use rl_env::{Actions, AutoresetMode, ResetSeeds, Space, VectorEnv, VectorError};
use vector::{PoolOptions, PoolVectorEnv, join_snapshots, part_of_snapshot};

/// Builds environments of two tasks: two with two actions and two with three.
fn build(batch_size: usize, autoreset_mode: AutoresetMode) -> PoolVectorEnv<Stub> {
    let env = |index: usize| (format!("task {}", index / 2), Stub::new(2 + index / 2));
    let options = PoolOptions { batch_size, num_threads: 2, autoreset_mode, ..PoolOptions::default() };
    PoolVectorEnv::new((0..4).map(env).collect(), options).unwrap()
}

/// Returns all fields of row `row` except the time.
fn row(env: &PoolVectorEnv<Stub>, row: usize) -> impl PartialEq + std::fmt::Debug + use<> {
    let batch = env.batch();
    let has_final = batch.final_observations.rows() > 0;
    (
        batch.observations.row(row).to_vec(),
        has_final.then(|| batch.final_observations.row(row).to_vec()),
        (batch.rewards[row], batch.raw_rewards[row], batch.steps[row], batch.episodes[row]),
        [batch.terminated[row], batch.truncated[row], batch.continues[row], batch.autoreset[row]],
        env.infos()[row].clone(),
    )
}

#[test]
fn forks_an_episode() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let mut env = build(0, mode);
        env.reset(ResetSeeds::From(6)).unwrap();
        for _ in 0..40 {
            env.step(Actions::Discrete(&[1, 0, 2, 1])).unwrap();
            let saved = env.snapshot_envs(&[1, 2]).unwrap();
            let there = (row(&env, 1), row(&env, 2));
            for _ in 0..3 {
                env.step(Actions::Discrete(&[0; 4])).unwrap();
            }
            let others = [0, 3].map(|id| env.batch().observations.row(id).to_vec());
            // Environment 0 continues from the state of environment 1, environment 2 from its own.
            env.restore_envs(&saved, &[0, 2]).unwrap();
            assert_eq!((row(&env, 0), row(&env, 2)), there);
            assert_eq!(env.batch().observations.row(3), others[1]);
            assert_eq!((env.batch().rewards[3], env.batch().terminated[3]), (0.0, false));
            // Both environments of task 0 continue from the same state and stay equal.
            env.restore_envs(&env.snapshot_envs(&[0, 0]).unwrap(), &[1, 0]).unwrap();
            for _ in 0..5 {
                env.step(Actions::Discrete(&[1, 1, 0, 0])).unwrap();
                assert_eq!(row(&env, 0), row(&env, 1));
            }
        }
    }
}

#[test]
fn invalid_restores_change_nothing() {
    let mut env = build(0, AutoresetMode::NextStep);
    assert!(matches!(env.snapshot_envs(&[0]), Err(VectorError::OutOfOrder(_))));
    env.reset(ResetSeeds::From(6)).unwrap();
    let saved = env.snapshot_envs(&[0, 3]).unwrap();
    let whole = env.snapshot().unwrap();
    let mut restore = |ids: &[usize]| env.restore_envs(&saved, ids).unwrap_err().to_string();
    assert_eq!(restore(&[0]), "environments to restore: got 1, expected 2");
    assert_eq!(
        restore(&[0, 1]),
        "cannot restore the snapshot: the state of an environment of task 1 cannot be restored to one of task 0"
    );
    assert_eq!(restore(&[0, 4]), "there is no environment 4; valid indices are 0 to 3");
    assert_eq!(restore(&[0, 0]), "environment 0 is listed twice");
    assert_eq!(env.snapshot().unwrap(), whole);
    assert!(
        matches!(env.restore(&saved), Err(VectorError::BadSnapshot(_))),
        "the snapshot has two of the four environments"
    );
    env.send(Actions::Discrete(&[0; 4])).unwrap();
    assert_eq!(env.snapshot_envs(&[2]).unwrap_err(), VectorError::InFlight { env: 2 });
    assert!(matches!(env.restore_envs(&saved, &[0, 3]), Err(VectorError::InFlight { env: 0 })));
    env.recv().unwrap();

    let mut env = build(2, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(6)).unwrap();
    let ids = env.batch().env_ids.clone();
    let saved = env.snapshot_envs(&ids).unwrap();
    assert!(matches!(env.restore_envs(&saved, &ids), Err(VectorError::OutOfOrder(_))));
    env.recv().unwrap();
    assert!(
        matches!(env.snapshot_envs(&ids), Err(VectorError::OutOfOrder(_))),
        "their rows may have been reused"
    );
}

#[test]
fn masks_mark_the_valid_actions() {
    let env = build(0, AutoresetMode::NextStep);
    assert_eq!(env.action_mask(1), Ok(&[true, true, false][..]));
    assert_eq!(env.action_mask(2), Ok(&[true, true, true][..]));
    assert_eq!(env.action_mask(4), Err(VectorError::UnknownEnv { env: 4, num_envs: 4 }));
    assert_eq!(env.action_spaces()[2], Space::discrete(3));
}

#[test]
fn only_idle_environments_are_accessible() {
    let mut env = build(0, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(6)).unwrap();
    assert_eq!(env.with_env(3, rl_env::Env::info).unwrap(), env.infos()[3]);
    env.send_to(Actions::Discrete(&[0]), &[3]).unwrap();
    assert_eq!(env.with_env(3, |_| ()), Err(VectorError::InFlight { env: 3 }));
    assert_eq!(env.with_env(2, |_| ()), Ok(()));
    assert_eq!(env.with_env(9, |_| ()), Err(VectorError::UnknownEnv { env: 9, num_envs: 4 }));
}

#[test]
fn final_infos_precede_the_reset() {
    let mut env = build(0, AutoresetMode::SameStep);
    env.reset(ResetSeeds::From(6)).unwrap();
    let mut resets = 0;
    for _ in 0..60 {
        env.step(Actions::Discrete(&[0; 4])).unwrap();
        for id in 0..4 {
            let reset = env.batch().episodes[id].is_some();
            assert_eq!(env.infos()[id].resets, env.final_infos()[id].resets + u64::from(reset));
            assert_eq!(env.infos()[id].steps, env.final_infos()[id].steps);
            resets += usize::from(reset);
        }
    }
    assert!(resets > 10);
}

/// Builds some of the environments of two tasks, each with two environments.
fn build_part(envs: Range<usize>) -> PoolVectorEnv<Stub> {
    let envs = envs.map(|index| (format!("task {}", index / 2), Stub::new(2 + index / 2)));
    let options = PoolOptions { num_threads: 1, ..PoolOptions::default() };
    PoolVectorEnv::new(envs.collect(), options).unwrap()
}

#[test]
fn snapshots_of_parts_are_the_parts_of_a_snapshot() {
    let (mut whole, ranges) = (build_part(0..4), [0..1, 1..4]);
    whole.reset(ResetSeeds::From(6)).unwrap();
    let mut parts = ranges.clone().map(build_part);
    for (part, envs) in parts.iter_mut().zip(&ranges) {
        part.reset(ResetSeeds::From(6 + envs.start as u64)).unwrap();
    }
    for _ in 0..20 {
        whole.step(Actions::Discrete(&[1, 0, 2, 1])).unwrap();
        for (part, envs) in parts.iter_mut().zip(&ranges) {
            part.step(Actions::Discrete(&[1, 0, 2, 1][envs.clone()])).unwrap();
        }
    }
    let whole = whole.snapshot().unwrap();
    let snapshots = parts.each_ref().map(|part| part.snapshot().unwrap());
    assert_eq!(join_snapshots(&snapshots).unwrap(), whole);
    for (snapshot, envs) in snapshots.into_iter().zip(ranges) {
        assert_eq!(part_of_snapshot(&whole, envs).unwrap(), snapshot);
    }
    assert!(matches!(part_of_snapshot(&whole, 2..5), Err(VectorError::BadSnapshot(_))));
    assert!(matches!(part_of_snapshot(&[1, 2], 0..1), Err(VectorError::BadSnapshot(_))));
    assert!(matches!(join_snapshots(&[]), Err(VectorError::BadSnapshot(_))));
    let mut other = build(0, AutoresetMode::SameStep);
    other.reset(ResetSeeds::From(6)).unwrap();
    let error = join_snapshots(&[whole, other.snapshot().unwrap()]).unwrap_err().to_string();
    let expected = "cannot restore the snapshot: the autoreset modes NextStep and SameStep cannot be joined";
    assert_eq!(error, expected);
}
