//! Calls, batches, values and states that a learner refuses.

use super::{learner, vectors};
use crate::networks::weights;
use crate::testing::RandomEnvs;
use crate::{Learner, LearnerError};

#[test]
fn non_finite_values_are_reported_and_never_reach_the_weights() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    let mut broken = envs.batch.clone();
    broken.observations.row_mut(2)[..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    let message = ppo.act(&broken).unwrap_err().to_string();
    assert!(message.starts_with("a logit of environment 2 is not finite after 0 updates"), "{message}");
    assert!(message.contains("NaN in `observations`, row 2, of five"), "{message}");

    ppo.act(&envs.batch).unwrap();
    envs.step();
    let mut broken = envs.batch.clone();
    broken.rewards[3] = f32::INFINITY;
    assert_eq!(ppo.observe(&broken).unwrap_err().to_string(), "the reward of environment 3 is not finite");

    broken.rewards[3] = f32::MAX;
    broken.autoreset[3] = false;
    ppo.observe(&broken).unwrap();
    while !ppo.is_ready() {
        ppo.act(&envs.batch).unwrap();
        envs.step();
        ppo.observe(&envs.batch).unwrap();
    }
    let LearnerError::Diverged(divergence) = ppo.update().unwrap_err() else { panic!("nothing was found") };
    // The reward belongs to the fourth environment, whose returns overflow.
    let message = divergence.to_string();
    assert!(message.contains("is not finite after 0 updates, at learning rate 1e-2"), "{message}");
    assert!(message.contains(", of two;") && message.contains("five ("), "{message}");
    let shape =
        |name: &str| divergence.batch.iter().find(|tensor| tensor.name == name).unwrap().shape.clone();
    assert_eq!((shape("returns").len(), shape("observations")[1]), (1, 3));
    let weights = weights(&ppo.on_policy.training.network).unwrap();
    assert!(weights.iter().all(|parameter| parameter.values.iter().all(|value| value.is_finite())));
}
