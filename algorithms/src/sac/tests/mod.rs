//! The whole learner, on batches of random environments.

mod discrete;
mod learning;
mod refusals;
mod states;

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use crate::networks::{HeadKind, PolicyConfig};
use crate::sac::{Sac, SacConfig, SacMetrics};
use crate::testing::{RandomEnvs, assert_legal, spec_of_numbers};
use crate::{ContinuousActions, Learner, Task, VectorSpec};

/// Returns four environments of two tasks with one and three numbers.
fn numbers(mode: AutoresetMode) -> VectorSpec {
    let spec = spec_of_numbers(Space::floats(3, -1.0, 1.0), mode);
    let three = Space::float_ranges(&[(-1.0, 1.0), (-0.4, 2.0), (5.0, 6.0)]);
    let three = Task::of_actions("three", ContinuousActions::of_space(&three).unwrap());
    VectorSpec { tasks: vec![spec.tasks[0].clone(), three], ..spec }
}

/// Returns a small configuration with few steps before learning starts: two for each environment.
fn config() -> SacConfig {
    SacConfig {
        total_steps: 400,
        policy_lr: 1e-2,
        q_lr: 1e-2,
        buffer_size: 120,
        batch_size: 8,
        learning_starts: 8,
        train_ratio: 0.375,
        ..SacConfig::default()
    }
}

fn small() -> PolicyConfig {
    PolicyConfig { hidden_size: Some(16), ..PolicyConfig::default() }
}

/// Uses every option at least once.
fn variants() -> Vec<(SacConfig, PolicyConfig)> {
    let fixed = SacConfig { autotune: false, alpha: 0.1, policy_frequency: 1, ..config() };
    let noisy = SacConfig { noise_correlation: 0.9, policy_frequency: 3, ..config() };
    let slow = SacConfig { target_network_frequency: 2, tau: 1.0, target_entropy_scale: 0.5, ..config() };
    let shared = PolicyConfig { head: HeadKind::Shared, layer_norm: Some(true), ..small() };
    let normalizing = PolicyConfig { normalize_observations: true, ..small() };
    vec![(config(), small()), (fixed, small()), (noisy, small()), (slow, shared), (config(), normalizing)]
}

fn learner((config, policy): (SacConfig, PolicyConfig), spec: VectorSpec) -> Sac {
    Sac::new(config, policy, spec, &Device::flex(), 7).unwrap()
}

/// One step of learner and environments, and an update if one is due.
fn step(sac: &mut Sac, envs: &mut RandomEnvs) -> Option<SacMetrics> {
    let actions = sac.act(&envs.batch).unwrap();
    assert_legal(&envs.spec, actions);
    envs.step();
    sac.observe(&envs.batch).unwrap();
    sac.is_ready().then(|| sac.update().unwrap())
}
