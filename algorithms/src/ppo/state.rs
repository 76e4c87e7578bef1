//! The learner as bytes: everything that training needs to go on as if it had never stopped.

use burn::module::Module;
use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Ppo, PpoConfig};
use crate::networks::{NamedWeights, load_weights, weights};
use crate::optimizer::Moments;
use crate::rollout::Rollout;
use crate::state_bytes::{Header, bad};
use crate::{EnvSpec, LearnerError};

const HEADER: Header = Header { magic: b"PPOSTATE", version: 2 };

#[derive(Serialize, Deserialize)]
struct State {
    config: PpoConfig,
    spec: EnvSpec,
    /// Also the position of the learning rate's schedule.
    updates: u64,
    weights: Vec<NamedWeights>,
    moments: Vec<Option<Moments>>,
    action_rng: ChaCha8Rng,
    shuffle_rng: ChaCha8Rng,
    /// Absent between an update and the next action.
    rollout: Option<Rollout>,
    last_values: Vec<f32>,
}

impl Ppo {
    /// The complete state as bytes, at any moment. Just after an update it is small, since no rollout is under way.
    pub fn state(&self) -> Result<Vec<u8>, LearnerError> {
        let state = State {
            config: self.config.clone(),
            spec: self.spec.clone(),
            updates: self.updates,
            weights: weights(&self.network)?,
            moments: self.optimizer.moments()?,
            action_rng: self.action_rng.clone(),
            shuffle_rng: self.shuffle_rng.clone(),
            rollout: (!self.rollout.is_empty()).then(|| self.rollout.clone()),
            last_values: self.last_values.clone(),
        };
        HEADER.encode(&state)
    }

    /// The learner that [`state`](Self::state) described. Whether the environments at hand are the ones it was made
    /// for can be seen by comparing [`spec`](Self::spec).
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let state: State = HEADER.decode(bytes)?;
        if !state.spec.is_sound() {
            return Err(bad("its environments and tasks do not belong together"));
        }
        // The seed has no effect: everything that came from it is replaced.
        let mut ppo = Self::new(state.config, state.spec, device, 0)?;
        let sizes: Vec<usize> = state.weights.iter().map(|parameter| parameter.values.len()).collect();
        ppo.network = load_weights(ppo.network, state.weights)?;
        ppo.actor.set_network(ppo.network.valid());
        ppo.optimizer.load_moments(state.moments, &sizes, &ppo.device.clone().without_autodiff())?;
        if let Some(rollout) = state.rollout {
            if !rollout.has_shape_of(&ppo.rollout) {
                return Err(bad("its rollout has another shape than its configuration"));
            }
            ppo.rollout = rollout;
        }
        if ppo.is_ready() && state.last_values.len() != ppo.spec.num_envs() {
            return Err(bad("its last values are not one for each environment"));
        }
        ppo.last_values = state.last_values;
        (ppo.action_rng, ppo.shuffle_rng) = (state.action_rng, state.shuffle_rng);
        ppo.updates = state.updates;
        Ok(ppo)
    }
}
