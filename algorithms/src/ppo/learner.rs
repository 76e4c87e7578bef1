use std::mem;

use burn::module::Module;
use burn::tensor::Device;
use rl_env::{ActionBuffer, Batch, ObservationBuffer};

use super::device_sampling::threshold;
use super::device_targets::DeviceTargets;
use super::loss::PolicyChange;
use super::metrics::{Explained, LearnedRow, task_metrics};
use super::minibatch::{Targets, scale_by_task};
use super::policy::{Evaluation, Inputs};
use super::recurrent::{RecurrentRollout, RecurrentState};
use super::{Policy, PpoConfig, PpoMetrics};
use crate::cluster::Cluster;
use crate::engine::halt::{self, Halt};
use crate::engine::on_policy::OnPolicy;
use crate::engine::optimizer_step::{OptimizerStep, StepResult};
use crate::engine::seeds::Stream;
use crate::engine::training::{StepSize, Training};
use crate::experience::batch_reader::{BatchReader, BatchRow, rows};
use crate::experience::rollout::{Estimates, last_minibatch};
use crate::networks::observation_statistics::ObservationStatistics;
use crate::networks::value_scale::TaskReturn;
use crate::networks::{ActorCritic, PolicyConfig, layout_of};
use crate::{LearnerError, SpecError, VectorSpec};

/// Adam epsilon, as in `CleanRL` and the original implementation.
const ADAM_EPSILON: f32 = 1e-5;

/// A learner that uses Proximal Policy Optimization. [`ppo`](crate::ppo) shows the order of its methods.
pub struct Ppo {
    pub(super) config: PpoConfig,
    pub(super) policy: PolicyConfig,
    pub(super) on_policy: OnPolicy<ActorCritic>,
    /// The policy that acts: the network's weights without gradients.
    pub(super) actor: Policy,
    pub(super) recurrent: RecurrentRollout,
    /// Present if observations are normalised.
    pub(super) statistics: Option<ObservationStatistics>,
    /// The actions of the current step.
    pub(super) actions: ActionBuffer,
}

/// Metrics of one minibatch.
struct MinibatchMetrics {
    epoch: usize,
    policy_loss: f32,
    value_loss: f32,
    entropy: f32,
    change: PolicyChange,
    grad_norm: f32,
    dead_units: f32,
    /// The transitions of the minibatch, if there are several tasks.
    rows: Vec<LearnedRow>,
}

impl MinibatchMetrics {
    /// `tasks` holds the task of each row of the minibatch; `None` if the row is not a transition.
    fn of(epoch: usize, result: &StepResult, tasks: &[Option<usize>], clip_coef: f32) -> Self {
        let transitions = tasks.iter().flatten().count();
        Self {
            epoch,
            policy_loss: result.terms[0],
            value_loss: result.terms[1],
            entropy: result.terms[2],
            change: PolicyChange::of(&result.details[..transitions], clip_coef),
            grad_norm: result.grad_norm,
            dead_units: result.dead_units,
            rows: LearnedRow::split(&result.details, tasks),
        }
    }
}

/// A step of the optimiser, whose result may still be on the device.
struct Step {
    epoch: usize,
    /// The entries of the minibatch.
    entries: Vec<usize>,
    taken: OptimizerStep,
}

impl Ppo {
    /// Creates a learner with fresh weights for the environments of `spec`. All randomness comes from `seed`.
    pub fn new(
        config: PpoConfig,
        policy: PolicyConfig,
        spec: VectorSpec,
        device: &Device,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        spec.check()?;
        config.validate(spec.num_envs())?;
        policy.validate()?;
        policy.validate_minibatches(config.num_minibatches, spec.num_envs())?;
        policy.precision.validate_on(device)?;
        let layout = layout_of(&spec.observation_space)?;
        policy.validate_observations(layout)?;
        if policy.squash_actions {
            spec.check_bounded()?;
        }
        let device = device.clone().autodiff();
        let mut rng = Stream::Initialization.rng(seed);
        let network = ActorCritic::new(layout, &spec, &policy, &mut rng, &device);
        let reader = BatchReader::new(&spec, layout, device.clone().without_autodiff());
        let scales = policy.scales(spec.tasks.len());
        let actor = Policy::new(network.valid(), reader, scales, policy.lstm);
        let recurrent = RecurrentRollout::new(spec.num_envs(), policy.lstm);
        let training = Training::new(network, ADAM_EPSILON, policy.precision, device);
        let on_policy = OnPolicy::new(spec, layout, training, config.plan(), seed);
        let statistics = policy
            .normalize_observations
            .then(|| ObservationStatistics::new(on_policy.spec.tasks.len(), layout.length()));
        let mut ppo = Self {
            actions: actor.action_buffer(),
            config,
            policy,
            on_policy,
            actor,
            recurrent,
            statistics: None,
        };
        ppo.set_statistics(statistics);
        Ok(ppo)
    }

    /// Trains together with the other processes of a cluster from now on. Only the rows of this process's
    /// [own](Cluster::own_envs) environments act and are observed here; `env_ids` count the environments of all
    /// processes. Every process must be in the same state and make the same updates. During a rollout, no single
    /// process holds the complete state of the learner.
    pub fn join(&mut self, cluster: Cluster) -> Result<(), LearnerError> {
        Ok(self.on_policy.join(cluster)?)
    }

    /// Returns the hyperparameters.
    pub fn config(&self) -> &PpoConfig {
        &self.config
    }

    /// Returns the number of updates in `total_steps` steps, over which the learning rate is annealed.
    pub fn num_updates(&self) -> u64 {
        self.on_policy.num_updates()
    }

    /// Learns from the last `num_steps` steps. An error skips the remaining minibatches. On the CPU the weights may
    /// then be non-finite; on a device, where several minibatches are read together, they are those of the last
    /// successful read.
    pub fn update(&mut self) -> Result<PpoMetrics, LearnerError> {
        halt::complete(|stop| self.update_unless(stop))
    }

    /// Like [`update`](Self::update), but calls `stop` several times for each minibatch. If it returns true, the update
    /// is undone and the result is `None`: the learner is bit for bit as before the call, and the update is still due.
    pub fn update_unless(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<PpoMetrics>, LearnerError> {
        let before = self.on_policy.begin_update()?;
        self.recurrent.exchange(&self.on_policy.cluster, self.on_policy.rollout.own())?;
        let scales = self.actor.scales.clone();
        match self.try_update(stop) {
            Ok(metrics) => Ok(Some(metrics)),
            Err(Halt::Failed(error)) => Err(error),
            Err(Halt::Stopped) => {
                self.on_policy.undo_update(before);
                self.actor.scales = scales;
                Ok(None)
            }
        }
    }

    fn try_update(&mut self, stop: &dyn Fn() -> bool) -> Result<PpoMetrics, Halt> {
        let PpoConfig { gamma, gae_lambda, .. } = self.config;
        let step_size = self.on_policy.step_size();
        let reevaluation = self.config.overlap.then(|| self.reevaluate(stop)).transpose()?;
        let rollout = &self.on_policy.rollout;
        let estimates = rollout.estimates(&self.on_policy.last_values, reevaluation, gamma, gae_lambda);
        let entries = rollout.transitions();
        let transitions = entries.len();
        // Before anything changes, because an observation may be infinite.
        let statistics = self.next_statistics()?;
        let values: Vec<f32> = entries.iter().map(|&entry| estimates.values[entry]).collect();
        let returns: Vec<f32> = entries.iter().map(|&entry| estimates.returns[entry]).collect();
        let tasks: Vec<usize> = entries.iter().map(|&entry| self.on_policy.task(entry)).collect();
        let targets = self.rescale(&entries, estimates);
        let (minibatches, epochs) = self.learn_epochs(entries, &targets, step_size, stop)?;
        self.actor.set_network(self.on_policy.training.network.valid());
        self.set_statistics(statistics);
        self.on_policy.finish_update();

        let last = minibatches.last().expect("two steps of an environment contain a transition");
        let clipfracs = minibatches.iter().map(|minibatch| minibatch.change.clipfrac);
        let last_epoch = minibatches.iter().filter(|minibatch| minibatch.epoch == epochs);
        let learned: Vec<LearnedRow> = last_epoch.flat_map(|minibatch| &minibatch.rows).copied().collect();
        let explained = Explained::new(&tasks, &values, &returns);
        Ok(PpoMetrics {
            policy_loss: last.policy_loss,
            value_loss: last.value_loss,
            entropy: last.entropy,
            old_approx_kl: last.change.old_approx_kl,
            approx_kl: last.change.approx_kl,
            clipfrac: clipfracs.sum::<f32>() / minibatches.len() as f32,
            explained_variance: explained.variance(),
            learning_rate: step_size.learning_rate,
            grad_norm: last.grad_norm,
            dead_units: last.dead_units,
            epochs,
            transitions,
            tasks: task_metrics(self.on_policy.spec.tasks.len(), &learned, &explained, self.config.clip_coef),
        })
    }

    /// Evaluates a batch of this process's environments. Samples the actions too if the device draws them.
    pub(super) fn evaluate(&self, batch: &Batch, state: &RecurrentState) -> Result<Evaluation, LearnerError> {
        let thresholds =
            self.actor.samples_on_device().then(|| self.on_policy.next_numbers(batch, threshold));
        let parts = self.on_policy.by_shard(&rows(batch), |rows| match &thresholds {
            Some(thresholds) => self.actor.evaluate_and_sample(&batch.observations, rows, state, thresholds),
            None => self.actor.evaluate(&batch.observations, rows, state),
        })?;
        Ok(parts.into_iter().reduce(Evaluation::append).expect("at least one row"))
    }

    /// Returns the values of rows of this process's environments.
    fn values(
        &self,
        observations: &ObservationBuffer,
        rows: &[BatchRow],
        state: &RecurrentState,
    ) -> Result<Vec<f32>, LearnerError> {
        let values_of = |rows: &[BatchRow]| self.actor.values_of(&Inputs::new(observations, rows, state));
        Ok(self.on_policy.by_shard(rows, values_of)?.concat())
    }

    /// Returns the values of the final observations of `final_rows`, and of all observations if the batch ends the
    /// rollout.
    pub(super) fn values_after(
        &self,
        batch: &Batch,
        final_rows: &[BatchRow],
    ) -> Result<[Vec<f32>; 2], LearnerError> {
        let state = &self.recurrent.state;
        let final_values = || self.values(&batch.final_observations, final_rows, state);
        if !self.on_policy.ends_rollout(batch) {
            return Ok([final_values()?, Vec::new()]);
        }
        let (last_rows, last_state) = (rows(batch), self.recurrent.current());
        if self.on_policy.is_on_device() && self.on_policy.cluster.is_whole() {
            // Evaluates both together, to wait for the device only once.
            let mut inputs = Inputs::new(&batch.final_observations, final_rows, state);
            inputs.extend(Inputs::new(&batch.observations, &last_rows, &last_state));
            let mut values = self.actor.values_of(&inputs)?;
            let last_values = values.split_off(final_rows.len());
            return Ok([values, last_values]);
        }
        Ok([final_values()?, self.values(&batch.observations, &last_rows, &last_state)?])
    }

    /// Replaces the statistics by which observations are normalised.
    pub(super) fn set_statistics(&mut self, statistics: Option<ObservationStatistics>) {
        if let Some(statistics) = &statistics {
            self.actor.set_statistics(statistics);
        }
        self.statistics = statistics;
    }

    /// Returns the statistics with the observations of the rollout, added shard by shard. The update itself uses the
    /// statistics with which the policy acted.
    fn next_statistics(&self) -> Result<Option<ObservationStatistics>, LearnerError> {
        let Some(mut statistics) = self.statistics.clone() else { return Ok(None) };
        let OnPolicy { rollout, layout, cluster, spec, .. } = &self.on_policy;
        let observation =
            |entry: usize| (self.on_policy.task(entry), layout.values(rollout.observation(entry)));
        let shards = cluster.own_shards(spec.num_envs()).into_iter().map(|envs| {
            let entries =
                rollout.transitions().into_iter().filter(|&entry| envs.contains(&rollout.env(entry)));
            statistics.moments(entries.map(observation))
        });
        let shards = cluster.gather_values(&shards.collect::<Vec<_>>())?;
        shards.iter().flatten().for_each(|moments| statistics.add(moments));
        statistics.check(&spec.tasks)?;
        Ok(Some(statistics))
    }

    /// Returns the current policy for the environments of `spec`, without learning. These environments may differ from
    /// the learner's, but their tasks must be among its tasks.
    pub fn policy(&self, spec: &VectorSpec) -> Result<Policy, SpecError> {
        self.on_policy.spec.check_observations(spec)?;
        self.actor.for_envs(spec)
    }

    /// Updates the value scales with the returns of `entries`, which are transitions, and adapts the network. Returns
    /// the targets in the new scales, with the advantages scaled as configured.
    fn rescale(&mut self, entries: &[usize], estimates: Estimates) -> Targets {
        let OnPolicy { spec, training, rollout, .. } = &mut self.on_policy;
        let scales = &mut self.actor.scales;
        let task = |entry: usize| spec.task_ids[rollout.env(entry)];
        let Estimates { mut values, mut advantages, mut returns } = estimates;
        let all = 0..returns.len();
        // Uses the raw outputs of the network, because the first returns of a task change what they mean.
        all.clone().for_each(|entry| values[entry] = scales.squash(task(entry), values[entry]));
        let own: Vec<TaskReturn> =
            entries.iter().map(|&entry| TaskReturn::new(task(entry), returns[entry])).collect();
        let changes = scales.observe(&own);
        if !changes.is_empty() {
            training.network = training.network.clone().rescale_values(&changes);
            all.clone().for_each(|entry| values[entry] = changes[task(entry)].apply(values[entry]));
        }
        all.for_each(|entry| returns[entry] = scales.squash(task(entry), returns[entry]));
        let entries: Vec<(usize, usize)> = entries.iter().map(|&entry| (entry, task(entry))).collect();
        scale_by_task(&mut advantages, &entries, spec.tasks.len(), &self.config, scales);
        let on_device = self.on_policy.uploaded().map(|uploaded| {
            DeviceTargets::new(&self.on_policy, uploaded, (&returns, &values), self.config.norm_ent)
        });
        Targets { advantages, returns, values, on_device }
    }

    /// Learns from the given entries of the rollout in several epochs, each in a new order. Returns the
    /// metrics of every minibatch and the number of epochs.
    fn learn_epochs(
        &mut self,
        entries: Vec<usize>,
        targets: &Targets,
        step_size: StepSize,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<MinibatchMetrics>, usize), Halt> {
        let mut minibatches: Vec<MinibatchMetrics> = Vec::new();
        let mut steps = Vec::new();
        // Minibatches of a recurrent network are whole environments.
        let recurrent = self.recurrent.is_recurrent();
        let device = &self.on_policy.training.device;
        let normalizer = self.statistics.as_ref().map(|statistics| statistics.normalizer(device));
        let mut items = if recurrent { (0..self.on_policy.spec.num_envs()).collect() } else { entries };
        for epoch in 1..=self.config.update_epochs {
            for part in self.on_policy.minibatches(&mut items, self.config.num_minibatches) {
                let rows = self.rows(part);
                if !rows.iter().any(|&entry| self.on_policy.rollout.is_transition(entry)) {
                    continue;
                }
                let learned = self.learn(part, &rows, targets, normalizer.as_ref(), step_size, stop);
                let diagnose = |error| self.diagnose(error, &rows, targets, step_size);
                let step = learned.map_err(|halt| halt.map_error(diagnose))?;
                steps.push(Step { epoch, entries: rows, taken: step });
            }
            if self.config.target_kl.is_some() || epoch == self.config.update_epochs {
                minibatches.extend(self.read(mem::take(&mut steps), targets, step_size)?);
            }
            if let Err(error) = self.on_policy.training.check_weights() {
                let rows = self.rows(last_minibatch(&items, self.config.num_minibatches));
                return Err(self.diagnose(error, &rows, targets, step_size).into());
            }
            let moved = minibatches.last().map_or(0.0, |last| last.change.approx_kl);
            if self.config.target_kl.is_some_and(|target_kl| moved > target_kl) {
                return Ok((minibatches, epoch));
            }
        }
        Ok((minibatches, self.config.update_epochs))
    }

    /// Reads the metrics of steps.
    fn read(
        &mut self,
        steps: Vec<Step>,
        targets: &Targets,
        step_size: StepSize,
    ) -> Result<Vec<MinibatchMetrics>, LearnerError> {
        let (minibatches, steps): (Vec<_>, Vec<_>) =
            steps.into_iter().map(|Step { epoch, entries, taken }| ((epoch, entries), taken)).unzip();
        let results = self.on_policy.training.read(steps);
        let diagnose =
            |(index, error): (usize, _)| self.diagnose(error, &minibatches[index].1, targets, step_size);
        let results = results.map_err(diagnose)?;
        let OnPolicy { rollout, .. } = &self.on_policy;
        let task = |&entry: &usize| rollout.is_transition(entry).then(|| self.on_policy.task(entry));
        let metrics = |((epoch, entries), result): (&(usize, Vec<usize>), &StepResult)| {
            let tasks: Vec<Option<usize>> = entries.iter().map(task).collect();
            MinibatchMetrics::of(*epoch, result, &tasks, self.config.clip_coef)
        };
        Ok(minibatches.iter().zip(&results).map(metrics).collect())
    }

    /// Returns the entries of a minibatch: `part` itself, or for a recurrent network the steps of the
    /// environments in `part`, step by step.
    pub(super) fn rows(&self, part: &[usize]) -> Vec<usize> {
        if !self.recurrent.is_recurrent() {
            return part.to_vec();
        }
        let steps = self.config.num_steps;
        (0..steps).flat_map(|step| part.iter().map(move |env| env * steps + step)).collect()
    }

    /// Turns a `NonFinite` error into a report with the minibatch.
    fn diagnose(
        &self,
        error: LearnerError,
        entries: &[usize],
        targets: &Targets,
        step_size: StepSize,
    ) -> LearnerError {
        let rollout = &self.on_policy.rollout;
        let columns: [(&str, &dyn Fn(usize) -> f32); 4] = [
            ("returns", &|entry| targets.returns[entry]),
            ("advantages", &|entry| targets.advantages[entry]),
            ("values", &|entry| targets.values[entry]),
            ("log_probs", &|entry| rollout.log_prob(entry)),
        ];
        self.on_policy.diagnose(error, entries, &columns, step_size.learning_rate)
    }
}
