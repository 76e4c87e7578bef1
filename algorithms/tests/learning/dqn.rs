use algorithms::dqn::{Distribution, Dqn, DqnConfig, LossKind, Policy};
use algorithms::networks::PolicyConfig;
use algorithms::{Learner, ValueScale, VectorSpec};
use burn::tensor::Device;
use rl_env::{AutoresetMode, Batch, ResetSeeds, VectorEnv};

use super::{
    acrobot, cart_pole, mean_return, mountain_car, rescaled, solve_combinations, solve_factored_actions,
    solve_probes, vectorize,
};

/// Trains until the learner is complete.
fn train(envs: &mut dyn VectorEnv, config: DqnConfig, seed: u64) -> Dqn {
    train_network(envs, config, PolicyConfig::default(), seed)
}

/// Like [`train`], with the given network.
fn train_network(envs: &mut dyn VectorEnv, config: DqnConfig, policy: PolicyConfig, seed: u64) -> Dqn {
    let spec = VectorSpec::of(envs).unwrap();
    train_spec(envs, spec, config, policy, seed)
}

/// Like [`train_network`], with environments of the given specification.
fn train_spec(
    envs: &mut dyn VectorEnv,
    spec: VectorSpec,
    config: DqnConfig,
    policy: PolicyConfig,
    seed: u64,
) -> Dqn {
    let mut dqn = Dqn::new(config, policy, spec, &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while !dqn.is_complete() {
        let actions = dqn.act(batch).unwrap();
        batch = envs.step(actions).unwrap();
        dqn.observe(batch).unwrap();
        if dqn.is_ready() {
            dqn.update().unwrap();
        }
    }
    dqn
}

/// Returns the largest value of each row, and its action.
fn values_and_actions(policy: &Policy, batch: &Batch) -> (Vec<f32>, Vec<i32>) {
    let values = policy.values(batch).unwrap();
    let best = values.iter().map(|values| values.iter().copied().fold(f32::MIN, f32::max)).collect();
    (best, policy.greedy(batch).unwrap())
}

fn probe_config() -> DqnConfig {
    DqnConfig {
        total_steps: 4_000,
        learning_rate: 3e-3,
        buffer_size: 2_000,
        gamma: 0.5,
        target_network_frequency: 20,
        exploration_fraction: 0.5,
        learning_starts: 64,
        end_e: 0.05,
        ..DqnConfig::default()
    }
}

#[test]
fn dqn_learns_several_choices() {
    let c51 = DqnConfig { distribution: Distribution::C51, v_min: -2.0, v_max: 2.0, ..probe_config() };
    let quantile = DqnConfig { distribution: Distribution::Quantile, num_atoms: 11, ..probe_config() };
    for config in [probe_config(), DqnConfig { dueling: true, double: true, ..c51 }, quantile] {
        let train = |envs: &mut dyn VectorEnv, spec: VectorSpec, seed| {
            let dqn = train_spec(envs, spec, config.clone(), PolicyConfig::default(), seed);
            let policy = dqn.policy(dqn.spec()).unwrap();
            move |batch: &Batch| policy.greedy(batch).unwrap()
        };
        solve_combinations(train);
        solve_factored_actions(train);
    }
}

fn solve_all_probes(config: &DqnConfig) {
    solve_all_probes_with(config, &PolicyConfig::default());
}

fn solve_all_probes_with(config: &DqnConfig, policy: &PolicyConfig) {
    solve_probes(config.gamma, |envs| {
        let dqn = train_network(envs, config.clone(), policy.clone(), 1);
        let policy = dqn.policy(dqn.spec()).unwrap();
        move |batch: &Batch| values_and_actions(&policy, batch)
    });
}

#[test]
fn dqn_solves_every_probe() {
    solve_all_probes(&probe_config());
}

#[test]
fn double_dueling_dqn_with_prioritised_three_step_returns_solves_every_probe() {
    solve_all_probes(&DqnConfig {
        double: true,
        dueling: true,
        prioritized: true,
        n_step: 3,
        loss: LossKind::Huber,
        tau: 0.05,
        target_network_frequency: 1,
        ..probe_config()
    });
}

fn solve_all_probes_in(value_scale: ValueScale) {
    solve_all_probes_with(&probe_config(), &PolicyConfig { value_scale, ..PolicyConfig::default() });
}

#[test]
fn dqn_solves_every_probe_with_popart() {
    solve_all_probes_in(ValueScale::PopArt);
}

#[test]
fn dqn_solves_every_probe_in_the_scale_h() {
    solve_all_probes_in(ValueScale::H);
}

#[test]
fn dqn_solves_every_probe_in_the_scale_symlog() {
    solve_all_probes_in(ValueScale::Symlog);
}

fn solve_all_probes_with_noisy_layers(distribution: Distribution) {
    solve_all_probes(&DqnConfig {
        distribution,
        num_atoms: 21,
        v_min: -2.0,
        v_max: 2.0,
        noisy: true,
        start_e: 0.0,
        end_e: 0.0,
        adam_epsilon: 1e-5,
        ..probe_config()
    });
}

#[test]
fn c51_with_noisy_layers_solves_every_probe() {
    solve_all_probes_with_noisy_layers(Distribution::C51);
}

#[test]
fn quantile_dqn_with_noisy_layers_solves_every_probe() {
    solve_all_probes_with_noisy_layers(Distribution::Quantile);
}

/// The hyperparameters of `configs/cartpole-dqn.toml`, with which three seeds reached 491 to 499.6.
#[test]
fn dqn_balances_the_cart_pole() {
    let config = DqnConfig {
        total_steps: 100_000,
        learning_rate: 3e-4,
        buffer_size: 50_000,
        target_network_frequency: 100,
        batch_size: 64,
        exploration_fraction: 0.3,
        end_e: 0.02,
        learning_starts: 1_000,
        train_ratio: 0.25,
        n_step: 3,
        double: true,
        max_grad_norm: Some(10.0),
        ..DqnConfig::default()
    };
    let mut envs = vectorize(8, cart_pole, AutoresetMode::NextStep);
    let dqn = train(&mut envs, config, 1);
    let mut envs = vectorize(100, cart_pole, AutoresetMode::NextStep);
    let policy = dqn.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= 400.0, "mean return {mean}");
}

/// Settings that the presets of MountainCar and Acrobot share.
fn sparse_reward_config() -> DqnConfig {
    DqnConfig {
        buffer_size: 50_000,
        target_network_frequency: 150,
        batch_size: 64,
        learning_starts: 1_000,
        train_ratio: 0.25,
        n_step: 5,
        prioritized: true,
        double: true,
        loss: LossKind::Huber,
        max_grad_norm: Some(10.0),
        ..DqnConfig::default()
    }
}

/// The hyperparameters of `configs/mountaincar-dqn.toml`, with which three seeds reached -101.9, -101.7 and
/// -102.1. Gymnasium considers the task solved at -110; a random policy scores -200.
#[test]
fn dqn_drives_the_mountain_car_up_the_hill() {
    let config = DqnConfig {
        total_steps: 120_000,
        learning_rate: 3e-3,
        exploration_fraction: 0.05,
        end_e: 0.07,
        ..sparse_reward_config()
    };
    let policy = PolicyConfig { hidden_size: Some(64), ..PolicyConfig::default() };
    let seed = 1;
    let mut envs = vectorize(1, || rescaled(mountain_car()), AutoresetMode::NextStep);
    let dqn = train_network(&mut envs, config, policy, seed);
    let mut envs = vectorize(100, || rescaled(mountain_car()), AutoresetMode::NextStep);
    let policy = dqn.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= -115.0, "mean return {mean} with seed {seed}");
}

/// The hyperparameters of `configs/acrobot-dqn.toml`, with which three seeds reached -82.6, -92.5 and -90.7.
/// Gymnasium considers the task solved at -100; a random policy scores -499.
#[test]
fn dqn_swings_up_the_acrobot() {
    let config = DqnConfig {
        total_steps: 60_000,
        learning_rate: 1e-3,
        exploration_fraction: 0.15,
        end_e: 0.01,
        ..sparse_reward_config()
    };
    let policy = PolicyConfig { hidden_size: Some(64), ..PolicyConfig::default() };
    let seed = 1;
    let mut envs = vectorize(8, acrobot, AutoresetMode::NextStep);
    let dqn = train_network(&mut envs, config, policy, seed);
    let mut envs = vectorize(100, acrobot, AutoresetMode::NextStep);
    let policy = dqn.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= -100.0, "mean return {mean} with seed {seed}");
}
