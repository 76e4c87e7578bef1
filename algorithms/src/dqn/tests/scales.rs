//! Value scales: the normalisation of `policy.value_scale = "popart"`.

use burn::tensor::Device;
use kernels::testing::largest;

use super::{config, rainbow, restored, step, vectors};
use crate::dqn::{Distribution, Dqn, DqnConfig};
use crate::networks::{HeadKind, PolicyConfig};
use crate::testing::RandomEnvs;
use crate::{Learner, ValueScale};

/// Returns the largest difference of two sets of values, relative to their size.
fn difference(values: &[Vec<f32>], others: &[Vec<f32>]) -> f32 {
    let pairs = || values.iter().flatten().zip(others.iter().flatten());
    let size = pairs().map(|(value, _)| value.abs()).fold(1.0, f32::max);
    largest(pairs().map(|(value, other)| (value - other).abs())) / size
}

/// Returns the action values of the network that acts.
fn online_values(dqn: &Dqn, envs: &RandomEnvs) -> Vec<Vec<f32>> {
    dqn.agent.actor.values(&envs.batch).unwrap()
}

/// Returns the action values of the target network.
fn target_values(dqn: &Dqn, envs: &RandomEnvs) -> Vec<Vec<f32>> {
    let mut actor = dqn.agent.actor.clone();
    actor.set_network(dqn.agent.target.clone());
    actor.values(&envs.batch).unwrap()
}

#[test]
fn updated_value_scales_preserve_predictions() {
    // Quantiles have the scale of returns; probabilities, as in `rainbow`, have none.
    for config in [config(), DqnConfig { distribution: Distribution::Quantile, ..rainbow() }] {
        // The learning rate is too small to change anything.
        let config = DqnConfig { learning_rate: 1e-30, ..config };
        let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
        let mut dqn = Dqn::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        for update in 0..20 {
            envs.act_until_ready(&mut dqn, 1000.0);
            let scales = dqn.agent.actor.head().scales.clone();
            let (online, target) = (online_values(&dqn, &envs), target_values(&dqn, &envs));
            dqn.update().unwrap();
            assert_ne!(dqn.agent.actor.head().scales, scales);
            // A task's predictions are not preserved for its first returns.
            if update > 0 {
                assert!(difference(&online, &online_values(&dqn, &envs)) < 1e-3, "update {update}");
                assert!(difference(&target, &target_values(&dqn, &envs)) < 1e-3, "update {update}");
            }
        }
        assert!(dqn.agent.actor.head().scales.deviation(0).unwrap() > 100.0);
        let mut other = restored(&mut dqn, true);
        let mut copy = envs.clone();
        for _ in 0..20 {
            assert_eq!(step(&mut dqn, &mut envs), step(&mut other, &mut copy));
        }
        assert!(dqn.state().unwrap() == other.state().unwrap());
    }
}

#[test]
fn value_scales_reflect_the_replay_buffer_despite_priorities() {
    // Returns are rewards, uniform in -1000..1000, with deviation 577. They are drawn in proportion to their size, and
    // the deviation of those drawn is 707.
    let config = DqnConfig {
        gamma: 0.0,
        prioritized: true,
        per_alpha: 1.0,
        learning_rate: 1e-30,
        buffer_size: 4000,
        learning_starts: 3000,
        train_ratio: 1.0,
        ..config()
    };
    let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    let mut dqn = Dqn::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    while dqn.updates() < 1000 {
        envs.act_until_ready(&mut dqn, 1000.0);
        dqn.update().unwrap();
    }
    for task in 0..2 {
        let deviation = dqn.agent.actor.head().scales.deviation(task).unwrap();
        assert!((deviation - 577.0).abs() < 45.0, "{deviation}");
    }
}

#[test]
fn popart_requires_a_head_per_game_and_a_distribution_of_returns() {
    let new = |config: DqnConfig, policy: PolicyConfig| {
        Dqn::new(config, policy, vectors(), &Device::flex(), 7).err().unwrap().to_string()
    };
    let popart = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    let shared = PolicyConfig { head: HeadKind::Shared, ..popart.clone() };
    assert!(new(config(), shared).contains("none, h or symlog with head = \"shared\""));
    let probabilities = DqnConfig { distribution: Distribution::C51, ..config() };
    assert!(new(probabilities, popart).contains("none, h or symlog with dqn.distribution = \"c51\""));
}
