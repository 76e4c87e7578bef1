//! A step of the optimiser on a minibatch: the gradient of the objective, from the whole minibatch or from its shards.

use burn::tensor::Tensor;

use super::Ppo;
use super::device_targets::RowTargets;
use super::loss::{self, Terms};
use super::metrics::DetailPlaces;
use super::minibatch::{Minibatch, Targets};
use crate::engine::backward::Pause;
use crate::engine::gradient::{Gradient, ShardGradient};
use crate::engine::halt::{Halt, halt_if};
use crate::engine::on_policy::OnPolicy;
use crate::engine::optimizer_step::{Details, OptimizerStep};
use crate::engine::training::StepSize;
use crate::networks::observation_statistics::Normalizer;

/// The names of the terms of the loss.
const TERMS: [&str; 3] = ["the policy loss", "the value loss", "the entropy"];

impl Ppo {
    /// Takes one step of the optimiser on the minibatch `part` with the given rows, unless `stop` returns true. On an
    /// error nothing changes.
    pub(super) fn learn(
        &mut self,
        part: &[usize],
        rows: &[usize],
        targets: &Targets,
        normalizer: Option<&Normalizer>,
        step_size: StepSize,
        stop: &dyn Fn() -> bool,
    ) -> Result<OptimizerStep, Halt> {
        let rollout = &self.on_policy.rollout;
        let transitions: Vec<usize> =
            rows.iter().copied().filter(|&entry| rollout.is_transition(entry)).collect();
        let advantages = targets.advantages_of(&transitions, &self.config);
        let gradient = |part: &[usize], rows: &[usize], weight| {
            halt_if(stop)?;
            let sequences = self.recurrent.sequences(part, &self.on_policy.training.device);
            let minibatch = Minibatch::gather(
                &self.on_policy,
                normalizer,
                targets,
                &advantages,
                rows,
                sequences,
                &self.config,
            );
            self.gradient(minibatch, weight, stop)
        };
        let gradient = if self.on_policy.cluster.is_whole() {
            gradient(part, rows, 1.0)?
        } else {
            self.sum_of_shards(part, rows, &transitions, gradient)?
        };
        Ok(self.on_policy.training.apply(gradient, step_size)?)
    }

    /// Computes the gradient of a minibatch from those of its shards. `gradient` returns the gradient of a part of the
    /// minibatch with the given rows, times a weight.
    fn sum_of_shards(
        &self,
        part: &[usize],
        rows: &[usize],
        transitions: &[usize],
        gradient: impl Fn(&[usize], &[usize], f32) -> Result<Gradient, Halt>,
    ) -> Result<Gradient, Halt> {
        let OnPolicy { rollout, spec, .. } = &self.on_policy;
        let env = |item| if self.recurrent.is_recurrent() { item } else { rollout.env(item) };
        let places = DetailPlaces::new(rows, transitions, spec.tasks.len());
        self.on_policy.gradient(part, env, (&TERMS, places.len()), |part| {
            let rows = self.rows(part);
            let own: Vec<usize> =
                rows.iter().copied().filter(|&entry| rollout.is_transition(entry)).collect();
            if own.is_empty() {
                return Ok(None);
            }
            let gradient = gradient(part, &rows, own.len() as f32 / transitions.len() as f32)?;
            Ok(Some(ShardGradient { gradient, places: places.of(&rows, &own) }))
        })
    }

    /// Computes the gradient of a minibatch with its loss times `weight`, unless `stop` returns true.
    fn gradient(&self, minibatch: Minibatch, weight: f32, stop: &dyn Fn() -> bool) -> Result<Gradient, Halt> {
        // Check here because a minibatch of many environments takes seconds.
        halt_if(stop)?;
        let config = &self.config;
        let Minibatch { observations, rows, sequences, .. } = &minibatch;
        let OnPolicy { spec, training, .. } = &self.on_policy;
        let body = training.network.body(observations.clone(), rows);
        let (body, pause) = Pause::at(body, self.on_policy.pauses());
        let (features, _) = training.network.features(body, sequences.clone());
        // The gradient of a zero that is added to the features equals the gradient of the features.
        let probe =
            (spec.tasks.len() > 1).then(|| Tensor::zeros(features.shape(), &training.device).require_grad());
        let features = probe.iter().fold(features, |features, probe| features + probe.clone());
        let outputs = minibatch.transitions(training.network.outputs(features, rows));
        let Terms { log_probs, entropies } = minibatch.actions.terms(&outputs);
        let RowTargets { log_probs: old_log_probs, returns, values: old_values, entropy_weights } =
            minibatch.of_rows;
        let log_ratio = log_probs - old_log_probs;
        let policy_loss = loss::policy_loss(log_ratio.clone(), minibatch.advantages, config.clip_coef);
        let value_errors = if config.clip_vloss {
            loss::clipped_value_errors(outputs.values, old_values, returns, config.clip_coef)
        } else {
            loss::value_errors(outputs.values, returns)
        };
        let value_loss = loss::value_loss(value_errors.clone());
        let bonus = (entropies.clone() * entropy_weights).mean();
        let entropy = entropies.clone().mean();
        let total = policy_loss.clone() - bonus.mul_scalar(config.ent_coef)
            + value_loss.clone().mul_scalar(config.vf_coef);
        let terms = [policy_loss, value_loss, entropy].map(|term| term.mul_scalar(weight));
        let columns =
            if probe.is_some() { vec![log_ratio, entropies, value_errors] } else { vec![log_ratio] };
        let details = Details { values: Tensor::cat(columns, 0), probe };
        halt_if(stop)?;
        let terms = TERMS.into_iter().zip(terms).collect();
        Ok(training.gradient(&total.mul_scalar(weight), terms, details, pause))
    }
}
