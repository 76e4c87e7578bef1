use algorithms::networks::PolicyConfig;
use algorithms::pqn::{Pqn, PqnConfig};
use algorithms::{EnvSpec, Learner};
use burn::tensor::Device;
use rl_env::{Actions, AutoresetMode, Batch, ResetSeeds, VectorEnv};

use super::{cart_pole, mean_return, solve_probes, vectorize};

/// Trains to the end of the configuration's steps.
fn train(envs: &mut dyn VectorEnv, config: PqnConfig, seed: u64) -> Pqn {
    train_network(envs, config, PolicyConfig::default(), seed)
}

/// The same with a network that is not the usual one.
fn train_network(envs: &mut dyn VectorEnv, config: PqnConfig, policy: PolicyConfig, seed: u64) -> Pqn {
    let mut pqn = Pqn::new(config, policy, EnvSpec::of(envs).unwrap(), &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while pqn.updates() < pqn.num_updates() {
        let actions = pqn.act(batch).unwrap();
        batch = envs.step(Actions::Discrete(actions)).unwrap();
        pqn.observe(batch).unwrap();
        if pqn.is_ready() {
            pqn.update().unwrap();
        }
    }
    pqn
}

#[test]
fn pqn_solves_every_probe() {
    let config = PqnConfig {
        total_steps: 16_384,
        num_steps: 32,
        learning_rate: 3e-3,
        gamma: 0.5,
        exploration_fraction: 0.5,
        ..PqnConfig::default()
    };
    solve_probes(config.gamma, |envs| {
        let pqn = train(envs, config.clone(), 1);
        let policy = pqn.policy(pqn.spec()).unwrap();
        move |batch: &Batch| {
            let values = policy.values(batch).unwrap();
            let best = values.iter().map(|values| values.iter().copied().fold(f32::MIN, f32::max)).collect();
            (best, policy.greedy(batch).unwrap())
        }
    });
}

/// The hyperparameters of `configs/cartpole-pqn.toml`.
#[test]
fn pqn_balances_the_cart_pole() {
    let config = PqnConfig {
        total_steps: 200_000,
        num_steps: 32,
        learning_rate: 1e-3,
        exploration_fraction: 0.3,
        ..PqnConfig::default()
    };
    let mut envs = vectorize(8, cart_pole, AutoresetMode::NextStep);
    let pqn = train(&mut envs, config, 1);
    let mut envs = vectorize(100, cart_pole, AutoresetMode::NextStep);
    let policy = pqn.policy(&EnvSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= 475.0, "mean return {mean}");
}
