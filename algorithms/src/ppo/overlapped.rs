//! PPO that collects the next rollout while it learns from the last one.

use std::io::Write;

use burn::module::Module;
use burn::tensor::Device;

use super::{Ppo, PpoConfig, PpoMetrics};
use crate::engine::overlap::{Overlap, Overlapped};
use crate::networks::PolicyConfig;
use crate::state_bytes::{Header, bad, end};
use crate::{Learner, LearnerError};

/// The header, which the states of the actor and of the learner follow.
const HEADER: Header = Header { magic: b"PPOVERLP", version: 1 };

impl Overlap for Ppo {
    fn planned_updates(&self) -> u64 {
        self.num_updates()
    }

    fn adopt(&mut self, learner: &Self) {
        let network = learner.on_policy.training.network.clone();
        self.agent.actor.set_network(network.valid());
        self.agent.actor.scales = learner.agent.actor.scales.clone();
        self.agent.set_statistics(learner.agent.statistics.clone());
        self.on_policy.training.network = network;
        self.on_policy.updates = learner.on_policy.updates;
    }

    fn take_rollout(&mut self, actor: &mut Self) {
        self.on_policy.take_rollout(&mut actor.on_policy);
        self.agent.recurrent = actor.agent.recurrent.clone();
    }

    fn write_both(
        actor: &Self,
        learner: &Self,
        metrics: Option<&PpoMetrics>,
        out: &mut dyn Write,
    ) -> Result<(), LearnerError> {
        HEADER.write(&metrics, out)?;
        actor.write_state(out)?;
        learner.write_state(out)
    }
}

impl Overlapped<Ppo> {
    /// Restores the learner that [`state`](Learner::state) described, like [`Ppo::from_state_with`].
    pub fn from_state_with(
        bytes: &[u8],
        config: PpoConfig,
        policy: PolicyConfig,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let (metrics, rest): (Option<PpoMetrics>, _) = HEADER.decode_first(bytes)?;
        let (actor, rest) = Ppo::from_first_state_with(rest, config.clone(), policy.clone(), device)?;
        let (learner, rest) = Ppo::from_first_state_with(rest, config, policy, device)?;
        end(rest)?;
        if actor.spec() != learner.spec() {
            return Err(bad("its two learners have different environments"));
        }
        Ok(Self::restored(actor, learner, metrics))
    }
}

impl Ppo {
    /// Restores the acting part of an [`Overlapped`] learner from its state.
    pub fn actor_from_state(bytes: &[u8], device: &Device) -> Result<Self, LearnerError> {
        let (_, rest): (Option<PpoMetrics>, _) = HEADER.decode_first(bytes)?;
        Ok(Self::from_first_state(rest, device)?.0)
    }
}
