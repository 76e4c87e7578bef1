//! Scales of values: predictions are the same before and after a change.

use burn::tensor::Device;

use super::{config, vectors};
use crate::networks::PolicyConfig;
use crate::ppo::{Ppo, PpoConfig};
use crate::testing::RandomEnvs;
use crate::{Learner, ValueScale};

#[test]
fn updated_value_scales_preserve_predictions() {
    let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
    // The learning rate is too small to change anything.
    let config = PpoConfig { learning_rate: 1e-30, ..config() };
    let mut ppo = Ppo::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
    let mut envs = RandomEnvs::new(vectors());
    let values = |ppo: &Ppo, envs: &RandomEnvs| ppo.policy(ppo.spec()).unwrap().values(&envs.batch).unwrap();
    for update in 0..4 {
        envs.act_until_ready(&mut ppo, 1000.0);
        let (before, scales) = (values(&ppo, &envs), ppo.agent.actor.scales.clone());
        ppo.update().unwrap();
        assert_ne!(ppo.agent.actor.scales, scales);
        // A task's predictions are not preserved for its first returns.
        if update == 0 {
            continue;
        }
        for (before, after) in before.iter().zip(values(&ppo, &envs)) {
            assert!((before - after).abs() < 1e-3 * before.abs().max(1.0), "{before} and {after}");
        }
    }
    let restored = Ppo::from_state(&ppo.state().unwrap(), &Device::flex()).unwrap();
    assert_eq!(values(&restored, &envs), values(&ppo, &envs));
}

#[test]
fn old_values_are_in_the_scale_of_the_outputs_even_in_the_first_update() {
    let losses = |clip_vloss: bool| {
        let policy = PolicyConfig { value_scale: ValueScale::PopArt, ..PolicyConfig::default() };
        // With a single minibatch, the network in training is the one that acted, and its values are the old values:
        // clipping a change has no effect, even with a narrow range. The learning rate is too small to change anything.
        let once = PpoConfig { num_minibatches: 1, update_epochs: 1, learning_rate: 1e-30, ..config() };
        let config = PpoConfig { clip_vloss, clip_coef: 1e-4, ..once };
        let mut ppo = Ppo::new(config, policy, vectors(), &Device::flex(), 7).unwrap();
        let mut envs = RandomEnvs::new(vectors());
        [(); 3].map(|()| {
            envs.act_until_ready(&mut ppo, 1000.0);
            ppo.update().unwrap().value_loss
        })
    };
    let (clipped, plain) = (losses(true), losses(false));
    for (clipped, plain) in clipped.iter().zip(plain) {
        assert!(plain > 0.1 && (clipped - plain).abs() < 1e-3 * plain, "{clipped} and {plain}");
    }
}
