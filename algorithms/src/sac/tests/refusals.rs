//! Errors: values that are not finite, calls out of order, foreign batches, and environments and settings that SAC does
//! not support.

use burn::tensor::Device;
use rl_env::{AutoresetMode, Space};

use super::{config, learner, numbers, small};
use crate::cluster::Cluster;
use crate::networks::{Deviation, PolicyConfig, weights};
use crate::sac::{Sac, SacConfig};
use crate::testing::{RandomEnvs, spec, spec_of_numbers};
use crate::{Learner, LearnerError, Placement, ReplayError, ReplayStorage, ValueScale, VectorSpec};

fn vectors() -> VectorSpec {
    numbers(AutoresetMode::NextStep)
}

#[test]
fn non_finite_values_are_reported_and_never_reach_the_weights() {
    let (mut sac, mut envs) = (learner((config(), small()), vectors()), RandomEnvs::new(vectors()));
    let mut broken = envs.batch.clone();
    broken.observations.row_mut(2)[..4].copy_from_slice(&f32::NAN.to_ne_bytes());
    let message = sac.act(&broken).unwrap_err().to_string();
    let expected = "a mean or deviation of environment 2 is not finite after 0 updates";
    assert!(message.starts_with(expected), "{message}");
    let values = sac.policy(&vectors()).unwrap().values(&broken).unwrap_err().to_string();
    assert_eq!(values, "the value of environment 2 is not finite");

    sac.act(&envs.batch).unwrap();
    envs.step();
    let mut broken = envs.batch.clone();
    broken.rewards[3] = f32::INFINITY;
    assert_eq!(sac.observe(&broken).unwrap_err().to_string(), "the reward of environment 3 is not finite");

    // The square of the error overflows.
    broken.rewards = vec![f32::MAX; 4];
    broken.autoreset = vec![false; 4];
    sac.observe(&broken).unwrap();
    let error = loop {
        if sac.is_ready() {
            match sac.update() {
                Ok(_) => {}
                Err(error) => break error,
            }
        } else {
            sac.act(&envs.batch).unwrap();
            envs.step();
            sac.observe(&envs.batch).unwrap();
        }
    };
    let LearnerError::Diverged(divergence) = error else { panic!("{error}") };
    assert!(divergence.suspect.contains("in `targets`, row "), "{divergence}");
    assert_eq!(divergence.batch.iter().map(|tensor| tensor.shape[0]).collect::<Vec<_>>(), [8; 6]);
    let after = weights(&sac.agent.critics.network).unwrap();
    assert!(after.iter().all(|parameter| parameter.values.iter().all(|value| value.is_finite())));
}

#[test]
fn environments_that_sac_cannot_learn_in_are_refused() {
    let mode = AutoresetMode::NextStep;
    let refused = |spec: VectorSpec| {
        let size = Sac::replay_size(&config(), &spec, &Cluster::default()).err().unwrap().to_string();
        let refused = Sac::new(config(), small(), spec, &Device::flex(), 7).err().unwrap().to_string();
        assert_eq!(size, refused);
        refused
    };
    let vector = || Space::floats(3, -1.0, 1.0);
    assert_eq!(
        refused(spec(vector(), mode)),
        "two has the action space Discrete(2); `Sac` needs a Box of bounded float32. `DiscreteSac` learns discrete actions"
    );
    let unbounded = refused(spec_of_numbers(vector(), mode));
    assert!(
        unbounded.ends_with("need finite bounds. Without squash_actions, PPO learns unbounded actions"),
        "{unbounded}"
    );
    let images = VectorSpec { observation_space: Space::bytes([2, 36, 36]), ..numbers(mode) };
    assert!(refused(images).contains("SAC learns continuous actions from vectors only"));
}

#[test]
fn unsupported_settings_of_the_network_are_refused() {
    let refused = |policy: PolicyConfig| match Sac::new(config(), policy, vectors(), &Device::flex(), 7) {
        Err(LearnerError::Config(error)) => error.field,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("accepted"),
    };
    assert_eq!(refused(PolicyConfig { lstm: 4, ..small() }), "policy.lstm");
    assert_eq!(refused(PolicyConfig { deviation: Deviation::State, ..small() }), "policy.deviation");
    assert_eq!(refused(PolicyConfig { squash_actions: true, ..small() }), "policy.squash_actions");
    assert_eq!(refused(PolicyConfig { value_scale: ValueScale::H, ..small() }), "policy.value_scale");
    assert_eq!(refused(PolicyConfig { game_embedding: 3, ..small() }), "policy.game_embedding");
}

#[test]
fn a_replay_buffer_larger_than_memory_is_an_error() {
    let config = SacConfig { buffer_size: 1_000_000_000, ..SacConfig::default() };
    let size = Sac::replay_size(&config, &vectors(), &Cluster::default()).unwrap();
    // An observation of three numbers, and an action of up to three.
    assert!(size.total_bytes() > 1_000_000_000 * (3 + 3) * 4);
    let storage = ReplayStorage::Memory { available: 1 << 30 };
    let (placement, device) = (Placement { storage, ..Placement::default() }, Device::flex());
    let refused = Sac::in_cluster(config, small(), vectors(), placement, &device, 7).err();
    assert!(matches!(refused, Some(LearnerError::Replay(ReplayError::TooLarge { .. }))));
}
