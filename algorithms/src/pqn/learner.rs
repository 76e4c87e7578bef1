use std::collections::HashMap;
use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use kernels::PackedRows;
use kernels::host::floats;
use rl_env::{Batch, ObservationBuffer};

use super::{Policy, PqnConfig, PqnMetrics};
use crate::action_values::{Branches, Head, LossKind, ReturnModel, StepMetrics, loss};
use crate::cluster::Cluster;
use crate::engine::backward::Pause;
use crate::engine::gradient::{Gradient, ShardGradient};
use crate::engine::halt::{self, Halt, halt_if};
use crate::engine::on_policy::OnPolicy;
use crate::engine::optimizer_step::{OptimizerStep, StepResult};
use crate::engine::schedule::LinearSchedule;
use crate::engine::seeds::Stream;
use crate::engine::training::{StepSize, Training};
use crate::experience::batch_reader::{BatchReader, BatchRow, rows};
use crate::experience::rollout::{Estimates, last_minibatch};
use crate::networks::value_scale::TaskReturn;
use crate::networks::{PolicyConfig, QNetwork, QNetworkOptions, RowTasks, layout_of};
use crate::{Learner, LearnerError, SpecError, VectorSpec};

/// Adam epsilon: the default of Kingma and Ba 2015.
const ADAM_EPSILON: f32 = 1e-8;

/// The names of the terms of the loss.
const TERMS: [&str; 1] = ["the loss"];

/// A learner of action values without replay. [`ppo`](crate::ppo) shows the order of its methods.
///
/// ```
/// use algorithms::networks::PolicyConfig;
/// use algorithms::pqn::{Pqn, PqnConfig};
/// use algorithms::{Learner, Task, VectorSpec};
/// use burn::tensor::Device;
/// use rl_env::{AutoresetMode, Space};
///
/// # fn main() -> Result<(), algorithms::LearnerError> {
/// let spec = VectorSpec {
///     observation_space: Space::floats(4, -1.0, 1.0),
///     tasks: vec![Task::new("cart pole", 2)],
///     task_ids: vec![0; 8],
///     shared_outputs: 2,
///     autoreset_mode: AutoresetMode::NextStep,
/// };
/// let pqn = Pqn::new(PqnConfig::default(), PolicyConfig::default(), spec, &Device::flex(), 1)?;
/// assert_eq!(pqn.epsilon(), 1.0);
/// let restored = Pqn::from_state(&pqn.state()?, &Device::flex())?;
/// assert_eq!(restored.torch_weights()?, pqn.torch_weights()?);
/// # Ok(())
/// # }
/// ```
pub struct Pqn {
    pub(super) config: PqnConfig,
    pub(super) policy: PolicyConfig,
    /// The shared on-policy state. The values of its rollout are those of the greedy action.
    pub(super) on_policy: OnPolicy<QNetwork>,
    /// The policy that acts: the network's weights without gradients.
    pub(super) actor: Policy,
    /// The elements of the actions of the current step.
    pub(super) actions: Vec<i32>,
}

impl Pqn {
    /// Creates a learner with fresh weights for the environments of `spec`. All randomness comes from `seed`.
    pub fn new(
        config: PqnConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        spec.check()?;
        config.validate(spec.num_envs())?;
        policy.validate()?;
        policy.validate_action_values()?;
        spec.check_choices()?;
        policy.precision.validate_on(device)?;
        let head = Head::new(ReturnModel::Mean(LossKind::Mse), policy.scales(spec.tasks.len()));
        let layout = layout_of(&spec.observation_space)?;
        let device = device.clone().autodiff();
        let options = QNetworkOptions { num_atoms: 1, dueling: false, noisy_sigma: None, layer_norm: true };
        let mut rng = Stream::Initialization.rng(seed);
        let network = QNetwork::new(layout, &spec, &policy, options, &mut rng, &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        let actor = Policy::new(network.valid(), head, reader);
        let training = Training::new(network, ADAM_EPSILON, policy.precision, device);
        let on_policy = OnPolicy::new(spec, layout, training, config.plan(), seed);
        Ok(Self { config, policy, on_policy, actor, actions: Vec::new() })
    }

    /// Trains together with the other processes of a cluster from now on. Only the rows of this process's
    /// [own](Cluster::own_envs) environments act and are observed here; `env_ids` count the environments of all
    /// processes. Every process must be in the same state and make the same updates. During a rollout, no single
    /// process holds the complete state of the learner.
    pub fn join(&mut self, cluster: Cluster) -> Result<(), LearnerError> {
        Ok(self.on_policy.join(cluster)?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &PqnConfig {
        &self.config
    }

    /// Returns the number of updates in `total_steps` steps, over which the schedules run.
    pub fn num_updates(&self) -> u64 {
        self.on_policy.num_updates()
    }

    /// Returns the probability of a random action in the current rollout.
    pub fn epsilon(&self) -> f64 {
        let PqnConfig { start_e, end_e, exploration_fraction, num_steps, .. } = self.config;
        // The decay is counted in steps, because it may end within a rollout.
        let batch_size = (self.spec().num_envs() * num_steps) as u64;
        let total_steps = self.num_updates() * batch_size;
        let steps = (f64::from(exploration_fraction) * total_steps as f64) as u64;
        LinearSchedule { start: start_e.into(), end: end_e.into(), steps }
            .value(self.on_policy.updates * batch_size)
    }

    /// Learns from the last `num_steps` steps. An error skips the remaining minibatches. On the CPU the weights may
    /// then be non-finite; on a device, where the minibatches are read together, they are those before the update.
    pub fn update(&mut self) -> Result<PqnMetrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but calls `stop` several times for each minibatch. If it returns true, the update
    /// is undone and the result is `None`: the learner is bit for bit as before the call, and the update is still due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<PqnMetrics>, LearnerError> {
        let before = self.on_policy.begin_update()?;
        let scales = self.actor.head().scales.clone();
        match self.try_update(stop) {
            Ok(metrics) => Ok(Some(metrics)),
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Stopped) => {
                self.on_policy.undo_update(before);
                *self.actor.scales_mut() = scales;
                self.actor.set_network(self.on_policy.training.network.valid());
                Ok(None)
            }
        }
    }

    fn try_update(&mut self, stop: &dyn Fn() -> bool) -> Result<PqnMetrics, Halt> {
        let epsilon = self.epsilon();
        let step_size = self.on_policy.step_size();
        // With values of the greedy action, lambda-returns are those of the paper:
        // R_t = r_t + gamma * (lambda * R_{t+1} + (1 - lambda) * max over a of Q(s_{t+1}, a)).
        let PqnConfig { gamma, q_lambda, .. } = self.config;
        let estimates = self.on_policy.rollout.estimates(&self.on_policy.last_values, None, gamma, q_lambda);
        let mut entries = self.on_policy.rollout.transitions();
        let transitions = entries.len();
        self.rescale(&entries, &estimates);
        let (mut parts, mut steps) = (Vec::new(), Vec::new());
        for _ in 0..self.config.update_epochs {
            for part in self.on_policy.minibatches(&mut entries, self.config.num_minibatches) {
                let learned = self.learn(part, &estimates.returns, step_size, stop);
                let diagnose = |error| self.diagnose(error, part, &estimates, step_size);
                steps.push(learned.map_err(|halt| halt.map_error(diagnose))?);
                parts.push(part.to_vec());
            }
        }
        let steps = self.on_policy.training.read(steps);
        let diagnose =
            |(index, error): (usize, _)| self.diagnose(error, &parts[index], &estimates, step_size);
        let steps = steps.map_err(diagnose)?;
        let steps: Vec<StepMetrics> =
            steps.iter().zip(&parts).map(|(result, part)| self.step_metrics(result, part)).collect();
        if let Err(error) = self.on_policy.training.check_weights() {
            let part = last_minibatch(&entries, self.config.num_minibatches);
            return Err(self.diagnose(error, part, &estimates, step_size).into());
        }
        self.actor.set_network(self.on_policy.training.network.valid());
        self.on_policy.finish_update();
        let StepMetrics { td_loss, q_values, grad_norm, dead_units } = StepMetrics::mean(&steps);
        let learning_rate = step_size.learning_rate;
        Ok(PqnMetrics { td_loss, q_values, grad_norm, dead_units, learning_rate, epsilon, transitions })
    }

    /// Returns the current policy for the environments of `spec`, without learning. These environments may differ from
    /// the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.on_policy.spec.check_observations(spec)?;
        self.actor.for_envs(spec)
    }

    /// Evaluates the options for rows of this process's environments. Also returns the packed observations if they are
    /// on a device.
    pub(super) fn evaluate(
        &self,
        observations: &ObservationBuffer,
        rows: &[BatchRow],
    ) -> Result<(Vec<Vec<f32>>, Option<PackedRows>), LearnerError> {
        let parts = self.on_policy.by_shard(rows, |rows| self.actor.evaluate(observations, rows, None))?;
        let (values, packed): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let packed: Option<Vec<PackedRows>> = packed.into_iter().collect();
        Ok((values.concat(), packed.map(PackedRows::cat)))
    }

    /// Returns the values of the greedy actions in the final observations of `final_rows`, and in all observations if
    /// the batch ends the rollout.
    pub(super) fn values_after(
        &self,
        batch: &Batch,
        final_rows: &[BatchRow],
    ) -> Result<[Vec<f32>; 2], LearnerError> {
        let last_rows = if self.on_policy.ends_rollout(batch) { rows(batch) } else { Vec::new() };
        let parts = [(&batch.final_observations, final_rows), (&batch.observations, &last_rows)];
        let best_values = |parts: &[(&ObservationBuffer, &[BatchRow])]| {
            let rows = || {
                parts.iter().flat_map(|(observations, rows)| rows.iter().map(move |row| (*observations, row)))
            };
            let envs: Vec<usize> = rows().map(|(_, row)| row.env).collect();
            let observations: Vec<&[u8]> = rows().map(|(of, row)| of.row(row.row)).collect();
            if envs.is_empty() {
                Ok(Vec::new())
            } else {
                self.actor.best_values(observations.into_iter(), &envs)
            }
        };
        if self.on_policy.is_on_device() && self.on_policy.cluster.is_whole() {
            // Evaluates both together, to wait for the device only once.
            let mut values = best_values(&parts)?;
            let last_values = values.split_off(final_rows.len());
            return Ok([values, last_values]);
        }
        let [final_values, last_values] =
            parts.map(|(of, rows)| self.on_policy.by_shard(rows, |rows| best_values(&[(of, rows)])));
        Ok([final_values?.concat(), last_values?.concat()])
    }

    /// Updates the value scales with the returns of the given entries, without changing the network's
    /// predictions.
    fn rescale(&mut self, entries: &[usize], estimates: &Estimates) {
        let of_entry = |&entry: &usize| TaskReturn::new(self.on_policy.task(entry), estimates.returns[entry]);
        let returns: Vec<TaskReturn> = entries.iter().map(of_entry).collect();
        let changes = self.actor.update_scales(&returns);
        if !changes.is_empty() {
            let training = &mut self.on_policy.training;
            training.network = training.network.clone().rescale_values(&changes);
        }
    }

    /// Turns a `NonFinite` error into a report with the minibatch.
    fn diagnose(
        &self,
        error: LearnerError,
        entries: &[usize],
        estimates: &Estimates,
        step_size: StepSize,
    ) -> LearnerError {
        let rollout = &self.on_policy.rollout;
        let returns = |entry: usize| estimates.returns[entry];
        let values = |entry| rollout.value(entry);
        let columns: [(&str, &dyn Fn(usize) -> f32); 2] = [("returns", &returns), ("values", &values)];
        self.on_policy.diagnose(error, entries, &columns, step_size.learning_rate)
    }

    /// Takes one step of the optimiser on the given entries of the rollout, unless `stop` returns true. On an error
    /// nothing changes.
    fn learn(
        &mut self,
        entries: &[usize],
        returns: &[f32],
        step_size: StepSize,
        stop: &dyn Fn() -> bool,
    ) -> Result<OptimizerStep, Halt> {
        let gradient = if self.on_policy.cluster.is_whole() {
            self.gradient(entries, returns, 1.0, stop)?
        } else {
            self.sum_of_shards(entries, returns, stop)?
        };
        Ok(self.on_policy.training.apply(gradient, step_size)?)
    }

    /// Computes the gradient of a minibatch from those of its shards.
    fn sum_of_shards(
        &self,
        entries: &[usize],
        returns: &[f32],
        stop: &dyn Fn() -> bool,
    ) -> Result<Gradient, Halt> {
        let OnPolicy { rollout, spec, .. } = &self.on_policy;
        // There is one detail for each branch, and each entry has one or more branches.
        let mut first = 0;
        let branches = entries.iter().map(|&entry| {
            let count = spec.joint_actions(rollout.env(entry)).num_choices();
            first += count;
            (entry, first - count..first)
        });
        let branches: HashMap<usize, Range<usize>> = branches.collect();
        let env = |entry| rollout.env(entry);
        self.on_policy.gradient(entries, env, (&TERMS, first), |own| {
            if own.is_empty() {
                return Ok(None);
            }
            let gradient = self.gradient(own, returns, own.len() as f32 / entries.len() as f32, stop)?;
            let places = own.iter().flat_map(|entry| branches[entry].clone()).collect();
            Ok(Some(ShardGradient { gradient, places }))
        })
    }

    /// Computes the gradient of the loss of the given entries times `weight`, unless `stop` returns true.
    fn gradient(
        &self,
        entries: &[usize],
        returns: &[f32],
        weight: f32,
        stop: &dyn Fn() -> bool,
    ) -> Result<Gradient, Halt> {
        halt_if(stop)?;
        let observations = self.on_policy.observations(entries);
        let OnPolicy { spec, rollout, training, .. } = &self.on_policy;
        let device = &training.device;
        let task_ids = entries.iter().map(|&entry| spec.task_ids[rollout.env(entry)]);
        let rows = RowTasks::new(task_ids, &spec.tasks, device);
        let actions =
            entries.iter().map(|&entry| (spec.joint_actions(rollout.env(entry)), rollout.action(entry)));
        let branches = Branches::new(actions, spec.max_outputs(), device);
        let scales = &self.actor.head().scales;
        let squash = |&entry: &usize| scales.squash(spec.task_ids[rollout.env(entry)], returns[entry]);
        let returns: Vec<f32> = entries.iter().map(squash).collect();
        // All choices of an action learn the same return.
        let of_branches = |values: Vec<f32>| -> Tensor<1> { floats(values, [branches.len()], device) };
        let returns = of_branches(branches.repeat(&returns));
        let weights = of_branches(branches.weights(&vec![1.0; entries.len()]));

        let body = training.network.body(observations, &rows);
        let (body, pause) = Pause::at(body, self.on_policy.pauses());
        let values = training.network.outputs(body, &rows, None);
        let taken = branches.select(values).squeeze_dim::<1>(1);
        let loss = loss::weighted_mean((taken.clone() - returns).square(), weights).mul_scalar(weight);
        halt_if(stop)?;
        Ok(training.gradient(&loss, vec![(TERMS[0], loss.clone())], taken, pause))
    }

    /// Computes the metrics from the loss and the values of the actions taken in the given entries of the
    /// rollout.
    fn step_metrics(&self, result: &StepResult, entries: &[usize]) -> StepMetrics {
        let head = self.actor.head();
        let mut rest = &result.details[..];
        let value = |&entry: &usize| {
            let task = self.on_policy.task(entry);
            let of_choices;
            (of_choices, rest) = rest.split_at(self.on_policy.spec.tasks[task].actions.num_choices());
            let values = of_choices.iter().map(|&value| head.mean(task, &[value]));
            values.sum::<f32>() / of_choices.len() as f32
        };
        let q_values = entries.iter().map(value).sum::<f32>() / entries.len() as f32;
        let StepResult { grad_norm, dead_units, .. } = *result;
        StepMetrics { td_loss: result.terms[0], q_values, grad_norm, dead_units }
    }
}
