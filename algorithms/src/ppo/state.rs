//! The state of a learner as bytes: everything that training needs to continue exactly.

use std::io::Write;

use burn::module::Module;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::recurrent::RecurrentRollout;
use super::{Ppo, PpoConfig};
use crate::engine::on_policy::OnPolicyState;
use crate::networks::PolicyConfig;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::value_scale::TaskScales;
use crate::state_bytes::{Header, bad, end};
use crate::{LearnerError, VectorSpec};

const HEADER: Header = Header { magic: b"PPOSTATE", version: 13 };

#[derive(Serialize, Deserialize)]
struct State<'a> {
    config: PpoConfig,
    policy: PolicyConfig,
    spec: VectorSpec,
    on_policy: OnPolicyState<'a>,
    scales: TaskScales,
    recurrent: RecurrentRollout,
    statistics: Option<ObservationStatistics>,
}

/// Writes the complete state at any moment. Just after an update it is small, because no rollout is in progress.
pub(super) fn write(ppo: &Ppo, out: &mut dyn Write) -> Result<(), LearnerError> {
    let state = State {
        config: ppo.config.clone(),
        policy: ppo.policy.clone(),
        spec: ppo.on_policy.spec.clone(),
        on_policy: ppo.on_policy.state()?,
        scales: ppo.actor.scales.clone(),
        recurrent: ppo.recurrent.clone(),
        statistics: ppo.statistics.clone(),
    };
    HEADER.write(&state, out)
}

/// Restores the learner whose state `bytes` begin with. Also returns the rest.
pub(super) fn restore_first<'a>(bytes: &'a [u8], device: &Device) -> Result<(Ppo, &'a [u8]), LearnerError> {
    let (state, rest): (State, _) = HEADER.decode_first(bytes)?;
    let (config, policy) = (state.config.clone(), state.policy.clone());
    Ok((Ppo::restored(state, bytes.len(), config, policy, device)?, rest))
}

/// Like [`restore_first`], with other settings.
pub(super) fn restore_first_with<'a>(
    bytes: &'a [u8],
    config: PpoConfig,
    policy: PolicyConfig,
    device: &Device,
) -> Result<(Ppo, &'a [u8]), LearnerError> {
    let (state, rest): (State, _) = HEADER.decode_first(bytes)?;
    config.check_change(&state.config)?;
    policy.check_change(&state.policy)?;
    let ppo = Ppo::restored(state, bytes.len(), config, policy, device)?;
    ppo.on_policy.check_total()?;
    Ok((ppo, rest))
}

/// Returns a restored learner, unless bytes are left.
fn whole((ppo, rest): (Ppo, &[u8])) -> Result<Ppo, LearnerError> {
    end(rest)?;
    Ok(ppo)
}

impl Ppo {
    /// Restores the learner that [`state`](crate::Learner::state) described. Compare [`spec`](crate::Learner::spec) to
    /// check that your environments are those that it was created for.
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        whole(restore_first(bytes, device)?)
    }

    /// Like [`from_state`](Self::from_state), with settings that may differ from those in the state unless they are
    /// [fixed](settings::Field::fixed). Schedules continue as if training had begun with these settings.
    pub fn from_state_with(
        bytes: &[u8],
        config: PpoConfig,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        whole(restore_first_with(bytes, config, policy, device)?)
    }

    fn restored(
        state: State,
        state_len: usize,
        config: PpoConfig,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        if !state.spec.is_consistent(state_len) {
            return Err(bad("the environments, the tasks and the network do not match"));
        }
        // The seed has no effect: everything derived from it is replaced.
        let mut ppo = Self::new(config, policy, state.spec, device, 0)?;
        ppo.on_policy.restore(state.on_policy)?;
        ppo.actor.scales.restore(state.scales)?;
        if !state.recurrent.has_shape_of(&ppo.recurrent) {
            return Err(bad("the recurrent state does not match the environments and the network"));
        }
        ppo.recurrent = state.recurrent;
        if !ObservationStatistics::are_alike(state.statistics.as_ref(), ppo.statistics.as_ref()) {
            return Err(bad("the statistics of the observations do not match the environments"));
        }
        ppo.set_statistics(state.statistics);
        ppo.actor.set_network(ppo.on_policy.training.network.valid());
        Ok(ppo)
    }
}
