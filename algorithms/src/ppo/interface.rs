//! The implementation of [`Learner`] for PPO.

use std::io::Write;

use burn::module::Module;
use rl_env::{Actions, Batch};

use super::row_policy::{ChosenAction, RowPolicy};
use super::{Ppo, state};
use crate::engine::on_policy::OnPolicy;
use crate::experience::batch_reader::rows;
use crate::experience::rollout::Decision;
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::{
    NamedWeights, NetworkDescription, NewScales, TrainedNetwork, TransferError, Transferred, transfer,
};
use crate::{Learner, LearnerError, VectorSpec};

impl Learner for Ppo {
    fn spec(&self) -> &VectorSpec {
        &self.on_policy.spec
    }

    /// Samples an action for each row. Draws one random number per choice or two per component, in row order.
    fn act(&mut self, batch: &Batch) -> Result<Actions<'_>, LearnerError> {
        self.actor.check(batch)?;
        self.on_policy.check_act(batch)?;
        let evaluation = self.evaluate(batch, &self.recurrent.current());
        let diagnose = |error| self.on_policy.diagnose_acting(error, batch);
        let evaluation = evaluation.map_err(diagnose)?;
        let step_of = |env| self.on_policy.rollout.steps(env);
        self.recurrent.record(&batch.env_ids, &evaluation.state, step_of);
        self.on_policy.store(evaluation.packed, batch);
        self.actions.clear();
        self.on_policy.draw(RowPolicy::skip, |OnPolicy { spec, action_rng, rollout, .. }| {
            let rows = rows(batch).into_iter().zip(&evaluation.policies).zip(evaluation.values);
            for ((row, policy), value) in rows {
                let actions = spec.actions(row.env);
                let (chosen, log_prob) = policy.sample(actions, action_rng);
                chosen.write(actions, &mut self.actions);
                let ChosenAction { options, components, .. } = &chosen;
                rollout.begin_step(row, Decision { options, components, log_prob, value });
            }
        });
        Ok(self.actions.as_actions())
    }

    fn observe(&mut self, batch: &Batch) -> Result<(), LearnerError> {
        self.actor.check(batch)?;
        self.on_policy.check_observe(batch)?;
        self.recurrent.observe(batch, self.on_policy.spec.autoreset_mode);
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
        let mut weights = self.on_policy.training.network.torch_weights()?;
        weights.extend(self.statistics.iter().flat_map(ObservationStatistics::weights));
        Ok(weights)
    }

    fn description(&self) -> NetworkDescription {
        NetworkDescription::new(
            ("ppo", "a policy and values".to_owned()),
            &self.policy,
            &self.on_policy.spec,
            &self.actor.scales,
        )
    }

    fn start_from(&mut self, source: &TrainedNetwork) -> Result<Transferred, TransferError> {
        let network = self.on_policy.training.network.clone();
        let own = self.description();
        let (network, NewScales { scales, changes }, transferred) = transfer(network, &own, source)?;
        let network = if changes.is_empty() { network } else { network.rescale_values(&changes) };
        let statistics = self.statistics.clone();
        let statistics = statistics.map(|statistics| statistics.started_from(source, &own.tasks));
        self.set_statistics(statistics.transpose()?);
        self.actor.set_network(network.valid());
        self.actor.scales = scales;
        self.on_policy.training.network = network;
        Ok(transferred)
    }
}
