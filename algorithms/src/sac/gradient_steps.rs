//! The gradient steps of the critics, the policy and the temperature.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use kernels::host::to_host;

use super::kind::{CriticLoss, Evaluation, Kind};
use super::learner::SacAgent;
use super::metrics::{ActorMetrics, StepMetrics};
use super::minibatch::Minibatch;
use super::temperature::of_rows;
use crate::LearnerError;
use crate::engine::OffPolicyLearner;
use crate::engine::backward::SplitPoint;
use crate::engine::gradient::ShardGradient;
use crate::engine::off_policy::{OffPolicy, ShardRows};
use crate::engine::training::{OptimizerStepOptions, Training};
use crate::experience::replay::{ActionElement, Draw};
use crate::networks::{NamedWeights, RowTasks, standard_normal};

/// The names of the terms of the losses.
const CRITIC_TERMS: [&str; 2] = ["the loss of the first critic", "the loss of the second critic"];
const ACTOR_TERMS: [&str; 1] = ["the loss of the policy"];

/// The noise of the actions of a gradient step, each `[rows * components]`: empty for choices.
pub(super) struct StepNoise {
    /// The noise of the actions in the observations that values are bootstrapped from.
    pub(super) successors: Vec<f32>,
    /// The noise of the actions of each gradient step of the policy.
    pub(super) policy: Vec<Vec<f32>>,
}

impl<K: Kind> OffPolicyLearner<SacAgent<K>> {
    /// Draws the noise of a gradient step of `rows` rows.
    pub(super) fn draw_noise(&mut self, rows: usize) -> StepNoise {
        let OffPolicy { spec, noise_rng, updates, .. } = &mut self.off_policy;
        let count = rows * spec.max_components();
        let mut noise = || (0..count).map(|_| standard_normal(noise_rng) as f32).collect();
        // An update of the policy makes up for the steps that were skipped.
        let frequency = self.config.policy_frequency;
        let of_policy = if (*updates + 1).is_multiple_of(frequency) { frequency } else { 0 };
        StepNoise { successors: noise(), policy: (0..of_policy).map(|_| noise()).collect() }
    }

    /// Takes one gradient step on the given draws.
    pub(super) fn learn_from(
        &mut self,
        draws: &[Draw],
        noise: &StepNoise,
    ) -> Result<StepMetrics, LearnerError> {
        let device = &self.agent.critics.device;
        let shards = self.off_policy.shards_of(draws).into_iter();
        let minibatches: Vec<Minibatch<K>> = shards.map(|shard| self.gather(draws, shard, device)).collect();
        let mut metrics = self.learn_values(draws, &minibatches, &noise.successors)?;
        for noise in &noise.policy {
            metrics.actor.push(self.learn_policy(draws, &minibatches, noise)?);
        }
        Ok(metrics)
    }

    /// Collects the steps in `draws` that belong to a shard.
    pub(super) fn gather(&self, draws: &[Draw], shard: ShardRows, device: &Device) -> Minibatch<K> {
        Minibatch::gather(&self.off_policy, self.agent.statistics.as_ref(), draws, shard, device)
    }

    /// Takes a gradient step of the critics.
    fn learn_values(
        &mut self,
        draws: &[Draw],
        minibatches: &[Minibatch<K>],
        noise: &[f32],
    ) -> Result<StepMetrics, LearnerError> {
        let targets: Vec<Tensor<1>> =
            minibatches.iter().map(|minibatch| self.targets(minibatch, noise)).collect();
        let shards = minibatches.iter().map(|minibatch| &minibatch.shard);
        // The details are the mean values of both critics.
        let gradient = self.off_policy.gradient(&self.agent.critics, &CRITIC_TERMS, 2, shards, |index| {
            let Minibatch { states, taken, .. } = &minibatches[index];
            let targets = Tensor::from_inner(targets[index].clone());
            let weight = minibatches[index].draws.len() as f32 / draws.len() as f32;
            let critics = K::critic_losses(&self.agent.critics.network, states, taken, targets);
            let [first, second] =
                critics.map(|CriticLoss { loss, value }| (loss.mul_scalar(weight), value.mul_scalar(weight)));
            let (losses, means) = ([first.0, second.0], [first.1, second.1]);
            let loss = losses[0].clone() + losses[1].clone();
            let terms = CRITIC_TERMS.into_iter().zip(losses).collect();
            let gradient = self.agent.critics.gradient(
                &loss,
                terms,
                Tensor::cat(means.to_vec(), 0),
                SplitPoint::default(),
            );
            ShardGradient { gradient, offsets: vec![0, 1] }
        })?;
        let options = OptimizerStepOptions { learning_rate: self.config.q_lr, max_grad_norm: None };
        let step = self.agent.critics.apply(gradient, options);
        let result = step.and_then(|step| self.agent.critics.read_one(step));
        let result = result.map_err(|error| {
            let targets = targets.into_iter().flat_map(|targets| to_host(targets).unwrap_or_default());
            self.diagnose(&self.agent.critics, self.config.q_lr, error, minibatches, targets.collect())
        })?;
        Ok(StepMetrics {
            qf_loss: f32::midpoint(result.terms[0], result.terms[1]),
            qf_values: [result.details[0], result.details[1]],
            grad_norm: result.grad_norm,
            dead_units: result.dead_units,
            actor: Vec::new(),
        })
    }

    /// Computes the regression targets of the critics, `[rows]`, without gradients: the reward plus the discounted
    /// value of the policy with its entropy. `noise` is the noise of all minibatches.
    pub(super) fn targets(&self, minibatch: &Minibatch<K>, noise: &[f32]) -> Tensor<1> {
        let Minibatch { successors, rewards, discounts, .. } = minibatch;
        let actor = self.agent.actor.network.valid();
        let (noise, tasks) = (self.noise_of(minibatch, noise), &self.off_policy.spec.tasks);
        let Evaluation { log_probs, values } =
            K::evaluate(&actor, &self.agent.target, successors, &noise, tasks);
        let values = values - of_rows(self.alphas(), &successors.rows) * log_probs;
        rewards.clone() + discounts.clone() * values
    }

    /// Takes a gradient step of the policy, and one of the temperature with the log-densities of the same actions.
    pub(super) fn learn_policy(
        &mut self,
        draws: &[Draw],
        minibatches: &[Minibatch<K>],
        noise: &[f32],
    ) -> Result<ActorMetrics, LearnerError> {
        // Only the policy learns: gradients of the critics' weights are not computed.
        let critics = self.agent.critics.network.clone().no_grad();
        let shards = minibatches.iter().map(|minibatch| &minibatch.shard);
        // The details are the log-densities.
        let gradient =
            self.off_policy.gradient(&self.agent.actor, &ACTOR_TERMS, draws.len(), shards, |index| {
                let Minibatch { states, shard, .. } = &minibatches[index];
                let (actor, tasks) = (&self.agent.actor.network, &self.off_policy.spec.tasks);
                let noise = self.noise_of(&minibatches[index], noise);
                let Evaluation { log_probs, values } = K::evaluate(actor, &critics, states, &noise, tasks);
                let alphas = of_rows(Tensor::from_inner(self.alphas()), &states.rows);
                let loss = (alphas * log_probs.clone() - values).mean();
                let loss = loss.mul_scalar(minibatches[index].draws.len() as f32 / draws.len() as f32);
                let terms = vec![(ACTOR_TERMS[0], loss.clone())];
                let gradient = self.agent.actor.gradient(&loss, terms, log_probs, SplitPoint::default());
                ShardGradient { gradient, offsets: shard.rows.clone() }
            })?;
        let options = OptimizerStepOptions { learning_rate: self.config.policy_lr, max_grad_norm: None };
        let step = self.agent.actor.apply(gradient, options);
        let result = step.and_then(|step| self.agent.actor.read_one(step));
        let result = result.map_err(|error| {
            self.diagnose(&self.agent.actor, self.config.policy_lr, error, minibatches, Vec::new())
        })?;
        let log_probs = result.details;
        let entropy = -log_probs.iter().sum::<f32>() / log_probs.len() as f32;
        let alpha_loss =
            if self.config.autotune { Some(self.tune(draws, minibatches, &log_probs)?) } else { None };
        Ok(ActorMetrics { actor_loss: result.terms[0], entropy, alpha_loss })
    }

    /// Takes a gradient step of the temperature, given the log-density of each row's action. Returns the loss. Every
    /// process of a cluster computes it from all rows.
    fn tune(
        &mut self,
        draws: &[Draw],
        minibatches: &[Minibatch<K>],
        log_probs: &[f32],
    ) -> Result<f32, LearnerError> {
        let device = &self.agent.temperature.device;
        let tasks: Vec<usize> = draws.iter().map(|draw| self.off_policy.task(draw)).collect();
        let excess = log_probs.iter().zip(&tasks);
        let excess: Vec<f32> = excess.map(|(log_prob, &task)| log_prob + self.target_entropy(task)).collect();
        let shape = [excess.len()];
        let excess = Tensor::from_data(TensorData::new(excess, shape), device);
        let rows = RowTasks::new(tasks.into_iter(), &self.off_policy.spec.tasks, device);
        let loss = self.agent.temperature.network.loss(excess, &rows);
        let options = OptimizerStepOptions { learning_rate: self.config.q_lr, max_grad_norm: None };
        let terms = vec![("the loss of the temperature", loss.clone())];
        let step = self.agent.temperature.step(&loss, terms, loss.clone(), options);
        let result = step.and_then(|step| self.agent.temperature.read_one(step));
        let result = result.map_err(|error| {
            self.diagnose(&self.agent.temperature, self.config.q_lr, error, minibatches, Vec::new())
        })?;
        Ok(result.terms[0])
    }

    /// Returns the target of the entropy of a task's policy.
    fn target_entropy(&self, task: usize) -> f32 {
        K::target_entropy(&self.off_policy.spec.tasks[task].actions) * self.config.target_entropy_scale
    }

    /// Selects the noise of a minibatch's rows from that of all minibatches, `[rows * components]`.
    fn noise_of(&self, minibatch: &Minibatch<K>, noise: &[f32]) -> Vec<f32> {
        let width = self.off_policy.spec.max_components();
        let rows = minibatch.shard.rows.iter();
        rows.flat_map(|row| &noise[row * width..(row + 1) * width]).copied().collect()
    }

    /// Turns a `NonFinite` error of a network's step into a report with this process's part of the minibatch. `targets`
    /// is empty if the step had none.
    fn diagnose<N: Module>(
        &self,
        training: &Training<N>,
        learning_rate: f64,
        error: LearnerError,
        minibatches: &[Minibatch<K>],
        targets: Vec<f32>,
    ) -> LearnerError {
        let OffPolicy { replay, layout, spec, updates, .. } = &self.off_policy;
        let draws: Vec<Draw> = minibatches.iter().flat_map(|minibatch| &minibatch.draws).copied().collect();
        let rows: Vec<&str> =
            draws.iter().map(|draw| spec.tasks[self.off_policy.task(draw)].name.as_str()).collect();
        let columns = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![draws.len(), values.len() / draws.len().max(1)],
            values,
        };
        let actions = draws.iter().flat_map(|draw| replay.action(draw));
        let returns = || draws.iter().map(|draw| replay.n_step_return(draw));
        let observations = |name: &str, bytes: &[u8]| {
            NamedWeights::of_rows(name, *layout, bytes.chunks_exact(layout.row_bytes()))
        };
        let mut batch = vec![
            columns("rewards", returns().map(|of| of.rewards).collect()),
            columns("discounts", returns().map(|of| of.discount).collect()),
            columns("actions", actions.map(ActionElement::to_f32).collect()),
            observations("observations", &replay.observations(&draws)),
            observations("successors", &replay.successors(&draws)),
        ];
        if !targets.is_empty() {
            batch.insert(2, columns("targets", targets));
        }
        training.diagnose(error, *updates, learning_rate, &rows, batch)
    }
}
