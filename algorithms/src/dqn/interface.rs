//! The calls that all learners share.

use std::io::Write;

use burn::module::Module;
use rl_env::{Actions, Batch};

use super::learner::outputs;
use super::{Dqn, state};
use crate::action_values::{epsilon_greedy, skip_epsilon_greedy};
use crate::engine::off_policy::OffPolicy;
use crate::networks::{
    NamedWeights, NetworkDescription, NewScales, TrainedNetwork, TransferError, Transferred, transfer,
};
use crate::{Learner, LearnerError, VectorSpec};

impl Learner for Dqn {
    fn spec(&self) -> &VectorSpec {
        &self.off_policy.spec
    }

    /// Returns the greedy action or a random one for each environment. For each environment, in order, draws one random
    /// number and one more per choice.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.off_policy.check_act()?;
        self.actor.check_complete(batch, &self.off_policy.replay.own())?;
        let device = self.training.device.clone().without_autodiff();
        let (num_envs, num_choices) = (self.spec().num_envs(), self.spec().max_choices());
        // Each environment draws its own noise.
        let noise = self.training.network.draw_noise(num_envs, &mut self.off_policy.noise_rng, &device);
        let diagnose = |error| {
            let OffPolicy { spec, layout, updates, .. } = &self.off_policy;
            let rate = self.config.learning_rate;
            self.training.diagnose_acting(error, *updates, rate, (spec, *layout), batch)
        };
        let values = self.values(batch, noise.as_ref()).map_err(diagnose)?;
        let epsilon = self.epsilon();
        let mut padded = Vec::with_capacity(batch.len() * num_choices);
        self.actions.clear();
        let of_envs = self.off_policy.of_envs(&values);
        let OffPolicy { spec, action_rng, .. } = &mut self.off_policy;
        for (env, values) in of_envs.enumerate() {
            let actions = spec.joint_actions(env);
            let Some(values) = values else {
                skip_epsilon_greedy(actions, action_rng);
                continue;
            };
            let options = epsilon_greedy(actions, values, epsilon, action_rng);
            actions.write(&options, &mut self.actions);
            let end = padded.len() + num_choices;
            padded.extend(options);
            padded.resize(end, 0);
        }
        self.off_policy.replay.begin_step(batch, &padded);
        Ok(Actions::Discrete(&self.actions))
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.off_policy.check_observe()?;
        self.actor.check_complete(batch, &self.off_policy.replay.own())?;
        self.off_policy.observe(batch)
    }

    fn is_ready(&self) -> bool {
        self.off_policy.is_ready()
    }

    fn can_act(&self, _: &Batch) -> bool {
        self.off_policy.can_act()
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
        self.training.network.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        NetworkDescription::new(
            ("dqn", outputs(&self.config)),
            &self.policy,
            self.spec(),
            &self.actor.head().scales,
        )
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let network = self.training.network.clone();
        let (network, NewScales { scales, changes }, transferred) =
            transfer(network, &self.description(), source)?;
        let network = if changes.is_empty() { network } else { network.rescale_values(&changes) };
        self.actor.set_network(network.valid());
        *self.actor.scales_mut() = scales;
        self.target = network.valid();
        self.training.network = network;
        Ok(transferred)
    }
}
