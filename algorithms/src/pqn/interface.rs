//! The implementation of [`Learner`] for PQN.

use std::io::Write;

use burn::module::Module;
use rl_env::{Actions, Batch};

use super::{Pqn, state};
use crate::action_values::{best_value, epsilon_greedy, skip_epsilon_greedy};
use crate::engine::on_policy::OnPolicy;
use crate::experience::batch_reader::rows;
use crate::experience::rollout::Decision;
use crate::networks::{
    NamedWeights, NetworkDescription, NewScales, TrainedNetwork, TransferError, Transferred, transfer,
};
use crate::{Learner, LearnerError, TaskActions, VectorSpec};

impl Learner for Pqn {
    fn spec(&self) -> &VectorSpec {
        &self.on_policy.spec
    }

    /// Returns the greedy action or a random one for each row. For each row, in order, draws one random number and one
    /// more per choice.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.actor.check(batch)?;
        self.on_policy.check_act(batch)?;
        let diagnose = |error| self.on_policy.diagnose_acting(error, batch);
        let (values, packed) = self.evaluate(&batch.observations, &rows(batch)).map_err(diagnose)?;
        let epsilon = self.epsilon();
        self.on_policy.store(packed, batch);
        self.actions.clear();
        let skip = |actions: &TaskActions, rng: &mut _| skip_epsilon_greedy(actions.expect_joint(), rng);
        self.on_policy.draw(skip, |OnPolicy { spec, action_rng, rollout, .. }| {
            for (row, values) in rows(batch).into_iter().zip(&values) {
                let joint = spec.joint_actions(row.env);
                let options = epsilon_greedy(joint, values, epsilon, action_rng);
                joint.write(&options, &mut self.actions);
                // The log-probability of an action is not used.
                let value = best_value(joint, values);
                rollout.begin_step(row, Decision { options: &options, value, ..Decision::default() });
            }
        });
        Ok(Actions::Discrete(&self.actions))
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.actor.check(batch)?;
        self.on_policy.check_observe(batch)?;
        let final_rows = self.on_policy.rows_with_final_values(batch);
        let [final_values, last_values] = self.values_after(batch, &final_rows)?;
        self.on_policy.end_steps(batch, &final_rows, final_values, last_values);
        Ok(())
    }

    fn can_act(&self, batch: &Batch) -> bool {
        self.on_policy.can_act(batch)
    }

    fn is_ready(&self) -> bool {
        self.on_policy.rollout.is_full()
    }

    fn is_idle(&self) -> bool {
        self.on_policy.rollout.is_empty()
    }

    fn updates(&self) -> u64 {
        self.on_policy.updates
    }

    fn is_complete(&self) -> bool {
        self.on_policy.is_complete()
    }

    fn write_state(&self, out: &mut dyn Write) -> Result<(), LearnerError> {
        state::write(self, out)
    }

    fn torch_weights(&self) -> Result<Vec<NamedWeights>, LearnerError> {
        self.on_policy.training.network.torch_weights()
    }

    fn description(&self) -> NetworkDescription {
        NetworkDescription::new(
            ("pqn", "mean returns".to_owned()),
            &self.policy,
            &self.on_policy.spec,
            &self.actor.head().scales,
        )
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let network = self.on_policy.training.network.clone();
        let (network, NewScales { scales, changes }, transferred) =
            transfer(network, &self.description(), source)?;
        let network = if changes.is_empty() { network } else { network.rescale_values(&changes) };
        self.actor.set_network(network.valid());
        *self.actor.scales_mut() = scales;
        self.on_policy.training.network = network;
        Ok(transferred)
    }
}
