//! Random shifts of images.

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use super::{config, learner, restored, step, train, vectors};
use crate::Learner;
use crate::dqn::augmentation::distorted;
use crate::dqn::minibatch::Minibatch;
use crate::dqn::{Augmentation, Dqn, DqnConfig};
use crate::engine::off_policy::OffPolicy;
use crate::networks::{PolicyConfig, weights};
use crate::testing::{RandomEnvs, spec};

#[test]
fn augmented_images_follow_the_seed_and_survive_a_restore() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    let config = |augmentation| DqnConfig { augmentation, ..config() };
    let augmented = || train(config(Augmentation::Drq), images.clone(), 8);
    assert!(augmented() == augmented());
    let weights_of = |state: Vec<u8>| {
        weights(&Dqn::from_state(&state, &Device::flex()).unwrap().agent.training.network).unwrap()
    };
    assert_ne!(weights_of(augmented()), weights_of(train(config(Augmentation::None), images.clone(), 8)));
    let (mut dqn, mut envs) =
        (learner(config(Augmentation::Drq), images.clone()), RandomEnvs::new(images.clone()));
    for _ in 0..6 {
        step(&mut dqn, &mut envs);
    }
    let (mut other, mut copy) = (restored(&mut dqn, true), envs.clone());
    (0..6).for_each(|_| assert_eq!(step(&mut dqn, &mut envs), step(&mut other, &mut copy)));
    assert!(dqn.updates() > 0 && dqn.state().unwrap() == other.state().unwrap());
}

#[test]
fn the_images_of_both_ends_of_a_step_have_their_own_distortions() {
    let images = spec(Space::bytes([2, 36, 40]), AutoresetMode::NextStep);
    let config = DqnConfig { augmentation: Augmentation::Drq, ..config() };
    let (mut dqn, mut envs) = (learner(config, images.clone()), RandomEnvs::new(images));
    for _ in 0..10 {
        step(&mut dqn, &mut envs);
    }
    let OffPolicy { replay, replay_rng, .. } = &mut dqn.off_policy;
    let draws = replay.draw(8, 1.0, replay_rng);
    let noise = dqn.draw_noise();
    assert_eq!([noise.observations.len(), noise.successors.len()], [8, 8]);
    assert_ne!(noise.observations, noise.successors);
    let device = Device::flex();
    let OffPolicy { replay, layout, .. } = &dqn.off_policy;
    for shard in dqn.off_policy.shards_of(&draws) {
        let rows = shard.select(&draws);
        let expected = [
            distorted(replay.observations(&rows), &shard.select(&noise.observations), *layout, &device),
            distorted(replay.successors(&rows), &shard.select(&noise.successors), *layout, &device),
        ];
        let Minibatch { observations, successors, .. } =
            Minibatch::gather(&dqn.off_policy, &draws, shard, &noise, &device);
        for (found, expected) in [observations, successors].into_iter().zip(expected) {
            assert_eq!(found.into_data(), expected.into_data());
        }
    }
}

#[test]
fn vectors_cannot_be_augmented() {
    let config = DqnConfig { augmentation: Augmentation::Drq, ..config() };
    let result = Dqn::new(config, PolicyConfig::default(), vectors(), &Device::flex(), 7);
    let error = result.err().expect("an error").to_string();
    assert!(error.contains("augmentation") && error.contains("none"), "{error}");
}
