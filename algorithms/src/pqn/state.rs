//! The state of a learner as bytes: everything that training needs to continue exactly.

use std::io::Write;

use burn::module::Module;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::{Pqn, PqnConfig};
use crate::engine::on_policy::OnPolicyState;
use crate::networks::PolicyConfig;
use crate::networks::value_scale::TaskScales;
use crate::state_bytes::{Header, bad};
use crate::{LearnerError, VectorSpec};

const HEADER: Header = Header { magic: b"PQNSTATE", version: 11 };

#[derive(Serialize, Deserialize)]
struct State<'a> {
    config: PqnConfig,
    policy: PolicyConfig,
    spec: VectorSpec,
    on_policy: OnPolicyState<'a>,
    scales: TaskScales,
}

/// Writes the complete state at any moment. Just after an update it is small, because no rollout is in progress.
pub(super) fn write(pqn: &Pqn, out: &mut dyn Write) -> Result<(), LearnerError> {
    let state = State {
        config: pqn.config.clone(),
        policy: pqn.policy.clone(),
        spec: pqn.on_policy.spec.clone(),
        on_policy: pqn.on_policy.state()?,
        scales: pqn.actor.head().scales.clone(),
    };
    HEADER.write(&state, out)
}

impl Pqn {
    /// Restores the learner that [`state`](crate::Learner::state) described. Compare [`spec`](crate::Learner::spec) to
    /// check that your environments are those that it was created for.
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let state: State = HEADER.decode(bytes)?;
        let (config, policy) = (state.config.clone(), state.policy.clone());
        Self::restored(state, bytes.len(), config, policy, device)
    }

    /// Like [`from_state`](Self::from_state), with settings that may differ from those in the state unless they are
    /// [fixed](settings::Field::fixed). Schedules continue as if training had begun with these settings.
    pub fn from_state_with(
        bytes: &[u8],
        config: PqnConfig,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let state: State = HEADER.decode(bytes)?;
        config.check_change(&state.config)?;
        policy.check_change(&state.policy)?;
        let pqn = Self::restored(state, bytes.len(), config, policy, device)?;
        pqn.on_policy.check_total()?;
        Ok(pqn)
    }

    fn restored(
        state: State,
        state_len: usize,
        config: PqnConfig,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        if !state.spec.is_consistent(state_len) {
            return Err(bad("the environments, the tasks and the network do not match"));
        }
        // The seed has no effect: everything derived from it is replaced.
        let mut pqn = Self::new(config, policy, state.spec, device, 0)?;
        pqn.on_policy.restore(state.on_policy)?;
        pqn.actor.scales_mut().restore(state.scales)?;
        pqn.actor.set_network(pqn.on_policy.training.network.valid());
        Ok(pqn)
    }
}
