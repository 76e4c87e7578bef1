//! Macro-actions: several actions of an environment in one step.

use crate::stub::{OBSERVATION_BYTES, Stub};
use rl_env::{Action, Actions, AutoresetMode, Env, ResetSeeds, VectorEnv, VectorError};
use vector::{PoolOptions, PoolVectorEnv};

const ENV_IDS: [usize; 5] = [0, 1, 2, 3, 4];

fn build(batch_size: usize, autoreset_mode: AutoresetMode) -> PoolVectorEnv<Stub> {
    let envs = (0..5).map(|_| ("stub".to_owned(), Stub::new(3))).collect();
    let options = PoolOptions { batch_size, num_threads: 2, autoreset_mode, ..PoolOptions::default() };
    PoolVectorEnv::new(envs, options).unwrap()
}

#[test]
fn a_sequence_equals_single_steps_and_stops_at_an_end() {
    let mut env = build(0, AutoresetMode::NextStep);
    env.reset(ResetSeeds::From(10)).unwrap();
    let mut alone: Vec<Stub> = (0..5).map(|_| Stub::new(3)).collect();
    let mut observation = vec![0; OBSERVATION_BYTES];
    for (env, seed) in alone.iter_mut().zip(10..) {
        env.reset(Some(seed), &mut observation);
    }
    let mut over = [false; 5];
    let mut cut_short = 0;
    for round in 0..200 {
        let lengths = ENV_IDS.map(|id| 1 + (round + id) % 4);
        let actions: Vec<i32> = (0..lengths.iter().sum()).map(|index: usize| (index % 3) as i32).collect();
        env.send_sequences(Actions::Discrete(&actions), &lengths, &ENV_IDS).unwrap();
        env.recv().unwrap();
        let mut rest = actions.as_slice();
        for id in ENV_IDS {
            let (sequence, others) = rest.split_at(lengths[id]);
            rest = others;
            let (mut steps, mut reward, mut raw_reward, mut flags) = (0, 0.0, 0.0, [false; 3]);
            if over[id] {
                alone[id].reset(None, &mut observation);
                over[id] = false;
            } else {
                for &action in sequence {
                    let step = alone[id].step(Action::Discrete(&[action]), &mut observation).unwrap();
                    steps += 1;
                    reward += step.reward;
                    raw_reward += step.raw_reward;
                    flags = [step.terminated, step.truncated, step.continues];
                    over[id] = step.ends_episode();
                    if flags != [false; 3] {
                        break;
                    }
                }
                cut_short += usize::from(steps < sequence.len() as u32);
            }
            let batch = env.batch();
            assert_eq!(batch.observations.row(id), observation);
            assert_eq!(
                (batch.steps[id], batch.rewards[id], batch.raw_rewards[id]),
                (steps, reward, raw_reward)
            );
            assert_eq!([batch.terminated[id], batch.truncated[id], batch.continues[id]], flags);
            assert_eq!(batch.episodes[id].is_some(), over[id]);
        }
    }
    assert!(cut_short > 50, "{cut_short}");
}

#[test]
fn episode_lengths_count_every_action() {
    let mut env = build(0, AutoresetMode::SameStep);
    env.reset(ResetSeeds::From(1)).unwrap();
    let mut lengths = [0; 5];
    for _ in 0..100 {
        env.send_sequences(Actions::Discrete(&[1; 15]), &[3; 5], &ENV_IDS).unwrap();
        let batch = env.recv().unwrap();
        for id in ENV_IDS {
            lengths[id] += u64::from(batch.steps[id]);
            if let Some(episode) = batch.episodes[id] {
                assert_eq!(episode.length, lengths[id]);
                assert!(batch.episode_seconds[id] > 0.0);
                lengths[id] = 0;
            } else {
                assert_eq!(batch.episode_seconds[id], 0.0);
            }
        }
    }
}

#[test]
fn invalid_sequences_send_nothing() {
    for batch_size in [0, 5] {
        let mut env = build(batch_size, AutoresetMode::NextStep);
        env.reset(ResetSeeds::From(1)).unwrap();
        for (actions, lengths, message) in [
            (
                &[0, 1][..],
                &[2, 0][..],
                "environment 1: action (none) is not in the action space Discrete(3)".to_owned(),
            ),
            (
                &[0, 1, 3],
                &[1, 2],
                "environment 1: action 3 is not in the action space Discrete(3)".to_owned(),
            ),
            (&[0, 1], &[1], "lengths of action sequences: got 1, expected 2".to_owned()),
            (&[0, 1], &[1, 2], "action values: got 2, expected 3".to_owned()),
            (&[0], &[usize::MAX, 2], format!("action values: got 1, expected {}", usize::MAX)),
        ] {
            let error = env.send_sequences(Actions::Discrete(actions), lengths, &[0, 1]).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(env.recv().unwrap_err(), VectorError::TooFewInFlight { in_flight: 0, batch_size: 5 });
    }
}
