use algorithms::networks::PolicyConfig;
use algorithms::ppo::{Ppo, PpoConfig};
use algorithms::{EnvSpec, Learner};
use burn::tensor::Device;
use rl_env::{Actions, AutoresetMode, ResetSeeds, VectorEnv};

use super::{cart_pole, mean_return, solve_probes, vectorize};

/// Trains to the end of the configuration's steps.
fn train(envs: &mut dyn VectorEnv, config: PpoConfig, seed: u64) -> Ppo {
    let mut ppo =
        Ppo::new(config, PolicyConfig::default(), EnvSpec::of(envs).unwrap(), &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while ppo.updates() < ppo.num_updates() {
        let actions = ppo.act(batch).unwrap();
        batch = envs.step(Actions::Discrete(actions)).unwrap();
        ppo.observe(batch).unwrap();
        if ppo.is_ready() {
            ppo.update().unwrap();
        }
    }
    ppo
}

#[test]
fn ppo_solves_every_probe() {
    let config = PpoConfig {
        total_steps: 16_384,
        num_steps: 32,
        learning_rate: 3e-3,
        gamma: 0.5,
        ..PpoConfig::default()
    };
    solve_probes(config.gamma, |envs| {
        let ppo = train(envs, config.clone(), 1);
        let policy = ppo.policy(ppo.spec()).unwrap();
        move |batch| (policy.values(batch).unwrap(), policy.greedy(batch).unwrap())
    });
}

/// The hyperparameters were chosen so that ten seeds of ten reach 500, the best possible.
#[test]
fn ppo_balances_the_cart_pole() {
    let config = PpoConfig {
        total_steps: 200_000,
        num_steps: 32,
        learning_rate: 1e-3,
        update_epochs: 10,
        clip_coef: 0.2,
        clip_vloss: false,
        ent_coef: 0.0,
        ..PpoConfig::default()
    };
    let mut envs = vectorize(8, cart_pole, AutoresetMode::NextStep);
    let ppo = train(&mut envs, config, 1);
    let mut envs = vectorize(100, cart_pole, AutoresetMode::NextStep);
    let policy = ppo.policy(&EnvSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= 475.0, "mean return {mean}");
}
