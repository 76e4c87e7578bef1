//! Serialisation of an off-policy learner: everything that training needs to continue exactly.

use std::io::Write;

use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use settings::Settings;

use super::off_policy::OffPolicy;
use super::off_policy_learner::{OffPolicyAlgorithm, OffPolicyLearner};
use super::placement::Placement;
use crate::experience::replay::{ActionElement, ReplayState};
use crate::networks::PolicyConfig;
use crate::state_bytes::bad;
use crate::{LearnerError, VectorSpec};

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "C: Deserialize<'de>, S: Deserialize<'de>, E: ActionElement"))]
struct State<'a, C, S, E: ActionElement> {
    config: C,
    policy: PolicyConfig,
    spec: VectorSpec,
    /// The number of steps observed, which is also the position in all schedules.
    steps: u64,
    updates: u64,
    due_gradient_steps: f64,
    agent: S,
    action_rng: ChaCha8Rng,
    replay_rng: ChaCha8Rng,
    noise_rng: ChaCha8Rng,
    replay: Option<ReplayState<'a, E>>,
}

type StateOf<'a, A> = State<
    'a,
    <A as OffPolicyAlgorithm>::Config,
    <A as OffPolicyAlgorithm>::State,
    <A as OffPolicyAlgorithm>::Element,
>;

impl<A: OffPolicyAlgorithm> OffPolicyLearner<A> {
    /// Writes the state.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        let with_replay = self.replay_in_state;
        let OffPolicy { spec, steps, updates, due_gradient_steps, action_rng, replay_rng, noise_rng, .. } =
            &self.off_policy;
        let state = State {
            config: self.config.clone(),
            policy: self.policy.clone(),
            spec: spec.clone(),
            steps: *steps,
            updates: *updates,
            due_gradient_steps: *due_gradient_steps,
            agent: self.agent.state()?,
            action_rng: action_rng.clone(),
            replay_rng: replay_rng.clone(),
            noise_rng: noise_rng.clone(),
            replay: with_replay.then(|| self.off_policy.replay.state()),
        };
        self.off_policy.write_state(&A::HEADER, &state, with_replay, out)
    }

    /// Sets whether states contain the replay buffer; a new or restored learner's do. Those without it are small, and
    /// cannot be written between `act` and `observe`. After a restart learning pauses until the replay buffer holds
    /// `learning_starts` steps again; the policy acts meanwhile.
    pub fn set_replay_in_state(&mut self, is_in_state: bool) {
        self.replay_in_state = is_in_state;
    }

    /// Returns true if `bytes` begin like a state of this kind of learner.
    pub fn is_state(bytes: &[u8]) -> bool {
        A::HEADER.begins(bytes)
    }

    /// Restores the learner that [`state`](crate::Learner::state) described, with the replay buffer in memory. Compare
    /// [`spec`](crate::Learner::spec) to check that your environments are those that it was created for.
    pub fn from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let (state, frames) = decode::<A>(bytes)?;
        Self::restored(state, frames, Placement::default(), device)
    }

    /// Like [`from_state`](Self::from_state), but leaves the replay buffer empty, for agents that only act: the buffer
    /// may be larger than the memory.
    pub fn from_state_without_replay(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let (state, _) = decode::<A>(bytes)?;
        let state = State { replay: None, ..state };
        Self::restored(state, &[], Placement::default(), device)
    }

    /// Like [`from_state`](Self::from_state), but [in a cluster](Self::in_cluster), and with settings that may differ
    /// from those in the state unless they are [fixed](settings::Field::fixed). Schedules continue as if training had
    /// begun with these settings.
    pub fn from_state_with(
        bytes: &[u8],
        config: A::Config,
        policy: PolicyConfig,
        placement: Placement,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let (state, frames) = decode::<A>(bytes)?;
        config.check_change(&state.config)?;
        policy.check_change(&state.policy)?;
        A::plan(&config).check_total(&A::plan(&state.config), state.steps)?;
        Self::restored(State { config, policy, ..state }, frames, placement, device)
    }

    fn restored(
        state: StateOf<'_, A>,
        frames: &[u8],
        placement: Placement,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        // The seed has no effect: everything derived from it is replaced.
        let State { config, policy, spec, .. } = state;
        let mut learner = Self::in_cluster(config, policy, spec, placement, device, 0)?;
        learner.agent.restore(state.agent)?;
        let off_policy = &mut learner.off_policy;
        off_policy.restore(state.replay, frames, state.due_gradient_steps)?;
        (off_policy.steps, off_policy.updates) = (state.steps, state.updates);
        (off_policy.action_rng, off_policy.replay_rng) = (state.action_rng, state.replay_rng);
        off_policy.noise_rng = state.noise_rng;
        learner.agent.use_trained_network();
        Ok(learner)
    }
}

/// Decodes a state. Also returns the frames of the replay buffer.
fn decode<A: OffPolicyAlgorithm>(bytes: &[u8]) -> Result<(StateOf<'static, A>, &[u8]), LearnerError> {
    let (state, frames): (StateOf<'static, A>, _) = A::HEADER.decode_first(bytes)?;
    if !state.spec.is_consistent(bytes.len()) {
        return Err(bad("the environments, the tasks and the network do not match"));
    }
    Ok((state, frames))
}
