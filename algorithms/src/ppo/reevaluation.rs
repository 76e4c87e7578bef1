use burn::module::Module;
use burn::tensor::Tensor;
use kernels::host::to_host;

use super::Ppo;
use super::row_actions::RowActions;
use crate::LearnerError;
use crate::engine::halt::{Halt, halt_if};
use crate::engine::on_policy::OnPolicy;
use crate::experience::rollout::{Reevaluation, split};

impl Ppo {
    /// Evaluates a complete rollout, which another network collected, with the network in training. Waits for the
    /// device once.
    pub(super) fn reevaluate(&self, stop: &dyn Fn() -> bool) -> Result<Reevaluation, Halt> {
        let OnPolicy { spec, training, rollout, .. } = &self.on_policy;
        let device = training.device.clone().without_autodiff();
        let network = training.network.valid();
        let normalizer = self.agent.statistics.as_ref().map(|statistics| statistics.normalizer(&device));
        let num_entries = spec.num_envs() * self.config.num_steps;
        let num_units = if self.agent.recurrent.is_recurrent() { spec.num_envs() } else { num_entries };
        let units: Vec<usize> = (0..num_units).collect();
        let (mut entries, mut values, mut log_probs) = (Vec::new(), Vec::new(), Vec::new());
        for part in split(&units, self.config.num_minibatches) {
            halt_if(stop)?;
            let rows = self.rows_of(part).entries;
            let task = |entry| self.on_policy.task(entry);
            let row_tasks = self.on_policy.row_tasks(&rows, &device);
            let observations = self.on_policy.observations(&rows).inner();
            let observations = match &normalizer {
                Some(normalizer) => normalizer.apply(observations, &row_tasks),
                None => observations,
            };
            let sequences = self.agent.recurrent.sequences(part, &device);
            let (outputs, _) = network.forward(observations, &row_tasks, sequences);
            // The log-probabilities of rows that only reset an environment are meaningless and never used.
            let actions = RowActions::new(&rows, task, rollout, &spec.tasks, &device);
            log_probs.push(actions.terms(&outputs).log_probs);
            values.push(outputs.values);
            entries.extend(rows);
        }
        let all = to_host(Tensor::cat(values.into_iter().chain(log_probs).collect(), 0))
            .map_err(LearnerError::from)?;
        let (values, log_probs) = all.split_at(num_entries);
        let mut reevaluation =
            Reevaluation { values: vec![0.0; num_entries], log_probs: vec![0.0; num_entries] };
        for ((&entry, &value), &log_prob) in entries.iter().zip(values).zip(log_probs) {
            reevaluation.values[entry] = self.agent.actor.scales.expand(self.on_policy.task(entry), value);
            reevaluation.log_probs[entry] = log_prob;
        }
        Ok(reevaluation)
    }
}
