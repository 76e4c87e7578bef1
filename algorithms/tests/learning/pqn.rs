use algorithms::networks::PolicyConfig;
use algorithms::pqn::{Pqn, PqnConfig};
use algorithms::{Learner, ValueScale, VectorSpec};
use burn::tensor::Device;
use rl_env::{AutoresetMode, Batch, ResetSeeds, VectorEnv};

use super::{cart_pole, mean_return, solve_combinations, solve_factored_actions, solve_probes, vectorize};

/// Trains until the learner is complete.
fn train(envs: &mut dyn VectorEnv, config: PqnConfig, seed: u64) -> Pqn {
    train_network(envs, config, PolicyConfig::default(), seed)
}

/// Like [`train`], with the given network.
fn train_network(envs: &mut dyn VectorEnv, config: PqnConfig, policy: PolicyConfig, seed: u64) -> Pqn {
    let spec = VectorSpec::of(envs).unwrap();
    train_spec(envs, spec, config, policy, seed)
}

/// Like [`train_network`], with environments of the given specification.
fn train_spec(
    envs: &mut dyn VectorEnv,
    spec: VectorSpec,
    config: PqnConfig,
    policy: PolicyConfig,
    seed: u64,
) -> Pqn {
    let mut pqn = Pqn::new(config, policy, spec, &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while pqn.updates() < pqn.num_updates() {
        let actions = pqn.act(batch).unwrap();
        batch = envs.step(actions).unwrap();
        pqn.observe(batch).unwrap();
        if pqn.is_ready() {
            pqn.update().unwrap();
        }
    }
    pqn
}

/// Trains and tests on every probe, with the given value scale.
fn solve_all_probes(value_scale: ValueScale) {
    let config = PqnConfig {
        total_steps: 16_384,
        num_steps: 32,
        learning_rate: 3e-3,
        gamma: 0.5,
        exploration_fraction: 0.5,
        ..PqnConfig::default()
    };
    let policy = PolicyConfig { value_scale, ..PolicyConfig::default() };
    solve_probes(config.gamma, |envs| {
        let pqn = train_network(envs, config.clone(), policy.clone(), 1);
        let policy = pqn.policy(pqn.spec()).unwrap();
        move |batch: &Batch| {
            let values = policy.values(batch).unwrap();
            let best = values.iter().map(|values| values.iter().copied().fold(f32::MIN, f32::max)).collect();
            (best, policy.greedy(batch).unwrap())
        }
    });
}

#[test]
fn pqn_solves_every_probe() {
    solve_all_probes(ValueScale::None);
}

#[test]
fn pqn_solves_every_probe_in_every_value_scale() {
    for value_scale in [ValueScale::PopArt, ValueScale::H, ValueScale::Symlog] {
        println!("{value_scale:?}");
        solve_all_probes(value_scale);
    }
}

/// Trains for the tests with several choices. Returns the greedy policy.
fn train_choices(
    envs: &mut dyn VectorEnv,
    spec: VectorSpec,
    seed: u64,
) -> impl FnMut(&Batch) -> Vec<i32> + use<> {
    let config = PqnConfig {
        total_steps: 16_384,
        num_steps: 32,
        learning_rate: 3e-3,
        exploration_fraction: 0.5,
        ..PqnConfig::default()
    };
    let pqn = train_spec(envs, spec, config, PolicyConfig::default(), seed);
    let policy = pqn.policy(pqn.spec()).unwrap();
    move |batch: &Batch| policy.greedy(batch).unwrap()
}

#[test]
fn pqn_learns_several_choices() {
    solve_combinations(train_choices);
    solve_factored_actions(train_choices);
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
    let policy = pqn.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= 475.0, "mean return {mean}");
}
