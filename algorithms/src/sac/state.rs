//! The state of a learner as bytes: everything that training needs to continue exactly.

use std::io::Write;

use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::exploration::Exploration;
use super::{Sac, SacConfig};
use crate::cluster::Cluster;
use crate::engine::off_policy::OffPolicy;
use crate::engine::training::TrainingState;
use crate::experience::replay::{ReplayState, ReplayStorage};
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{NamedWeights, PolicyConfig, load_weights, weights};
use crate::state_bytes::{Header, bad};
use crate::{LearnerError, VectorSpec};

const HEADER: Header = Header { magic: b"SACSTATE", version: 4 };

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
    statistics: Option<ObservationStatistics>,
    action_rng: ChaCha8Rng,
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    replay: Option<ReplayState<'a, f32>>,
}

/// Writes the complete state, with or without the replay buffer.
pub(super) fn write(sac: &Sac, with_replay: bool, out: &mut dyn Write) -> Result<(), LearnerError> {
    let OffPolicy { spec, steps, updates, due, action_rng, replay_rng, noise_rng, .. } = &sac.off_policy;
    let state = State {
        config: sac.config.clone(),
        policy: sac.policy.clone(),
        spec: spec.clone(),
        steps: *steps,
        updates: *updates,
        due: *due,
        actor: sac.actor.state()?,
        critics: sac.critics.state()?,
        temperature: sac.temperature.state()?,
        target: weights(&sac.target)?,
        exploration: sac.exploration.clone(),
        statistics: sac.statistics.clone(),
        action_rng: action_rng.clone(),
        replay_rng: replay_rng.clone(),
        noise_rng: noise_rng.clone(),
        replay: with_replay.then(|| sac.off_policy.replay.state()),
    };
    sac.off_policy.write_state(&HEADER, &state, with_replay, out)
}

/// Decodes a state. Also returns the frames of the replay buffer.
fn decode(bytes: &[u8]) -> Result<(State<'static>, &[u8]), LearnerError> {
    let (state, frames): (State, _) = HEADER.decode_first(bytes)?;
    if !state.spec.is_consistent(bytes.len()) {
        return Err(bad("the environments, the tasks and the network do not match"));
    }
    Ok((state, frames))
}

impl Sac {
    /// Writes the state without the replay buffer, which is small. After a restart learning pauses until the replay
    /// buffer holds `learning_starts` steps again; the policy acts meanwhile. Fails between `act` and `observe`.
    pub fn write_state_without_replay(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        write(self, false, out)
    }

    /// Restores the learner that [`state`](crate::Learner::state) described, with the replay buffer in memory. Compare
    /// [`spec`](crate::Learner::spec) to check that your environments are those that it was created for.
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let (state, frames) = decode(bytes)?;
        Self::restored(state, frames, Cluster::default(), ReplayStorage::UNLIMITED, device)
    }

    /// Like [`from_state`](Self::from_state), but leaves the replay buffer empty, for agents that only act: the buffer may be
    /// larger than the memory.
    pub fn from_state_without_replay(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let (state, _) = decode(bytes)?;
        let state = State { replay: None, ..state };
        Self::restored(state, &[], Cluster::default(), ReplayStorage::UNLIMITED, device)
    }

    /// Like [`from_state`](Self::from_state), but [in a cluster](Self::in_cluster), and with settings that may differ
    /// from those in the state unless they are [fixed](settings::Field::fixed).
    pub fn from_state_with(
        bytes: &[u8],
        config: SacConfig,
        policy: PolicyConfig,
        cluster: Cluster,
        storage: ReplayStorage,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let (state, frames) = decode(bytes)?;
        config.check_change(&state.config)?;
        policy.check_change(&state.policy)?;
        config.plan().check_total(&state.config.plan(), state.steps)?;
        Self::restored(State { config, policy, ..state }, frames, cluster, storage, device)
    }

    fn restored(
        state: State,
        frames: &[u8],
        cluster: Cluster,
        storage: ReplayStorage,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        // The seed has no effect: everything derived from it is replaced.
        let State { config, policy, spec, .. } = state;
        let mut sac = Self::in_cluster(config, policy, spec, cluster, storage, device, 0)?;
        sac.actor.restore(state.actor)?;
        sac.critics.restore(state.critics)?;
        sac.temperature.restore(state.temperature)?;
        sac.target = load_weights(sac.target, state.target)?;
        if !state.exploration.fits(&sac.exploration) {
            return Err(bad("the noise does not match the environments"));
        }
        sac.exploration = state.exploration;
        if !ObservationStatistics::are_alike(state.statistics.as_ref(), sac.statistics.as_ref()) {
            return Err(bad("the statistics of the observations do not match the environments"));
        }
        sac.set_statistics(state.statistics);
        let off_policy = &mut sac.off_policy;
        off_policy.restore(state.replay, frames, state.due)?;
        (off_policy.steps, off_policy.updates) = (state.steps, state.updates);
        (off_policy.action_rng, off_policy.replay_rng) = (state.action_rng, state.replay_rng);
        off_policy.noise_rng = state.noise_rng;
        sac.use_trained_network();
        Ok(sac)
    }
}
