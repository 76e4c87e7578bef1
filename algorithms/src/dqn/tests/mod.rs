//! The whole learner, on batches of random environments.

mod actions;
mod augmentation;
mod refusals;
mod scales;
mod schedule;
mod states;
mod targets;

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use crate::dqn::{Distribution, Dqn, DqnConfig, DqnMetrics, LossKind};
use crate::networks::PolicyConfig;
use crate::testing::{RandomEnvs, assert_legal, spec};
use crate::{Learner, LearnerError, VectorSpec};

fn vectors() -> VectorSpec {
    spec(Space::floats(3, -1.0, 1.0), AutoresetMode::NextStep)
}

/// Returns a small configuration with few steps before learning starts: two for each environment.
fn config() -> DqnConfig {
    DqnConfig {
        total_steps: 400,
        learning_rate: 1e-2,
        buffer_size: 120,
        target_network_frequency: 4,
        batch_size: 8,
        exploration_fraction: 0.5,
        learning_starts: 8,
        train_ratio: 0.375,
        ..DqnConfig::default()
    }
}

fn rainbow() -> DqnConfig {
    DqnConfig {
        n_step: 3,
        double: true,
        dueling: true,
        noisy: true,
        prioritized: true,
        distribution: Distribution::C51,
        num_atoms: 11,
        max_grad_norm: Some(10.0),
        ..config()
    }
}

/// Uses every option at least once.
fn variants() -> Vec<DqnConfig> {
    let quantile = DqnConfig { distribution: Distribution::Quantile, num_atoms: 7, double: true, ..config() };
    let polyak =
        DqnConfig { tau: 0.1, target_network_frequency: 1, loss: LossKind::Huber, dueling: true, ..config() };
    let prioritized = DqnConfig { prioritized: true, n_step: 2, ..config() };
    vec![config(), rainbow(), quantile, polyak, prioritized]
}

fn learner(config: DqnConfig, spec: VectorSpec) -> Dqn {
    Dqn::new(config, PolicyConfig::default(), spec, &Device::flex(), 7).unwrap()
}

fn restored(dqn: &mut Dqn, with_replay: bool) -> Dqn {
    let state = if with_replay { dqn.state().unwrap() } else { state_without_replay(dqn).unwrap() };
    Dqn::from_state(&state, &Device::flex()).unwrap()
}

fn state_without_replay(dqn: &mut Dqn) -> Result<Vec<u8>, LearnerError> {
    dqn.set_replay_in_state(false);
    let state = dqn.state();
    dqn.set_replay_in_state(true);
    state
}

/// One step of learner and environments, and an update if one is due.
fn step(dqn: &mut Dqn, envs: &mut RandomEnvs) -> Option<DqnMetrics> {
    let actions = dqn.act(&envs.batch).unwrap();
    assert_legal(&envs.spec, actions);
    envs.step();
    dqn.observe(&envs.batch).unwrap();
    dqn.is_ready().then(|| dqn.update().unwrap())
}

/// Returns the state after a number of steps.
fn train(config: DqnConfig, spec: VectorSpec, steps: usize) -> Vec<u8> {
    let (mut dqn, mut envs) = (learner(config, spec.clone()), RandomEnvs::new(spec));
    for _ in 0..steps {
        step(&mut dqn, &mut envs);
    }
    assert!(dqn.updates() > 0);
    dqn.state().unwrap()
}
