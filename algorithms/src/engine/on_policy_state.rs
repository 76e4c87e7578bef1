//! Serialisation of an on-policy learner: everything that training needs to continue exactly.

use std::io::Write;

use burn::module::Module;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::on_policy::OnPolicyState;
use super::on_policy_learner::{OnPolicyAlgorithm, OnPolicyLearner};
use crate::networks::PolicyConfig;
use crate::state_bytes::{bad, end};
use crate::{LearnerError, VectorSpec};

/// The complete state. A checkpoint has the fields in this order.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "C: Deserialize<'de>, S: Deserialize<'de>"))]
struct State<'a, C, S> {
    config: C,
    policy: PolicyConfig,
    spec: VectorSpec,
    on_policy: OnPolicyState<'a>,
    agent: S,
}

type StateOf<'a, A> = State<'a, <A as OnPolicyAlgorithm>::Config, <A as OnPolicyAlgorithm>::State>;

impl<A: OnPolicyAlgorithm> OnPolicyLearner<A> {
    /// Writes the complete state. It is small just after an update, because no rollout is in progress then.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        let state = State {
            config: self.config.clone(),
            policy: self.policy.clone(),
            spec: self.on_policy.spec.clone(),
            on_policy: self.on_policy.state()?,
            agent: self.agent.state(),
        };
        A::HEADER.write(&state, out)?;
        A::write_optional(&state.config, &state.agent, out)
    }

    /// Restores the learner that [`state`](crate::Learner::state) described. Compare [`spec`](crate::Learner::spec) to
    /// check that your environments are those that it was created for.
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        expect_no_rest(Self::from_first_state(bytes, device)?)
    }

    /// Like [`from_state`](Self::from_state), with settings that may differ from those in the state unless they are
    /// [fixed](settings::Field::fixed). Schedules continue as if training had begun with these settings.
    pub fn from_state_with(
        bytes: &[u8],
        config: A::Config,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        expect_no_rest(Self::from_first_state_with(bytes, config, policy, device)?)
    }

    /// Restores the learner whose state `bytes` begin with. Also returns the rest.
    pub(crate) fn from_first_state<'a>(
        bytes: &'a [u8],
        device: &Device,
    ) -> Result<(Self, &'a [u8]), LearnerError> {
        let (state, rest) = Self::decode_first(bytes)?;
        Ok((Self::restored(state, bytes.len(), device)?, rest))
    }

    /// Like [`from_first_state`](Self::from_first_state), with other settings.
    pub(crate) fn from_first_state_with<'a>(
        bytes: &'a [u8],
        config: A::Config,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<(Self, &'a [u8]), LearnerError> {
        let (state, rest) = Self::decode_first(bytes)?;
        A::check_change(&config, &state.config)?;
        policy.check_change(&state.policy)?;
        let learner = Self::restored(State { config, policy, ..state }, bytes.len(), device)?;
        learner.on_policy.check_total()?;
        Ok((learner, rest))
    }

    /// Decodes the state that `bytes` begin with. Also returns the rest.
    fn decode_first(bytes: &[u8]) -> Result<(StateOf<'_, A>, &[u8]), LearnerError> {
        let (mut state, rest): (StateOf<'_, A>, _) = A::HEADER.decode_first(bytes)?;
        let rest = A::read_optional(&mut state.config, &mut state.agent, rest)?;
        Ok((state, rest))
    }

    /// Creates the learner of a state that was decoded from at most `length` bytes.
    fn restored(state: StateOf<'_, A>, length: usize, device: &Device) -> Result<Self, LearnerError> {
        if !state.spec.is_consistent(length) {
            return Err(bad("the environments, the tasks and the network do not match"));
        }
        // The seed has no effect: everything derived from it is replaced.
        let mut learner = Self::new(state.config, state.policy, state.spec, device, 0)?;
        learner.on_policy.restore(state.on_policy)?;
        learner.agent.restore(state.agent)?;
        learner.agent.set_network(learner.on_policy.training.network.valid());
        Ok(learner)
    }
}

/// Returns a restored learner. Fails if bytes are left after its state.
fn expect_no_rest<L>((learner, rest): (L, &[u8])) -> Result<L, LearnerError> {
    end(rest)?;
    Ok(learner)
}
