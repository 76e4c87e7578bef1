use algorithms::networks::PolicyConfig;
use algorithms::sac::{DiscreteSac, SacConfig};
use algorithms::{Learner, VectorSpec};
use burn::tensor::Device;
use rl_env::{AutoresetMode, Batch, ResetSeeds, VectorEnv};

use super::{cart_pole, mean_return, solve_combinations, solve_factored_actions, solve_probes, vectorize};

/// Trains until the learner is complete, with environments of the given specification.
fn train(envs: &mut dyn VectorEnv, spec: VectorSpec, config: SacConfig, seed: u64) -> DiscreteSac {
    let policy = PolicyConfig { hidden_size: Some(64), ..PolicyConfig::default() };
    let mut sac = DiscreteSac::new(config, policy, spec, &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while !sac.is_complete() {
        let actions = sac.act(batch).unwrap();
        batch = envs.step(actions).unwrap();
        sac.observe(batch).unwrap();
        if sac.is_ready() {
            sac.update().unwrap();
        }
    }
    sac
}

/// A low fixed temperature, with which values are almost those of the greedy policy.
fn probe_config() -> SacConfig {
    SacConfig {
        total_steps: 3_000,
        policy_lr: 3e-3,
        q_lr: 3e-3,
        buffer_size: 2_000,
        gamma: 0.5,
        tau: 0.05,
        batch_size: 32,
        learning_starts: 64,
        train_ratio: 0.5,
        policy_frequency: 1,
        autotune: false,
        alpha: 0.02,
        ..SacConfig::default()
    }
}

#[test]
fn sac_solves_every_probe() {
    solve_probes(probe_config().gamma, |envs| {
        let spec = VectorSpec::of(envs).unwrap();
        let sac = train(envs, spec, probe_config(), 1);
        let policy = sac.policy(sac.spec()).unwrap();
        move |batch: &Batch| (policy.values(batch).unwrap(), policy.greedy(batch).unwrap())
    });
}

#[test]
fn sac_learns_several_choices() {
    let train_choices = |envs: &mut dyn VectorEnv, spec: VectorSpec, seed| {
        let sac = train(envs, spec, probe_config(), seed);
        let policy = sac.policy(sac.spec()).unwrap();
        move |batch: &Batch| policy.greedy(batch).unwrap()
    };
    solve_combinations(train_choices);
    solve_factored_actions(train_choices);
}

/// A random player balances it for 23 steps.
#[test]
fn sac_learns_to_balance_the_cart_pole() {
    let config = SacConfig {
        total_steps: 30_000,
        policy_lr: 1e-3,
        q_lr: 1e-3,
        buffer_size: 30_000,
        batch_size: 64,
        learning_starts: 1_000,
        train_ratio: 0.25,
        policy_frequency: 1,
        target_entropy_scale: 0.3,
        ..SacConfig::default()
    };
    let mut envs = vectorize(4, cart_pole, AutoresetMode::NextStep);
    let spec = VectorSpec::of(&envs).unwrap();
    let sac = train(&mut envs, spec, config, 1);
    let mut envs = vectorize(50, cart_pole, AutoresetMode::NextStep);
    let policy = sac.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let score = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    println!("mean return {score}");
    assert!(score > 200.0, "{score}");
}
