//! State shared by the on-policy learners.

use std::borrow::Cow;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use kernels::{PackedRows, on_cpu};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rl_env::Batch;
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::engine::gradient::{Gradient, GradientVectors, ShardGradient};
use crate::engine::halt::Halt;
use crate::engine::rollout_plan::RolloutPlan;
use crate::engine::seeds::Stream;
use crate::engine::training::{OptimizerStepOptions, Snapshot, Training, TrainingState};
use crate::error::ensure_in_order;
use crate::experience::batch_reader::{BatchRow, check_final_observations, check_rewards, rows};
use crate::experience::device_rollout::DeviceRollout;
use crate::experience::packed_observations::PackedObservations;
use crate::experience::replay::frame_bytes;
use crate::experience::rollout::{Rollout, RowSizes, rows_with_final_values, split};
use crate::networks::{NamedWeights, ObservationLayout, RowTasks};
use crate::state_bytes::bad;
use crate::{ConfigError, LearnerError, TaskActions, VectorSpec};

/// Network, optimiser, rollout and random generators of an on-policy learner.
pub(crate) struct OnPolicy<N> {
    pub(crate) spec: VectorSpec,
    pub(crate) layout: ObservationLayout,
    pub(crate) training: Training<N>,
    pub(crate) plan: RolloutPlan,
    pub(crate) rollout: Rollout,
    /// The observations of the rollout on the device, if that is not the CPU.
    uploaded: Option<DeviceRollout>,
    /// The value of each environment's observation after its last step of the rollout.
    pub(crate) last_values: Vec<f32>,
    pub(crate) action_rng: ChaCha8Rng,
    shuffle_rng: ChaCha8Rng,
    /// The number of updates made.
    pub(crate) updates: u64,
    /// The processes that train this learner together. All fields are the same in each of them, except the observations
    /// of the rollout and, before an update, its steps.
    pub(crate) cluster: Cluster,
}

/// The fields that an update changes before it is complete, with their values before the update.
pub(crate) struct BeforeUpdate<N> {
    training: Snapshot<N>,
    shuffle_rng: ChaCha8Rng,
}

/// The state, as a checkpoint stores it.
#[derive(Serialize, Deserialize)]
pub(crate) struct OnPolicyState<'a> {
    /// The number of updates made, which is also the position in all schedules.
    updates: u64,
    training: TrainingState,
    action_rng: ChaCha8Rng,
    shuffle_rng: ChaCha8Rng,
    /// Absent between an update and the next action.
    rollout: Option<RolloutState<'a>>,
    last_values: Vec<f32>,
}

/// A rollout in progress, as a checkpoint stores it.
#[derive(Serialize, Deserialize)]
struct RolloutState<'a> {
    steps: Cow<'a, Rollout>,
    observations: PackedObservations,
}

impl<N: Module> OnPolicy<N> {
    pub(crate) fn new(
        spec: VectorSpec,
        layout: ObservationLayout,
        training: Training<N>,
        plan: RolloutPlan,
        seed: u64,
    ) -> Self {
        let on_device = !on_cpu(&training.device);
        Self {
            rollout: Rollout::new(
                spec.num_envs(),
                plan.num_steps,
                RowSizes { observation: layout.row_bytes(), mask: spec.mask_bytes() },
                spec.max_choices(),
                spec.max_components(),
            ),
            uploaded: on_device.then(|| DeviceRollout::new(spec.num_envs() * plan.num_steps)),
            last_values: vec![0.0; spec.num_envs()],
            action_rng: Stream::Actions.rng(seed),
            shuffle_rng: Stream::Minibatches.rng(seed),
            updates: 0,
            cluster: Cluster::default(),
            spec,
            layout,
            training,
            plan,
        }
    }

    /// Joins a cluster: from now on only the environments of this process act here.
    pub(crate) fn join(&mut self, cluster: Cluster) -> Result<(), ConfigError> {
        cluster.check_envs(self.spec.num_envs())?;
        self.rollout.restrict(cluster.own_envs(self.spec.num_envs()));
        self.cluster = cluster;
        self.upload_again();
        Ok(())
    }

    /// Exchanges the steps of a complete rollout with the other processes.
    fn exchange(&mut self) -> Result<(), LearnerError> {
        if self.cluster.num_processes() == 1 {
            return Ok(());
        }
        let own = (self.rollout.results(), self.last_values[self.rollout.own_envs()].to_vec());
        let (results, last_values): (Vec<_>, Vec<_>) =
            self.cluster.all_gather_values(&own)?.into_iter().unzip();
        self.rollout.set_results(results.into_iter());
        self.last_values = last_values.concat();
        Ok(())
    }

    /// Evaluates rows of a batch with `evaluate`, each shard separately: the rounding of an output may depend on the
    /// other rows.
    pub(crate) fn evaluate_by_shard<T>(
        &self,
        rows: &[BatchRow],
        evaluate: impl FnMut(&[BatchRow]) -> Result<T, LearnerError>,
    ) -> Result<Vec<T>, LearnerError> {
        self.cluster.split(rows, |row| row.env, self.spec.num_envs()).into_iter().map(evaluate).collect()
    }

    /// Draws random numbers for actions. Calls `skip` for each environment of lower ranks, `sample` for this process's
    /// environments, and `skip` for each environment of higher ranks, so that all processes draw the same numbers.
    pub(crate) fn draw(
        &mut self,
        mut skip: impl FnMut(&TaskActions, &mut ChaCha8Rng),
        sample: impl FnOnce(&mut Self),
    ) {
        let (own, num_envs) = (self.rollout.own_envs(), self.spec.num_envs());
        (0..own.start).for_each(|env| skip(self.spec.actions(env), &mut self.action_rng));
        sample(self);
        (own.end..num_envs).for_each(|env| skip(self.spec.actions(env), &mut self.action_rng));
    }

    /// Returns the next random number for the action of each row of a batch, without drawing it. Each action must draw
    /// one.
    pub(crate) fn next_numbers<T>(&self, batch: &Batch, convert: impl Fn(f64) -> T) -> Vec<T> {
        let mut rng = self.action_rng.clone();
        for _ in 0..self.rollout.own_envs().start {
            let _: f64 = rng.random();
        }
        batch.env_ids.iter().map(|_| convert(rng.random())).collect()
    }

    /// Returns the number of updates in `total_steps` steps.
    pub(crate) fn num_updates(&self) -> u64 {
        self.plan.num_updates(self.spec.num_envs())
    }

    /// Returns true once all planned updates are done.
    pub(crate) fn is_complete(&self) -> bool {
        self.updates >= self.num_updates()
    }

    /// Returns the options of the optimiser's steps in the current update.
    pub(crate) fn step_options(&self) -> OptimizerStepOptions {
        self.plan.step_options(self.updates, self.num_updates())
    }

    /// Returns the task of an entry of the rollout.
    pub(crate) fn task(&self, entry: usize) -> usize {
        self.spec.task_ids[self.rollout.env(entry)]
    }

    /// Returns the tasks of some entries of the rollout, with their action masks.
    pub(crate) fn row_tasks(&self, entries: &[usize], device: &Device) -> RowTasks {
        let tasks = entries.iter().map(|&entry| self.task(entry));
        RowTasks::new(tasks, &self.spec.tasks, device).masked(self.masks(entries))
    }

    /// Returns the action masks of some entries of the rollout, empty if there are none.
    pub(crate) fn masks<'a>(&'a self, entries: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
        entries.iter().map(|&entry| self.rollout.mask(entry))
    }

    /// Returns the number of choices of the action of an entry of the rollout.
    pub(crate) fn num_choices(&self, entry: usize) -> usize {
        self.spec.tasks[self.task(entry)].actions.num_choices()
    }

    /// Returns true if all environments of a batch can begin a step.
    pub(crate) fn can_act(&self, batch: &Batch) -> bool {
        batch.env_ids.iter().all(|&env| self.rollout.can_begin(env))
    }

    /// Fails unless a batch holds only environments of this process, and at least one.
    fn check_own(&self, batch: &Batch) -> Result<(), LearnerError> {
        let own = self.rollout.own_envs();
        if batch.is_empty() {
            return Err(LearnerError::ForeignBatch { what: "rows", got: 0, expected: own.len() });
        }
        match batch.env_ids.iter().filter(|env| !own.contains(env)).count() {
            0 => Ok(()),
            got => Err(LearnerError::ForeignBatch { what: "rows of other processes", got, expected: 0 }),
        }
    }

    /// Fails unless all environments of a batch can begin a step.
    pub(crate) fn check_act(&self, batch: &Batch) -> Result<(), LearnerError> {
        self.check_own(batch)?;
        ensure_in_order(
            self.can_act(batch),
            "act was called before the last actions were observed and learned from",
        )
    }

    /// Fails if the environments of a batch did not act, or a reward is not finite.
    pub(crate) fn check_observe(&self, batch: &Batch) -> Result<(), LearnerError> {
        let possible = batch.env_ids.iter().all(|&env| self.rollout.is_acting(env));
        ensure_in_order(possible, "observe was called without a preceding act")?;
        check_final_observations(batch, self.spec.autoreset_mode)?;
        check_rewards(batch)
    }

    /// Returns the rows of a batch whose final observation needs a value because the next observation is a different
    /// one.
    pub(crate) fn rows_with_final_values(&self, batch: &Batch) -> Vec<BatchRow> {
        rows_with_final_values(batch, self.spec.autoreset_mode)
    }

    /// Returns true if a step of a batch is the last one of its environment in the rollout.
    pub(crate) fn ends_rollout(&self, batch: &Batch) -> bool {
        batch.env_ids.iter().any(|&env| self.rollout.is_last_step(env))
    }

    /// Ends the steps of a batch. `final_values` are the values of the final observations of `rows_with_final_values`.
    /// `last_values` are the values of all observations if the batch [ends](Self::ends_rollout) the rollout.
    pub(crate) fn end_steps(
        &mut self,
        batch: &Batch,
        rows_with_final_values: &[BatchRow],
        final_values: Vec<f32>,
        last_values: Vec<f32>,
    ) {
        for (&env, value) in batch.env_ids.iter().zip(last_values) {
            self.last_values[env] = value;
        }
        let mut values = vec![None; batch.len()];
        for (row, value) in rows_with_final_values.iter().zip(final_values) {
            values[row.row] = Some(value);
        }
        for (row, final_value) in rows(batch).into_iter().zip(values) {
            self.rollout.end_step(batch, row, final_value);
        }
    }

    /// Stores the observations of a batch, before their steps [begin](Rollout::begin_step); those that are `packed`
    /// also on the device.
    pub(crate) fn store(&mut self, packed: Option<PackedRows>, batch: &Batch) {
        self.rollout.store_observations(batch);
        if let (Some(uploaded), Some(rows)) = (&mut self.uploaded, packed) {
            uploaded.push(batch.env_ids.iter().map(|&env| self.rollout.entry(env)), rows);
        }
    }

    /// Called before the first [`observations`](Self::observations) of an update. Fails if the rollout is incomplete.
    pub(crate) fn begin_update(&mut self) -> Result<BeforeUpdate<N>, LearnerError> {
        ensure_in_order(self.rollout.is_full(), "update was called before the rollout was complete")?;
        self.exchange()?;
        // Environments whose steps are limited may all have used them up.
        ensure_in_order(
            !self.rollout.transitions().is_empty(),
            "update was called after a rollout without steps",
        )?;
        self.uploaded.iter_mut().for_each(DeviceRollout::join);
        Ok(BeforeUpdate { training: self.training.snapshot(), shuffle_rng: self.shuffle_rng.clone() })
    }

    /// Undoes an update that is not complete.
    pub(crate) fn undo_update(&mut self, before: BeforeUpdate<N>) {
        self.training.roll_back(before.training);
        self.shuffle_rng = before.shuffle_rng;
    }

    /// Returns true if the network is not on the CPU.
    pub(crate) fn is_on_device(&self) -> bool {
        self.uploaded.is_some()
    }

    /// Returns the observations of the rollout that are on the device, if that is not the CPU.
    pub(crate) fn uploaded(&self) -> Option<&DeviceRollout> {
        self.uploaded.as_ref()
    }

    /// Returns uploaded observations by their [rows](DeviceRollout::rows), `[rows, length]`, on the autodiff device.
    pub(crate) fn uploaded_observations(&self, rows: Tensor<1, Int>) -> Tensor<2> {
        let rollout = self.uploaded().expect("the network is on a device");
        Tensor::from_inner(rollout.select(rows).unpack(self.layout))
    }

    /// Returns the rows of entries among the uploaded observations, `[entries]`.
    pub(crate) fn device_rows(&self, entries: &[usize]) -> Tensor<1, Int> {
        self.uploaded().expect("the network is on a device").rows(entries)
    }

    /// Returns the observations of some entries, `[entries, length]`, on the autodiff device.
    pub(crate) fn observations(&self, entries: &[usize]) -> Tensor<2> {
        if self.is_on_device() {
            return self.uploaded_observations(self.device_rows(entries));
        }
        let rows = entries.iter().map(|&entry| self.rollout.observation(entry));
        self.layout.tensor(rows, &self.training.device)
    }

    /// Shuffles `entries` and splits them into minibatches.
    pub(crate) fn minibatches<'a>(
        &mut self,
        entries: &'a mut [usize],
        count: usize,
    ) -> impl Iterator<Item = &'a [usize]> + use<'a, N> {
        entries.shuffle(&mut self.shuffle_rng);
        split(entries, count)
    }

    /// Turns a `NonFinite` error into a report with the given entries of the rollout, as far as this process holds
    /// their observations. `columns` are named, entry by entry.
    pub(crate) fn diagnose(
        &self,
        error: LearnerError,
        entries: &[usize],
        columns: &[(&str, &[f32])],
    ) -> LearnerError {
        let Self { spec, layout, rollout, training, .. } = self;
        let is_own = |entry: &usize| rollout.own_envs().contains(&rollout.env(*entry));
        let entries: Vec<usize> = entries.iter().copied().filter(is_own).collect();
        let rows: Vec<&str> = entries
            .iter()
            .map(|&entry| spec.tasks[spec.task_ids[rollout.env(entry)]].name.as_str())
            .collect();
        let observations = entries.iter().map(|&entry| rollout.observation(entry));
        let columns = columns.iter().map(|(name, values)| NamedWeights {
            name: (*name).to_owned(),
            shape: vec![entries.len()],
            values: entries.iter().map(|&entry| values[entry]).collect(),
        });
        // Discrete or continuous actions: one of the two is empty.
        let action = |&entry: &usize| {
            let options = rollout.action(entry).iter().map(|&option| option as f32);
            options.chain(rollout.components(entry).iter().copied()).collect::<Vec<f32>>()
        };
        let actions = NamedWeights {
            name: "actions".to_owned(),
            shape: vec![entries.len(), spec.max_choices() + spec.max_components()],
            values: entries.iter().flat_map(action).collect(),
        };
        let batch =
            columns.chain([actions, NamedWeights::of_rows("observations", *layout, observations)]).collect();
        training.diagnose(error, self.updates, self.step_options().learning_rate, &rows, batch)
    }

    /// Like [`diagnose`](Self::diagnose), for the observations of `batch`, which the network could not
    /// evaluate.
    pub(crate) fn diagnose_acting(&self, error: LearnerError, batch: &Batch) -> LearnerError {
        let Self { spec, layout, training, updates, .. } = self;
        let rate = self.step_options().learning_rate;
        training.diagnose_acting(error, *updates, rate, (spec, *layout), batch)
    }

    /// Computes the gradient of a minibatch of these [units](crate::engine::minibatch_rows). `env` returns the
    /// environment of a unit. `shard_gradient` returns the gradient of the units of a shard, or `None` if there is
    /// nothing to learn from. `names` are the names of the terms; `details` is the number of details in the whole
    /// minibatch.
    pub(crate) fn gradient(
        &self,
        units: &[usize],
        env: impl Fn(usize) -> usize,
        names: &[&'static str],
        details: usize,
        mut shard_gradient: impl FnMut(&[usize]) -> Result<Option<ShardGradient>, Halt>,
    ) -> Result<Gradient, Halt> {
        let Self { cluster, training, spec, .. } = self;
        let vectors = GradientVectors::new(
            &training.network,
            names,
            details,
            self.splits_backward_pass(),
            &training.device,
        );
        let shards = cluster.own_shards(spec.num_envs()).into_iter().map(|envs| {
            let units_of_shard: Vec<usize> =
                units.iter().copied().filter(|&unit| envs.contains(&env(unit))).collect();
            shard_gradient(&units_of_shard)
        });
        vectors.sum(cluster, shards)
    }

    /// Returns true if the backward pass of a minibatch is [split](crate::engine::backward).
    pub(crate) fn splits_backward_pass(&self) -> bool {
        self.cluster.splits_backward_pass(self.layout)
    }

    /// Clears the rollout for the next one.
    pub(crate) fn finish_update(&mut self) {
        self.rollout.clear();
        self.uploaded.iter_mut().for_each(DeviceRollout::clear);
        self.updates += 1;
    }

    /// Takes the complete rollout of another learner of the same environments, and leaves it an empty one.
    pub(crate) fn take_rollout(&mut self, from: &mut Self) {
        std::mem::swap(&mut self.rollout, &mut from.rollout);
        std::mem::swap(&mut self.uploaded, &mut from.uploaded);
        from.rollout.clear();
        from.uploaded.iter_mut().for_each(DeviceRollout::clear);
        self.last_values.clone_from(&from.last_values);
    }

    pub(crate) fn state(&self) -> Result<OnPolicyState<'_>, LearnerError> {
        let is_complete = self.rollout.is_empty() || self.cluster.num_processes() == 1;
        ensure_in_order(is_complete, "with several processes, the state cannot be written during a rollout")?;
        let rollout = || RolloutState {
            steps: Cow::Borrowed(&self.rollout),
            observations: self.rollout.packed_observations(frame_bytes(self.layout)),
        };
        Ok(OnPolicyState {
            updates: self.updates,
            training: self.training.state()?,
            action_rng: self.action_rng.clone(),
            shuffle_rng: self.shuffle_rng.clone(),
            rollout: (!self.rollout.is_empty()).then(rollout),
            last_values: self.last_values.clone(),
        })
    }

    /// Restores a state that [`state`](Self::state) returned.
    pub(crate) fn restore(&mut self, state: OnPolicyState<'_>) -> Result<(), LearnerError> {
        self.training.restore(state.training)?;
        if let Some(RolloutState { steps, observations }) = state.rollout {
            let mut rollout = steps.into_owned();
            if !rollout.has_shape_of(&self.rollout) {
                return Err(bad("the shape of the rollout does not match the configuration"));
            }
            rollout
                .restore_observations(&observations, frame_bytes(self.layout), self.spec.mask_bytes())
                .ok_or_else(|| bad("the observations of the rollout do not match its steps"))?;
            let is_legal = |entry: usize| match self.spec.actions(rollout.env(entry)) {
                TaskActions::Joint(actions) | TaskActions::Masked(actions) => {
                    actions.is_legal(rollout.action(entry))
                }
                TaskActions::Continuous(_) => {
                    rollout.components(entry).iter().all(|component| component.is_finite())
                }
            };
            if !rollout.begun().into_iter().all(is_legal) {
                return Err(bad("an action of the rollout is illegal"));
            }
            self.rollout = rollout;
            self.upload_again();
        }
        if state.last_values.len() != self.spec.num_envs() {
            return Err(bad("the number of last values is not the number of environments"));
        }
        self.last_values = state.last_values;
        (self.action_rng, self.shuffle_rng) = (state.action_rng, state.shuffle_rng);
        self.updates = state.updates;
        Ok(())
    }

    /// Fails if more updates have been made than there are in `total_steps`.
    pub(crate) fn check_total(&self) -> Result<(), ConfigError> {
        let made = self.updates.saturating_mul((self.spec.num_envs() * self.plan.num_steps) as u64);
        let allowed = format!("at least {made}, the number of steps already made");
        let is_possible = self.updates <= self.num_updates();
        ConfigError::unless(is_possible, "total_steps", &self.plan.total_steps, allowed)
    }

    /// Uploads the observations of a restored rollout to the device.
    fn upload_again(&mut self) {
        let Some(uploaded) = &mut self.uploaded else { return };
        let entries = self.rollout.begun();
        if entries.is_empty() {
            return;
        }
        let rows = entries.iter().map(|&entry| self.rollout.observation(entry));
        let device = self.training.device.clone().without_autodiff();
        let rows = PackedRows::new(self.layout, rows, &device);
        uploaded.clear();
        uploaded.push(entries.into_iter(), rows);
    }
}
