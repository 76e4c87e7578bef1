//! The learner as bytes: everything that training needs to go on as if it had never stopped.

use burn::module::Module;
use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Dqn, DqnConfig};
use crate::networks::{NamedWeights, PolicyConfig, load_weights, weights};
use crate::replay::{ReplayState, ReplayStorage};
use crate::state_bytes::{Header, bad};
use crate::training::TrainingState;
use crate::value_scale::TaskScales;
use crate::{LearnerError, VectorSpec};

const HEADER: Header = Header { magic: b"DQNSTATE", version: 4 };

#[derive(Serialize, Deserialize)]
struct State {
    config: DqnConfig,
    policy: PolicyConfig,
    spec: VectorSpec,
    /// Also the position of all schedules.
    steps: u64,
    updates: u64,
    due: f64,
    training: TrainingState,
    target: Vec<NamedWeights>,
    scales: TaskScales,
    action_rng: ChaCha8Rng,
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    replay: Option<ReplayState>,
}

impl Dqn {
    /// The complete state as bytes, at any moment.
    ///
    /// Without the replay it is small, and learning pauses after a restart until the replay has seen
    /// `learning_starts` steps again; it must not be taken between `act` and `observe` then.
    pub fn state(&self, with_replay: bool) -> Result<Vec<u8>, LearnerError> {
        if !with_replay && self.replay.is_acting() {
            return Err(LearnerError::OutOfOrder(
                "a state without replay was asked for between act and observe",
            ));
        }
        HEADER.encode(&State {
            config: self.config.clone(),
            policy: self.policy.clone(),
            spec: self.spec.clone(),
            steps: self.steps,
            updates: self.updates,
            due: self.due,
            training: self.training.state()?,
            target: weights(&self.target)?,
            scales: self.actor.head().scales.clone(),
            action_rng: self.action_rng.clone(),
            replay_rng: self.replay_rng.clone(),
            noise_rng: self.noise_rng.clone(),
            replay: with_replay.then(|| self.replay.state()),
        })
    }

    /// The learner that [`state`](Self::state) described, its replay in `storage`. Whether the environments at hand
    /// are the ones it was made for can be seen by comparing [`spec`](crate::Learner::spec).
    pub fn from_state(bytes: &[u8], storage: ReplayStorage, device: &Device) -> Result<Self, LearnerError> {
        let state: State = HEADER.decode(bytes)?;
        if !state.spec.is_sound() {
            return Err(bad("its environments and tasks do not belong together"));
        }
        // The seed has no effect: everything that came from it is replaced.
        let mut dqn = Self::new(state.config, state.policy, state.spec, storage, device, 0)?;
        dqn.training.restore(state.training)?;
        dqn.target = load_weights(dqn.target, state.target)?;
        dqn.actor.scales_mut().restore(state.scales)?;
        dqn.actor.set_network(dqn.training.network.valid());
        if let Some(replay) = state.replay {
            dqn.replay.restore(replay).map_err(bad)?;
        }
        if !state.due.is_finite() {
            return Err(bad("the gradient steps that are due are no number"));
        }
        (dqn.steps, dqn.updates, dqn.due) = (state.steps, state.updates, state.due);
        (dqn.action_rng, dqn.replay_rng) = (state.action_rng, state.replay_rng);
        dqn.noise_rng = state.noise_rng;
        Ok(dqn)
    }
}
