//! The state of a learner as bytes: everything that training needs to continue exactly.

use std::io::Write;

use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::exploration::Exploration;
use super::{Sac, SacConfig};
use crate::networks::{NamedWeights, PolicyConfig, load_weights, weights};
use crate::replay::{ReplayState, ReplayStorage};
use crate::state_bytes::{Header, bad};
use crate::training::TrainingState;
use crate::{ConfigError, LearnerError, VectorSpec};

const HEADER: Header = Header { magic: b"SACSTATE", version: 1 };

#[derive(Serialize, Deserialize)]
struct State<'a> {
    config: SacConfig,
    policy: PolicyConfig,
    spec: VectorSpec,
    steps: u64,
    updates: u64,
    due: f64,
    actor: TrainingState,
    critics: TrainingState,
    temperature: TrainingState,
    target: Vec<NamedWeights>,
    exploration: Exploration,
    action_rng: ChaCha8Rng,
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    replay: Option<ReplayState<'a, f32>>,
}

/// Writes the complete state, with or without the replay buffer.
pub(super) fn write(sac: &Sac, with_replay: bool, out: &mut dyn Write) -> Result<(), LearnerError> {
    let state = State {
        config: sac.config.clone(),
        policy: sac.policy.clone(),
        spec: sac.spec.clone(),
        steps: sac.steps,
        updates: sac.updates,
        due: sac.due,
        actor: sac.actor.state()?,
        critics: sac.critics.state()?,
        temperature: sac.temperature.state()?,
        target: weights(&sac.target)?,
        exploration: sac.exploration.clone(),
        action_rng: sac.action_rng.clone(),
        replay_rng: sac.replay_rng.clone(),
        noise_rng: sac.noise_rng.clone(),
        replay: with_replay.then(|| sac.replay.state()),
    };
    HEADER.write(&state, out)
}

impl Sac {
    /// Writes the state without the replay buffer, which is small. After a restart learning pauses until the replay
    /// buffer holds `learning_starts` steps again; the policy acts meanwhile. Fails between `act` and `observe`.
    pub fn write_state_without_replay(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        if self.replay.is_acting() {
            return Err(LearnerError::OutOfOrder(
                "a state without replay was asked for between act and observe",
            ));
        }
        write(self, false, out)
    }

    /// Restores the learner that [`state`](crate::Learner::state) described, with the replay buffer in memory. Compare
    /// [`spec`](crate::Learner::spec) to see if the environments at hand are those it was made for.
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let state: State = HEADER.decode(bytes)?;
        let (config, policy) = (state.config.clone(), state.policy.clone());
        Self::restored(state, bytes.len(), config, policy, ReplayStorage::UNLIMITED, device)
    }

    /// Like [`from_state`](Self::from_state), with the replay buffer in `storage`, and with settings that may differ from
    /// those in the state unless they are [fixed](settings::Field::fixed).
    pub fn from_state_with(
        bytes: &[u8],
        config: SacConfig,
        policy: PolicyConfig,
        storage: ReplayStorage,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let state: State = HEADER.decode(bytes)?;
        config.check_change(&state.config)?;
        policy.check_change(&state.policy)?;
        let allowed = format!("{} or more, which have been made already", state.steps);
        let (is_possible, total_steps) = (config.total_steps >= state.steps, config.total_steps);
        // The last batch of steps may exceed the total that training began with.
        if config.total_steps != state.config.total_steps {
            ConfigError::unless(is_possible, "total_steps", &total_steps, allowed)?;
        }
        Self::restored(state, bytes.len(), config, policy, storage, device)
    }

    fn restored(
        state: State,
        state_len: usize,
        config: SacConfig,
        policy: PolicyConfig,
        storage: ReplayStorage,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        if !state.spec.is_consistent(state_len) {
            return Err(bad("the environments, the tasks and the network do not match"));
        }
        // The seed has no effect: everything derived from it is replaced.
        let mut sac = Self::with_storage(config, policy, state.spec, storage, device, 0)?;
        sac.actor.restore(state.actor)?;
        sac.critics.restore(state.critics)?;
        sac.temperature.restore(state.temperature)?;
        sac.target = load_weights(sac.target, state.target)?;
        if let Some(replay) = state.replay {
            sac.replay.restore(&sac.spec, replay).map_err(bad)?;
        }
        if !state.due.is_finite() {
            return Err(bad("the number of due gradient steps is not finite"));
        }
        if !state.exploration.fits(&sac.exploration) {
            return Err(bad("the noise does not match the environments"));
        }
        sac.exploration = state.exploration;
        (sac.steps, sac.updates, sac.due) = (state.steps, state.updates, state.due);
        (sac.action_rng, sac.replay_rng) = (state.action_rng, state.replay_rng);
        sac.noise_rng = state.noise_rng;
        sac.use_trained_network();
        Ok(sac)
    }
}
