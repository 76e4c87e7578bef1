use algorithms::networks::PolicyConfig;
use algorithms::ppo::{NormAdv, Policy, Ppo, PpoConfig};
use algorithms::{Learner, Overlapped, ValueScale, VectorSpec};
use burn::tensor::Device;
use classic_control::{Control, Pendulum, Probe, ProbeKind};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_env::{AutoresetMode, Batch, ResetSeeds, TimeLimit, VectorEnv};

use super::{
    acrobot, cart_pole, mean_return, solve_combinations, solve_factored_actions, solve_probes, vectorize,
};

/// Trains until the learner is complete.
pub(super) fn train(envs: &mut dyn VectorEnv, config: PpoConfig, seed: u64) -> Ppo {
    train_network(envs, config, PolicyConfig::default(), seed)
}

/// Like [`train`], with the given network.
fn train_network(envs: &mut dyn VectorEnv, config: PpoConfig, policy: PolicyConfig, seed: u64) -> Ppo {
    let spec = VectorSpec::of(envs).unwrap();
    train_spec(envs, spec, config, policy, seed)
}

/// Like [`train_network`], with environments of the given specification.
fn train_spec(
    envs: &mut dyn VectorEnv,
    spec: VectorSpec,
    config: PpoConfig,
    policy: PolicyConfig,
    seed: u64,
) -> Ppo {
    let mut ppo = Ppo::new(config, policy, spec, &Device::flex(), seed).unwrap();
    let mut batch = envs.reset(ResetSeeds::From(seed)).unwrap();
    while ppo.updates() < ppo.num_updates() {
        let actions = ppo.act(batch).unwrap();
        batch = envs.step(actions).unwrap();
        ppo.observe(batch).unwrap();
        if ppo.is_ready() {
            ppo.update().unwrap();
        }
    }
    ppo
}

/// Returns the most probable actions of a policy over choices.
fn greedy(policy: &Policy, batch: &Batch) -> Vec<i32> {
    policy.greedy(batch).unwrap().discrete().unwrap().to_vec()
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
        move |batch| (policy.values(batch).unwrap(), greedy(&policy, batch))
    });
}

#[test]
fn ppo_solves_every_probe_in_every_value_scale() {
    let config = PpoConfig {
        total_steps: 16_384,
        num_steps: 32,
        learning_rate: 3e-3,
        gamma: 0.5,
        norm_adv: NormAdv::Game,
        clip_vloss: false,
        ..PpoConfig::default()
    };
    for value_scale in [ValueScale::PopArt, ValueScale::H, ValueScale::Symlog] {
        println!("{value_scale:?}");
        let policy = PolicyConfig { value_scale, ..PolicyConfig::default() };
        solve_probes(config.gamma, |envs| {
            let ppo = train_network(envs, config.clone(), policy.clone(), 1);
            let policy = ppo.policy(ppo.spec()).unwrap();
            move |batch| (policy.values(batch).unwrap(), greedy(&policy, batch))
        });
    }
}

/// Trains for the tests with several choices. Returns the greedy policy.
fn train_choices(
    envs: &mut dyn VectorEnv,
    spec: VectorSpec,
    seed: u64,
) -> impl FnMut(&Batch) -> Vec<i32> + use<> {
    let config =
        PpoConfig { total_steps: 16_384, num_steps: 32, learning_rate: 3e-3, ..PpoConfig::default() };
    let ppo = train_spec(envs, spec, config, PolicyConfig::default(), seed);
    let policy = ppo.policy(ppo.spec()).unwrap();
    move |batch: &Batch| greedy(&policy, batch)
}

#[test]
fn ppo_learns_several_choices() {
    solve_combinations(train_choices);
    solve_factored_actions(train_choices);
}

/// Returns the mean return of the probe that asks for the observation of two steps ago, with an LSTM of size `lstm`, or
/// without one if it is 0.
fn return_of_memory_probe(lstm: usize, mode: AutoresetMode) -> f64 {
    let config = PpoConfig {
        total_steps: 32_768,
        num_steps: 32,
        learning_rate: 3e-3,
        gamma: 0.9,
        ..PpoConfig::default()
    };
    let policy = PolicyConfig { lstm, ..PolicyConfig::default() };
    let mut envs = vectorize(8, || Probe::new(ProbeKind::Memory), mode);
    let ppo = train_network(&mut envs, config, policy, 1);
    let mut envs = vectorize(100, || Probe::new(ProbeKind::Memory), mode);
    let policy = ppo.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let (mut memory, mut rng) = (policy.initial_state(), ChaCha8Rng::seed_from_u64(1));
    mean_return(&mut envs, |batch| policy.act(batch, &mut memory, true, &mut rng).unwrap())
}

#[test]
fn ppo_remembers_with_a_recurrent_network_and_only_with_one() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let (with, without) = (return_of_memory_probe(16, mode), return_of_memory_probe(0, mode));
        println!("{mode:?}: {with} with memory, {without} without");
        assert_eq!(with, 1.0);
        assert!(without.abs() < 0.5, "half of the guesses should be right");
    }
}

/// Returns hyperparameters with which ten seeds out of ten reached the maximum of 500.
fn cart_pole_config() -> PpoConfig {
    PpoConfig {
        total_steps: 200_000,
        num_steps: 32,
        learning_rate: 1e-3,
        update_epochs: 10,
        clip_coef: 0.2,
        clip_vloss: false,
        ent_coef: 0.0,
        ..PpoConfig::default()
    }
}

#[test]
fn ppo_balances_the_cart_pole() {
    let mut envs = vectorize(8, cart_pole, AutoresetMode::NextStep);
    let ppo = train(&mut envs, cart_pole_config(), 1);
    let mut envs = vectorize(100, cart_pole, AutoresetMode::NextStep);
    let policy = ppo.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= 475.0, "mean return {mean}");
}

#[test]
fn ppo_balances_the_cart_pole_with_rollouts_that_are_an_update_old() {
    let config = PpoConfig { overlap: true, ..cart_pole_config() };
    let mut envs = vectorize(8, cart_pole, AutoresetMode::NextStep);
    let spec = VectorSpec::of(&envs).unwrap();
    let new = || Ppo::new(config.clone(), PolicyConfig::default(), spec.clone(), &Device::flex(), 1).unwrap();
    let mut ppo = Overlapped::new(new(), new());
    let mut batch = envs.reset(ResetSeeds::From(1)).unwrap();
    while !ppo.is_complete() {
        let actions = ppo.act(batch).unwrap();
        batch = envs.step(actions).unwrap();
        ppo.observe(batch).unwrap();
        while ppo.is_ready() {
            ppo.update_unless(&|| false).unwrap();
        }
    }
    let mut envs = vectorize(100, cart_pole, AutoresetMode::NextStep);
    let policy = ppo.actor().policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= 475.0, "mean return {mean}");
}

/// The hyperparameters of `configs/pendulum-ppo.toml`, with half the steps. A random policy scores -1,240.
#[test]
fn ppo_swings_up_the_pendulum() {
    let config = PpoConfig {
        total_steps: 200_000,
        num_steps: 1024,
        learning_rate: 1e-3,
        gamma: 0.9,
        gae_lambda: 0.95,
        num_minibatches: 64,
        update_epochs: 10,
        clip_coef: 0.2,
        clip_vloss: false,
        ent_coef: 0.0,
        max_grad_norm: 10.0,
        ..PpoConfig::default()
    };
    let policy = PolicyConfig {
        normalize_observations: true,
        value_scale: ValueScale::PopArt,
        popart_beta: 3e-5,
        ..PolicyConfig::default()
    };
    let pendulum = || TimeLimit::new(Control::new(Pendulum::default()), 200);
    let mut envs = vectorize(4, pendulum, AutoresetMode::SameStep);
    let ppo = train_network(&mut envs, config, policy, 1);
    let mut envs = vectorize(100, pendulum, AutoresetMode::SameStep);
    let policy = ppo.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    println!("mean return {mean}");
    assert!(mean >= -250.0, "mean return {mean}");
}

/// The hyperparameters of `configs/acrobot-ppo.toml`. Gymnasium considers the task solved at -100; a
/// random policy scores -499.
#[test]
fn ppo_swings_up_the_acrobot() {
    let config = PpoConfig {
        total_steps: 200_000,
        num_steps: 128,
        learning_rate: 1e-3,
        num_minibatches: 8,
        update_epochs: 4,
        clip_coef: 0.2,
        clip_vloss: false,
        ent_coef: 0.01,
        ..PpoConfig::default()
    };
    let policy =
        PolicyConfig { value_scale: ValueScale::PopArt, popart_beta: 1.5e-5, ..PolicyConfig::default() };
    let seed = 1;
    let mut envs = vectorize(16, acrobot, AutoresetMode::NextStep);
    let ppo = train_network(&mut envs, config, policy, seed);
    let mut envs = vectorize(100, acrobot, AutoresetMode::NextStep);
    let policy = ppo.policy(&VectorSpec::of(&envs).unwrap()).unwrap();
    let mean = mean_return(&mut envs, |batch| policy.greedy(batch).unwrap());
    assert!(mean >= -100.0, "mean return {mean} with seed {seed}");
}
