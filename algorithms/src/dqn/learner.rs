use burn::tensor::{Tensor, TensorData};
use rl_env::Batch;

use super::augmentation::Distortion;
use super::minibatch::{Minibatch, StepNoise, branches};
use super::{Augmentation, DqnConfig, Policy};
use crate::LearnerError;
use crate::action_values::{StepMetrics, loss};
use crate::engine::OffPolicyLearner;
use crate::engine::backward::SplitPoint;
use crate::engine::gradient::{Gradient, ShardGradient};
use crate::engine::off_policy::OffPolicy;
use crate::engine::optimizer_step::StepResult;
use crate::engine::schedule::LinearSchedule;
use crate::engine::training::{OptimizerStepOptions, Training};
use crate::experience::batch_reader::Observed;
use crate::experience::replay::Draw;
use crate::networks::{NamedWeights, Noise, QNetwork};

/// The names of the terms of the loss.
const TERMS: [&str; 1] = ["the loss"];

/// A learner of action values with a replay buffer. [`dqn`](crate::dqn) shows the order of its methods.
pub type Dqn = OffPolicyLearner<DqnAgent>;

/// The networks of DQN.
#[derive(Clone)]
pub struct DqnAgent {
    pub(super) training: Training<QNetwork>,
    /// The policy that acts: the network's weights without gradients.
    pub(super) actor: Policy,
    /// The target network, without gradients.
    pub(super) target: QNetwork,
}

impl Dqn {
    /// Returns the current probability of a random action.
    pub fn epsilon(&self) -> f64 {
        let DqnConfig { start_e, end_e, exploration_fraction, total_steps, .. } = self.config;
        let steps = (f64::from(exploration_fraction) * total_steps as f64) as u64;
        LinearSchedule { start: start_e.into(), end: end_e.into(), steps }.value(self.off_policy.steps)
    }

    /// Returns the current exponent of the importance weights, which correct the bias of prioritised
    /// sampling.
    pub(super) fn per_beta(&self) -> f32 {
        let start = f64::from(self.config.per_beta);
        LinearSchedule { start, end: 1.0, steps: self.config.total_steps }.value(self.off_policy.steps) as f32
    }

    /// Draws the noise of a gradient step.
    pub(super) fn draw_noise(&mut self) -> StepNoise {
        let Self { agent, config, off_policy: OffPolicy { noise_rng, .. }, .. } = self;
        let DqnAgent { training, target, .. } = agent;
        let plain = training.device.clone().without_autodiff();
        let images = if config.augmentation == Augmentation::Drq { config.batch_size } else { 0 };
        let mut distortions = || (0..images).map(|_| Distortion::draw(noise_rng)).collect();
        let (observations, successors) = (distortions(), distortions());
        StepNoise {
            target: target.draw_noise(1, noise_rng, &plain),
            selection: if config.double { training.network.draw_noise(1, noise_rng, &plain) } else { None },
            online: training.network.draw_noise(1, noise_rng, &training.device),
            observations,
            successors,
        }
    }

    /// Takes one gradient step on the given draws.
    pub(super) fn learn_from(
        &mut self,
        draws: &[Draw],
        noise: &StepNoise,
    ) -> Result<StepMetrics, LearnerError> {
        let device = self.agent.training.device.clone();
        let shards = self.off_policy.shards_of(draws).into_iter();
        let minibatches: Vec<Minibatch> =
            shards.map(|shard| Minibatch::gather(&self.off_policy, draws, shard, noise, &device)).collect();
        let targets = self.targets(&minibatches, noise)?;
        let branches = branches(&self.off_policy, draws, &device);
        let atoms = self.agent.actor.head().num_atoms();
        // The losses of all branches, then the outputs of all branches.
        let details = branches.len() * (1 + atoms);
        let shards = minibatches.iter().map(|minibatch| &minibatch.shard);
        let gradient = self.off_policy.gradient(&self.agent.training, &TERMS, details, shards, |index| {
            let minibatch = &minibatches[index];
            let weight = minibatch.draws.len() as f32 / draws.len() as f32;
            let gradient = self.gradient(minibatch, &targets[index], noise.online.as_ref(), weight);
            let own = branches.of_rows(&minibatch.shard.rows);
            let outputs = own.iter().flat_map(|branch| (0..atoms).map(move |atom| branch * atoms + atom));
            let offsets = own.iter().copied().chain(outputs.map(|output| branches.len() + output));
            ShardGradient { gradient, offsets: offsets.collect() }
        })?;
        let options = OptimizerStepOptions {
            learning_rate: self.config.learning_rate,
            max_grad_norm: self.config.max_grad_norm,
        };
        let step = self.agent.training.apply(gradient, options);
        let result = step.and_then(|step| self.agent.training.read_one(step));
        let result = result.map_err(|error| self.diagnose(error, &minibatches, &targets))?;
        let head = self.agent.actor.head();
        let (losses, predicted) = result.details.split_at(branches.len());
        let tasks: Vec<usize> = draws.iter().map(|draw| self.off_policy.task(draw)).collect();
        let outputs = predicted.chunks_exact(atoms).zip(branches.repeat(&tasks));
        let values: Vec<f32> = outputs.map(|(atoms, task)| head.mean(task, atoms)).collect();
        let q_values = branches.means(&values).iter().sum::<f32>() / draws.len() as f32;
        // The priority of a step comes from the sum over its branches (Tavakoli et al. 2018).
        self.off_policy.replay.set_errors(draws, &branches.sums(&head.errors(losses)));
        let StepResult { grad_norm, dead_units, .. } = result;
        Ok(StepMetrics { td_loss: result.terms[0], q_values, grad_norm, dead_units })
    }

    /// Computes the gradient of the loss of a minibatch times `weight`.
    fn gradient(
        &self,
        minibatch: &Minibatch,
        targets: &[f32],
        noise: Option<&Noise>,
        weight: f32,
    ) -> Gradient {
        let (head, branches) = (self.agent.actor.head(), &minibatch.branches);
        let (network, rows) = (&self.agent.training.network, &minibatch.rows);
        let mut split = SplitPoint::new(self.off_policy.splits_backward_pass());
        let body = split.pass(network.body(minibatch.observations.clone(), rows));
        let outputs = network.outputs(body, rows, noise);
        let predicted = branches.select(outputs);
        let losses = head.losses(predicted.clone(), self.tensor(branches.repeat(targets)));
        let loss = loss::weighted_mean(losses.clone(), minibatch.weights.clone()).mul_scalar(weight);
        let predicted = predicted.reshape([branches.len() * head.num_atoms()]);
        let details = Tensor::cat(vec![losses, predicted], 0);
        self.agent.training.gradient(&loss, vec![(TERMS[0], loss.clone())], details, split)
    }

    /// Turns a `NonFinite` error into a report with this process's part of the minibatch.
    fn diagnose(&self, error: LearnerError, minibatches: &[Minibatch], targets: &[Vec<f32>]) -> LearnerError {
        let OffPolicy { replay, layout, spec, updates, .. } = &self.off_policy;
        let draws: Vec<Draw> = minibatches.iter().flat_map(|minibatch| &minibatch.draws).copied().collect();
        let rows: Vec<&str> =
            draws.iter().map(|draw| spec.tasks[self.off_policy.task(draw)].name.as_str()).collect();
        let column = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![values.len()],
            values,
        };
        let columns = |name: &str, values: Vec<f32>| NamedWeights {
            name: name.to_owned(),
            shape: vec![draws.len(), values.len() / draws.len().max(1)],
            values,
        };
        let actions = draws.iter().flat_map(|draw| replay.action(draw));
        let returns = || minibatches.iter().flat_map(|minibatch| &minibatch.returns);
        let observations = |name: &str, bytes: &[u8]| {
            NamedWeights::of_rows(name, *layout, bytes.chunks_exact(layout.row_bytes()))
        };
        let batch = vec![
            column("rewards", returns().map(|n_step| n_step.rewards).collect()),
            column("discounts", returns().map(|n_step| n_step.discount).collect()),
            column("weights", draws.iter().map(|draw| draw.weight).collect()),
            columns("targets", targets.concat()),
            columns("actions", actions.map(|option| option as f32).collect()),
            observations("observations", &replay.observations(&draws)),
            observations("successors", &replay.successors(&draws)),
        ];
        self.agent.training.diagnose(error, *updates, self.config.learning_rate, &rows, batch)
    }

    /// Returns the outputs of options, which are stored one after another, as `[options, num_atoms]`.
    fn tensor(&self, outputs: Vec<f32>) -> Tensor<2> {
        let atoms = self.agent.actor.head().num_atoms();
        let shape = [outputs.len() / atoms, atoms];
        Tensor::from_data(TensorData::new(outputs, shape), &self.agent.training.device)
    }

    /// Returns the values of the options of this process's environments, given the noise of all environments.
    pub(super) fn values(&self, batch: &Batch, noise: Option<&Noise>) -> Result<Vec<Vec<f32>>, LearnerError> {
        self.off_policy.evaluate_by_shard(batch, |rows| {
            let noise = noise.map(|noise| noise.of_rows(&(rows[0].env..rows[rows.len() - 1].env + 1)));
            Ok(self.agent.actor.evaluate(Observed::of(batch), rows, noise.as_ref())?.0)
        })
    }
}
