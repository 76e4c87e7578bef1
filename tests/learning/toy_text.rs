use algorithms::VectorSpec;
use algorithms::pqn::PqnConfig;
use rl_env::{AutoresetMode, FlattenObservation, TimeLimit};
use toy_text::{cliff_walking, optimal_return};

use super::pqn::train;
use super::{mean_return, vectorize};

/// The hyperparameters of `configs/toy-text-pqn.toml` with two fifths of the steps.
#[test]
fn pqn_walks_along_the_cliff_on_the_shortest_path() {
    let config = PqnConfig {
        total_steps: 200_000,
        q_lambda: 0.0,
        learning_rate: 1e-3,
        end_e: 0.0,
        exploration_fraction: 0.8,
        ..PqnConfig::default()
    };
    let cliff = || FlattenObservation::new(cliff_walking(false));
    let mut envs = vectorize(32, cliff, AutoresetMode::NextStep);
    let pqn = train(&mut envs, config, 1);
    // A policy that walks in circles fails instead of walking forever.
    let limited = || TimeLimit::new(cliff(), 100);
    let mut envs = vectorize(1, limited, AutoresetMode::NextStep);
    let policy = pqn.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert_eq!(Some(mean), optimal_return("CliffWalking-v1"));
}
