//! Errors: values that are not finite, calls out of order, foreign batches, too little memory.

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use super::{config, learner, vectors};
use crate::cluster::Cluster;
use crate::dqn::{Dqn, DqnConfig};
use crate::networks::{PolicyConfig, weights};
use crate::testing::{RandomEnvs, spec};
use crate::{Learner, LearnerError, Placement, ReplayError, ReplayStorage};

#[test]
fn non_finite_values_are_reported_and_never_reach_the_weights() {
    let (mut dqn, mut envs) = (learner(config(), vectors()), RandomEnvs::new(vectors()));
    let mut broken = envs.batch.clone();
    broken.observations.row_mut(2)[..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    let message = dqn.act(&broken).unwrap_err().to_string();
    assert!(message.starts_with("a value of environment 2 is not finite after 0 updates"), "{message}");

    dqn.act(&envs.batch).unwrap();
    envs.step();
    let mut broken = envs.batch.clone();
    broken.rewards[3] = f32::INFINITY;
    assert_eq!(dqn.observe(&broken).unwrap_err().to_string(), "the reward of environment 3 is not finite");

    // The square of the error overflows.
    broken.rewards = vec![f32::MAX; 4];
    broken.autoreset = vec![false; 4];
    dqn.observe(&broken).unwrap();
    let error = loop {
        if dqn.is_ready() {
            match dqn.update() {
                Ok(_) => {}
                Err(error) => break error,
            }
        } else {
            dqn.act(&envs.batch).unwrap();
            envs.step();
            dqn.observe(&envs.batch).unwrap();
        }
    };
    let LearnerError::Diverged(divergence) = error else { panic!("{error}") };
    assert!(divergence.suspect.contains("in `targets`, row "), "{divergence}");
    assert_eq!(divergence.batch.iter().map(|tensor| tensor.shape[0]).collect::<Vec<_>>(), [8; 7]);
    let after = weights(&dqn.agent.training.network).unwrap();
    assert!(after.iter().all(|parameter| parameter.values.iter().all(|value| value.is_finite())));
}

#[test]
fn a_replay_buffer_larger_than_memory_is_an_error() {
    let images = spec(Space::bytes([4, 84, 84]), AutoresetMode::SameStep);
    let config = DqnConfig { buffer_size: 1_000_000_000, ..DqnConfig::default() };
    let size = Dqn::replay_size(&config, &images, &Cluster::default()).unwrap();
    assert!(size.total_bytes() > 7_000_000_000_000);
    let storage = ReplayStorage::Memory { available: 1 << 30 };
    let (placement, device) = (Placement { storage, ..Placement::default() }, Device::flex());
    let refused = Dqn::in_cluster(config, PolicyConfig::default(), images, placement, &device, 7).err();
    assert!(matches!(refused, Some(LearnerError::Replay(ReplayError::TooLarge { .. }))));
}
