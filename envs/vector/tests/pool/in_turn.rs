//! Fixed groups of environments that take turns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::stub::Stub;
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, VectorEnv, VectorError};
use vector::{BatchOrder, BuildError, PoolOptions, PoolVectorEnv};

const NUM_ENVS: usize = 6;

fn options(batch_size: usize, num_threads: usize, autoreset_mode: AutoresetMode) -> PoolOptions {
    let batch_order = BatchOrder::InTurn;
    PoolOptions { batch_size, batch_order, num_threads, autoreset_mode, ..PoolOptions::default() }
}

fn build(batch_size: usize, num_threads: usize, mode: AutoresetMode) -> PoolVectorEnv<Stub> {
    let envs = (0..NUM_ENVS).map(|index| ("stub".to_owned(), Stub::new(2 + index))).collect();
    PoolVectorEnv::new(envs, options(batch_size, num_threads, mode)).unwrap()
}

/// Observation, final observation, reward and flags of a row.
type Row = (Vec<u8>, Option<Vec<u8>>, f32, [bool; 4]);

fn row_of(batch: &Batch, row: usize) -> Row {
    let final_observation =
        (batch.final_observations.rows() > 0).then(|| batch.final_observations.row(row).to_vec());
    let flags = [batch.terminated[row], batch.truncated[row], batch.autoreset[row], batch.continues[row]];
    (batch.observations.row(row).to_vec(), final_observation, batch.raw_rewards[row], flags)
}

/// Appends the rows of a batch to the traces of their environments. Returns the next actions, which depend on the
/// lengths of the traces.
fn append_batch(batch: &Batch, traces: &mut [Vec<Row>]) -> Vec<i32> {
    let actions = batch.env_ids.iter().enumerate().map(|(row, &env)| {
        traces[env].push(row_of(batch, row));
        (traces[env].len() * 5 % (2 + env)) as i32
    });
    actions.collect()
}

/// Returns `steps` rows of every environment after a reset. Each group is sent to as soon as it has been received.
fn traces(env: &mut PoolVectorEnv<Stub>, seed: u64, steps: usize) -> Vec<Vec<Row>> {
    let mut traces = vec![Vec::new(); NUM_ENVS];
    env.reset(ResetSeeds::From(seed)).unwrap();
    let groups = NUM_ENVS / env.batch_size();
    for round in 0..steps {
        for group in 0..groups {
            let first = group * env.batch_size();
            assert!(env.batch().env_ids.iter().copied().eq(first..first + env.batch_size()));
            let actions = append_batch(&env.batch().clone(), &mut traces);
            if round + 1 < steps {
                env.send(Actions::Discrete(&actions)).unwrap();
            }
            if round + 1 < steps || group + 1 < groups {
                env.recv().unwrap();
            }
        }
    }
    traces
}

#[test]
fn turns_do_not_change_the_episodes() {
    let seed = rand::random();
    println!("seed {seed}");
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let expected = traces(&mut build(NUM_ENVS, 1, mode), seed, 200);
        for batch_size in [1, 2, 3] {
            for num_threads in [1, 2, 5] {
                let traces = traces(&mut build(batch_size, num_threads, mode), seed, 200);
                assert!(traces == expected, "{mode:?}, batches of {batch_size}, {num_threads} threads");
            }
        }
    }
}

#[test]
fn fast_environments_wait_for_their_turn() {
    let slow = Stub::calling(2, |_| {
        thread::sleep(Duration::from_millis(20));
        Ok(())
    });
    let envs = [slow, Stub::new(2), Stub::new(2), Stub::new(2)].map(|env| ("stub".to_owned(), env));
    let mut env = PoolVectorEnv::new(envs.into(), options(2, 2, AutoresetMode::NextStep)).unwrap();
    env.reset(ResetSeeds::From(1)).unwrap();
    for turn in 0..10 {
        assert_eq!(env.batch().env_ids, [[0, 1], [2, 3]][turn % 2]);
        env.step(Actions::Discrete(&[0; 2])).unwrap();
    }
}

#[test]
fn one_group_steps_while_the_caller_handles_the_other() {
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    let counting = Stub::calling(2, |_| {
        STEPS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let envs = vec![("stub".to_owned(), counting); 2];
    let mut env = PoolVectorEnv::new(envs, options(1, 1, AutoresetMode::Disabled)).unwrap();
    env.reset(ResetSeeds::From(1)).unwrap();
    env.recv().unwrap();
    env.send_to(Actions::Discrete(&[0]), &[0]).unwrap();
    // The group steps although recv is not called.
    let deadline = Instant::now() + Duration::from_mins(1);
    while STEPS.load(Ordering::Relaxed) == 0 {
        assert!(Instant::now() < deadline, "the group did not step within a minute");
        thread::yield_now();
    }
    env.send_to(Actions::Discrete(&[0]), &[1]).unwrap();
    assert_eq!(env.recv().unwrap().env_ids, [0]);
}

#[test]
fn a_recv_that_would_block_forever_is_an_error() {
    let mut env = build(3, 2, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(1)).unwrap();
    env.recv().unwrap();
    // It is the turn of the first group, but the second one is sent to.
    env.send(Actions::Discrete(&[0; 3])).unwrap();
    assert_eq!(env.recv().unwrap_err(), VectorError::TooFewInFlight { in_flight: 0, batch_size: 3 });
    env.send_to(Actions::Discrete(&[0; 2]), &[0, 1]).unwrap();
    assert_eq!(env.recv().unwrap_err(), VectorError::TooFewInFlight { in_flight: 2, batch_size: 3 });
    env.send_to(Actions::Discrete(&[0]), &[2]).unwrap();
    assert_eq!(env.recv().unwrap().env_ids, [0, 1, 2]);
    assert_eq!(env.recv().unwrap().env_ids, [3, 4, 5]);
}

#[test]
fn rejects_groups_of_unequal_size() {
    let envs = (0..NUM_ENVS).map(|_| ("stub".to_owned(), Stub::new(2))).collect();
    let Err(error) = PoolVectorEnv::new(envs, options(4, 1, AutoresetMode::NextStep)) else {
        panic!("4 does not divide 6");
    };
    assert!(matches!(error, BuildError::UnevenTurns { batch_size: 4, num_envs: NUM_ENVS }));
}

/// Steps `rounds` times from the last batch, with all other groups in flight.
fn step_on(env: &mut PoolVectorEnv<Stub>, rounds: usize) -> Vec<Vec<Row>> {
    let mut traces = vec![Vec::new(); NUM_ENVS];
    for _ in 0..rounds * NUM_ENVS / env.batch_size() {
        let actions = append_batch(&env.batch().clone(), &mut traces);
        env.step(Actions::Discrete(&actions)).unwrap();
    }
    traces
}

#[test]
fn a_snapshot_starts_with_the_last_batch() {
    let seed = rand::random();
    println!("seed {seed}");
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for turns in [20, 21] {
            let mut env = build(3, 2, mode);
            env.reset(ResetSeeds::From(seed)).unwrap();
            for _ in 0..turns {
                env.step(Actions::Discrete(&[0; 3])).unwrap();
            }
            let snapshot = env.snapshot().unwrap();
            let expected = step_on(&mut env, 30);
            for num_threads in [1, 2] {
                let mut restored = build(3, num_threads, mode);
                assert_eq!(restored.restore(&snapshot).unwrap().env_ids[0], turns % 2 * 3);
                assert!(step_on(&mut restored, 30) == expected, "{mode:?} after {turns} turns");
            }
        }
    }
}

#[test]
fn saves_a_snapshot_when_every_group_has_been_received() {
    let mode = AutoresetMode::SameStep;
    let mut env = build(2, 2, mode);
    env.reset(ResetSeeds::From(3)).unwrap();
    for _ in 0..30 {
        env.step(Actions::Discrete(&[0; 2])).unwrap();
    }
    let mut received = vec![env.batch().clone()];
    for _ in 0..2 {
        received.push(env.recv().unwrap().clone());
    }
    let snapshot = env.snapshot().unwrap();
    let mut restored = build(2, 1, mode);
    restored.restore(&snapshot).unwrap();
    for (group, expected) in received.iter().enumerate() {
        let batch = if group == 0 { restored.batch() } else { restored.recv().unwrap() };
        assert_eq!(batch.env_ids, expected.env_ids);
        for row in 0..2 {
            assert_eq!(row_of(batch, row).0, row_of(expected, row).0);
        }
    }
    assert_eq!(restored.snapshot().unwrap(), snapshot);
}

#[test]
fn a_snapshot_requires_that_the_last_batch_is_not_in_flight() {
    let mut env = build(3, 1, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(3)).unwrap();
    env.recv().unwrap();
    // The same number is in flight as after a reset.
    env.send_to(Actions::Discrete(&[0; 3]), &[0, 1, 3]).unwrap();
    assert!(matches!(env.snapshot(), Err(VectorError::OutOfOrder(_))));
}
