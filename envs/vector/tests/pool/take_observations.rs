//! Observations taken out of a batch are unchanged and never written to again.

use crate::stub::{OBSERVATION_BYTES, Stub, StubInfo};
use rl_env::{Actions, AutoresetMode, ObservationBuffer, ResetSeeds, VectorEnv, VectorError};
use vector::{PoolOptions, PoolVectorEnv};

const NUM_ENVS: usize = 7;

fn build(options: PoolOptions) -> PoolVectorEnv<Stub> {
    let envs = (0..NUM_ENVS).map(|_| ("stub".to_owned(), Stub::new(2))).collect();
    PoolVectorEnv::new(envs, options).unwrap()
}

/// Returns a buffer with arbitrary contents.
fn spare(rows: usize) -> ObservationBuffer {
    let mut spare = ObservationBuffer::new(rows, OBSERVATION_BYTES);
    spare.rows_mut().for_each(|row| row.fill(0xA5));
    spare
}

#[test]
fn taken_observations_never_change() {
    for autoreset_mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for (batch_size, num_threads) in [(NUM_ENVS, 1), (NUM_ENVS, 3), (2, 1), (2, 3), (1, 2), (5, 4)] {
            let options = PoolOptions { batch_size, num_threads, autoreset_mode, ..PoolOptions::default() };
            let mut env = build(options);
            let mut taken: Vec<(ObservationBuffer, ObservationBuffer)> = Vec::new();
            env.reset(ResetSeeds::From(3)).unwrap();
            for step in 0..300 {
                let received = env.batch().observations.clone();
                let buffer = env.take_observations(spare(batch_size)).unwrap();
                assert_eq!(buffer, received);
                taken.push((buffer, received));
                env.step(Actions::Discrete(&vec![step % 2; batch_size])).unwrap();
            }
            assert!(taken.iter().all(|(buffer, received)| buffer == received));
        }
    }
}

#[test]
fn taking_observations_does_not_change_episodes() {
    let options = PoolOptions { num_threads: 3, ..PoolOptions::default() };
    let (mut plain, mut taken_from) = (build(options), build(options));
    plain.reset(ResetSeeds::From(9)).unwrap();
    taken_from.reset(ResetSeeds::From(9)).unwrap();
    for step in 0..200 {
        let actions = [step % 2; NUM_ENVS];
        plain.step(Actions::Discrete(&actions)).unwrap();
        taken_from.step(Actions::Discrete(&actions)).unwrap();
        let taken = taken_from.take_observations(spare(NUM_ENVS)).unwrap();
        assert_eq!(taken, plain.batch().observations);
        assert_eq!(taken_from.infos(), plain.infos());
        if step % 20 == 0 {
            let again = taken_from.reset_masked(&[false; NUM_ENVS], ResetSeeds::Continue).unwrap();
            assert_eq!(again.observations, taken, "the environments still report their observations");
        }
    }
    assert!(plain.infos().iter().all(|info| *info != StubInfo::default()));
}

#[test]
fn rejects_a_spare_of_another_shape() {
    let mut env = build(PoolOptions::default());
    for (rows, row_bytes) in [(NUM_ENVS - 1, OBSERVATION_BYTES), (NUM_ENVS, OBSERVATION_BYTES + 1), (0, 0)] {
        let refused = env.take_observations(ObservationBuffer::new(rows, row_bytes));
        assert!(matches!(refused, Err(VectorError::WrongLength { .. })), "{rows} rows of {row_bytes} bytes");
    }
}
