//! The calls that all learners share.

use std::io::Write;

use burn::module::Module;
use rl_env::{Actions, Batch};

use super::{Sac, state};
use crate::engine::off_policy::OffPolicy;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{
    NamedWeights, NetworkDescription, TrainedNetwork, TransferError, Transferred, transfer,
};
use crate::{Learner, LearnerError, VectorSpec};

impl Learner for Sac {
    fn spec(&self) -> &VectorSpec {
        &self.off_policy.spec
    }

    /// Returns an action of the policy for each environment, or a uniformly random one before learning starts. Draws
    /// random numbers for each environment, in order.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.off_policy.check_act()?;
        let own = self.off_policy.replay.own();
        self.acting.check_complete(batch, &own)?;
        let chosen = self.choose(batch).map_err(|error| {
            let OffPolicy { spec, layout, updates, .. } = &self.off_policy;
            let rate = self.config.policy_lr;
            self.actor.diagnose_acting(error, *updates, rate, (spec, *layout), batch)
        })?;
        self.actions.clear();
        let spec = &self.off_policy.spec;
        for (env, components) in own.zip(chosen.chunks_exact(spec.max_components())) {
            let actions = spec.actions(env).expect_continuous();
            actions.write_scaled(&components[..actions.num_components()], &mut self.actions);
        }
        self.off_policy.replay.begin_step(batch, &chosen);
        Ok(Actions::Continuous(&self.actions))
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.off_policy.check_observe()?;
        self.acting.check_complete(batch, &self.off_policy.replay.own())?;
        self.off_policy.observe(batch)?;
        self.observe_statistics(batch)
    }

    fn can_act(&self, _: &Batch) -> bool {
        self.off_policy.can_act()
    }

    fn is_ready(&self) -> bool {
        self.off_policy.is_ready()
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn updates(&self) -> u64 {
        self.off_policy.updates
    }

    fn is_complete(&self) -> bool {
        self.off_policy.is_complete()
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        state::write(self, true, out)
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        let mut weights = self.network().torch_weights()?;
        if self.config.autotune {
            weights.extend(self.temperature.network.weights()?);
        }
        weights.extend(self.statistics.iter().flat_map(ObservationStatistics::weights));
        Ok(weights)
    }

    fn description(&self) -> NetworkDescription {
        let scales = self.policy.scales(self.spec().tasks.len());
        let outputs = "squashed actions and their values".to_owned();
        NetworkDescription::new(("sac", outputs), &self.policy, self.spec(), &scales)
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let own = self.description();
        let (network, _, transferred) = transfer(self.network(), &own, source)?;
        let temperature = self.temperature.network.clone().started_from(source, &own.tasks)?;
        let statistics = self.statistics.clone();
        let statistics = statistics.map(|statistics| statistics.started_from(source, &own.tasks));
        self.set_statistics(statistics.transpose()?);
        self.temperature.network = temperature;
        self.target = network.critics.valid();
        (self.actor.network, self.critics.network) = (network.actor, network.critics);
        self.use_trained_network();
        Ok(transferred)
    }
}
