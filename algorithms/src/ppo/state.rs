//! The learner as bytes: everything that training needs to go on as if it had never stopped.
//!
//! The bytes are [`MAGIC`], the version as a little-endian `u16`, and [`State`] in postcard's encoding.
//! Equal learners have equal bytes.

use burn::module::Module;
use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Ppo, PpoConfig};
use crate::networks::{NamedWeights, load_weights, weights};
use crate::optimizer::Moments;
use crate::rollout::Rollout;
use crate::{EnvSpec, LearnerError};

const MAGIC: &[u8; 8] = b"PPOSTATE";
/// Changes whenever the meaning of the bytes does.
const VERSION: u16 = 1;

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
        let header = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
        postcard::to_extend(&state, header).map_err(|error| LearnerError::BadState(error.to_string()))
    }

    /// The learner that [`state`](Self::state) described. Whether the environments at hand are the ones it was made
    /// for can be seen by comparing [`spec`](Self::spec).
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let state = decode(bytes)?;
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

fn decode(bytes: &[u8]) -> Result<State, LearnerError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| bad("it does not begin like one"))?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(|| bad("it is cut off"))?;
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        return Err(bad(&format!("it has version {version}, this program reads version {VERSION}")));
    }
    let (state, rest): (State, _) =
        postcard::take_from_bytes(rest).map_err(|error| bad(&error.to_string()))?;
    if !rest.is_empty() {
        return Err(bad(&format!("{} bytes too many", rest.len())));
    }
    if state.spec.task_ids.iter().any(|&task| task >= state.spec.tasks.len()) {
        return Err(bad("an environment's task does not exist"));
    }
    Ok(state)
}

fn bad(problem: &str) -> LearnerError {
    LearnerError::BadState(problem.to_owned())
}
