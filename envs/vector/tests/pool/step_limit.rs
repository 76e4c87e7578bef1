//! Environments with limited steps: nothing changes up to the limit, then they repeat their last observation.

use crate::stub::{Stub, StubInfo};
use rl_env::{Actions, AutoresetMode, ResetSeeds, VectorEnv};
use vector::{PoolOptions, PoolVectorEnv};

const NUM_ENVS: usize = 5;
const LIMIT: u64 = 37;

fn build(autoreset_mode: AutoresetMode) -> PoolVectorEnv<Stub> {
    let env = |_| ("task".to_owned(), Stub::new(3));
    let options = PoolOptions { num_threads: 2, autoreset_mode, ..PoolOptions::default() };
    let mut env = PoolVectorEnv::new((0..NUM_ENVS).map(env).collect(), options).unwrap();
    env.reset(ResetSeeds::From(3)).unwrap();
    env
}

/// Observation, rewards, true if an episode ended, and info.
type Row = (Vec<u8>, [f32; 2], bool, StubInfo);

/// Returns the row of an environment without flags and final observation.
fn row(env: &PoolVectorEnv<Stub>, id: usize) -> Row {
    let batch = env.batch();
    let rewards = [batch.rewards[id], batch.raw_rewards[id]];
    (batch.observations.row(id).to_vec(), rewards, batch.episodes[id].is_some(), env.infos()[id].clone())
}

#[test]
fn a_limited_environment_repeats_its_last_observation_after_the_limit() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let (mut free, mut limited) = (build(mode), build(mode));
        for id in [1, 4] {
            limited.limit_steps(id, Some(LIMIT)).unwrap();
        }
        let mut last: [Option<Row>; NUM_ENVS] = Default::default();
        for round in 0..120 {
            let actions = [round % 3, 1, 2, 0, (round + 1) % 3];
            let left: Vec<bool> = last.iter().map(Option::is_none).collect();
            free.step(Actions::Discrete(&actions)).unwrap();
            limited.step(Actions::Discrete(&actions)).unwrap();
            let (a, b) = (free.batch(), limited.batch());
            for id in 0..NUM_ENVS {
                if !left[id] {
                    let (observation, _, _, info) = last[id].clone().unwrap();
                    assert_eq!(row(&limited, id), (observation.clone(), [0.0; 2], false, info));
                    assert!(b.autoreset[id] && !b.terminated[id] && !b.truncated[id]);
                    assert_eq!((b.steps[id], b.episode_seconds[id]), (0, 0.0));
                    if mode == AutoresetMode::SameStep {
                        assert_eq!(b.final_observations.row(id), observation);
                    }
                    continue;
                }
                assert_eq!(row(&limited, id), row(&free, id));
                assert_eq!((b.autoreset[id], b.terminated[id]), (a.autoreset[id], a.terminated[id]));
                if matches!(id, 1 | 4) && free.infos()[id].steps == LIMIT && !b.autoreset[id] {
                    assert!(b.truncated[id] != b.terminated[id], "the last step truncates");
                    last[id] = Some(row(&limited, id));
                } else {
                    assert_eq!(b.truncated[id], a.truncated[id]);
                }
            }
        }
        let resting = last.iter().filter(|last| last.is_some()).count();
        assert_eq!(resting, 2, "two environments have limits");
    }
}

#[test]
fn a_removed_limit_lets_the_environment_continue() {
    let (mut free, mut limited) = (build(AutoresetMode::SameStep), build(AutoresetMode::SameStep));
    limited.limit_steps(2, Some(0)).unwrap();
    for _ in 0..10 {
        // An environment without steps left accepts any action.
        limited.step(Actions::Discrete(&[0, 0, 99, 0, 0])).unwrap();
    }
    limited.limit_steps(2, None).unwrap();
    for _ in 0..20 {
        free.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
        limited.step(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
        assert_eq!(row(&limited, 2), row(&free, 2));
        assert_eq!(limited.batch().final_observations.row(2), free.batch().final_observations.row(2));
    }
    assert!(limited.limit_steps(NUM_ENVS, None).is_err());
    limited.send(Actions::Discrete(&[0; NUM_ENVS])).unwrap();
    assert!(limited.limit_steps(0, None).is_err(), "it is in flight");
}
