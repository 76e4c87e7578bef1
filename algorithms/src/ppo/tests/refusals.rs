//! Calls, batches, values and states that a learner refuses.

use burn::tensor::Device;
use rl_env::Batch;

use super::{learner, step, vectors};
use crate::networks::weights;
use crate::ppo::Ppo;
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

#[test]
fn calls_out_of_order_and_foreign_batches_are_errors() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    assert!(matches!(ppo.observe(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    assert!(matches!(ppo.update(), Err(LearnerError::OutOfOrder(_))));
    ppo.act(&envs.batch).unwrap();
    assert!(matches!(ppo.act(&envs.batch), Err(LearnerError::OutOfOrder(_))));
    let foreign = |rows, row_bytes| Batch::new(rows, row_bytes, false);
    assert!(matches!(
        ppo.observe(&foreign(5, 12)),
        Err(LearnerError::ForeignBatch { what: "environments", got: 5, expected: 4 })
    ));
    let mut disordered = envs.batch.clone();
    disordered.env_ids.swap(1, 2);
    assert_eq!(ppo.observe(&disordered), Err(LearnerError::DisorderedBatch));
    assert!(matches!(ppo.observe(&foreign(4, 8)), Err(LearnerError::ForeignBatch { .. })));
    let mut of_same_step = envs.batch.clone();
    of_same_step.final_observations = of_same_step.observations.clone();
    let refused = LearnerError::ForeignBatch { what: "final observations", got: 4, expected: 0 };
    assert_eq!(ppo.observe(&of_same_step), Err(refused));
    envs.step();
    ppo.observe(&envs.batch).unwrap();
}

#[test]
fn damaged_states_are_errors() {
    let (mut ppo, mut envs) = (learner(vectors()), RandomEnvs::new(vectors()));
    step(&mut ppo, &mut envs);
    let state = ppo.state().unwrap();
    let refused = |bytes: &[u8]| match Ppo::from_state(bytes, &Device::flex()) {
        Err(LearnerError::BadState(problem)) => problem,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{} bytes were accepted", bytes.len()),
    };
    assert_eq!(refused(b"something else"), "it has the wrong first bytes");
    assert_eq!(refused(&state[..9]), "it is truncated");
    refused(&state[..state.len() / 2]);
    assert_eq!(refused(&[&state[..], &[0]].concat()), "bytes follow its end: 1");
    let mut newer = state;
    newer[8] = 14;
    assert_eq!(refused(&newer), "it has version 14, but this build reads version 13");
}
