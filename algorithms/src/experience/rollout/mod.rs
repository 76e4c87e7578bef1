//! The last steps of every environment.

use std::ops::Range;

use rayon::prelude::*;
use rl_env::{AutoresetMode, Batch};
use serde::{Deserialize, Serialize};

use crate::experience::batch_reader::{BatchRow, Observed, rows};
use crate::experience::packed_observations::PackedObservations;
use crate::tasks::ChosenAction;

mod estimates;
mod minibatches;
mod results;

pub(crate) use estimates::{Estimates, Reevaluation};
pub(crate) use minibatches::{last_minibatch, split};
pub(crate) use results::Results;
use results::Widths;

/// The last steps of every environment, from which an on-policy learner learns.
///
/// Entries are stored environment by environment, so that the steps of one are a slice: step `t` of
/// environment `e` is entry `e * num_steps + t`.
///
/// A step is written in three parts: [`store_observations`](Self::store_observations) stores the observation,
/// [`begin_step`](Self::begin_step) the action, and [`end_step`](Self::end_step) the result. Environments may be at
/// different steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    num_envs: usize,
    num_steps: usize,
    /// The bytes of an observation and its action mask.
    row_bytes: usize,
    /// The maximum number of choices of an action in an entry.
    num_choices: usize,
    /// The maximum number of components of a continuous action in an entry.
    num_components: usize,
    /// The number of complete steps of each environment.
    steps: Vec<usize>,
    /// For each environment, true if a step has begun but not ended.
    acting: Vec<bool>,
    /// The environments whose steps are written here; the results of others are [set](Self::set_results).
    #[serde(skip)]
    own: Range<usize>,
    /// The bytes of an action mask.
    #[serde(skip)]
    mask_bytes: usize,
    /// The observations of this process's environments, each followed by its action mask. They are not serialised with
    /// the rollout, because the state contains them [packed](Self::packed_observations).
    #[serde(skip)]
    observations: Vec<u8>,
    results: Results,
}

/// The action of a step, with its log-probability and the value estimate.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    pub(crate) action: ChosenAction,
    /// The log-probability of the action, if the algorithm needs it.
    pub(crate) log_prob: f32,
    /// The value of the observation.
    pub(crate) value: f32,
}

/// The bytes of an observation, and of the action mask that follows it in a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSizes {
    pub(crate) observation: usize,
    /// 0 if the environments have no masks.
    pub(crate) mask: usize,
}

impl Rollout {
    /// Creates an empty rollout for rows of these sizes and actions of up to `num_choices` choices or `num_components`
    /// components.
    pub(crate) fn new(
        num_envs: usize,
        num_steps: usize,
        sizes: RowSizes,
        num_choices: usize,
        num_components: usize,
    ) -> Self {
        let entries = num_envs * num_steps;
        let row_bytes = sizes.observation + sizes.mask;
        Self {
            num_envs,
            num_steps,
            row_bytes,
            num_choices,
            num_components,
            steps: vec![0; num_envs],
            acting: vec![false; num_envs],
            own: 0..num_envs,
            mask_bytes: sizes.mask,
            observations: vec![0; entries * row_bytes],
            results: Results::new(
                entries,
                Widths { single: 1, choices: num_choices, components: num_components },
            ),
        }
    }

    /// Returns true if all of this process's environments have completed their steps.
    pub(crate) fn is_full(&self) -> bool {
        self.steps[self.own.clone()].iter().all(|&steps| steps == self.num_steps)
    }

    /// Returns the number of complete steps of an environment.
    pub(crate) fn steps(&self, env: usize) -> usize {
        self.steps[env]
    }

    /// Returns true if no step has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.iter().all(|&steps| steps == 0) && !self.acting.contains(&true)
    }

    pub(crate) fn is_acting(&self, env: usize) -> bool {
        self.acting[env]
    }

    /// Returns true if the next step of an environment can begin.
    pub(crate) fn can_begin(&self, env: usize) -> bool {
        !self.acting[env] && self.steps[env] < self.num_steps
    }

    /// Returns true if the step that an environment has begun is its last one.
    pub(crate) fn is_last_step(&self, env: usize) -> bool {
        self.steps[env] + 1 == self.num_steps
    }

    /// Restricts the rollout to the environments `own`; other processes handle the others.
    pub(crate) fn restrict(&mut self, own: Range<usize>) {
        let bytes = self.num_steps * self.row_bytes;
        self.observations = self.observations[own.start * bytes..own.end * bytes].to_vec();
        for env in (0..self.num_envs).filter(|env| !own.contains(env)) {
            (self.steps[env], self.acting[env]) = (0, false);
        }
        self.own = own;
    }

    /// Returns the environments whose steps are written here.
    pub(crate) fn own_envs(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Returns the steps of this process's environments, without observations.
    pub(crate) fn results(&self) -> Results {
        let entries = self.own.start * self.num_steps..self.own.end * self.num_steps;
        self.results.of(entries, self.widths())
    }

    fn widths(&self) -> Widths {
        Widths { single: 1, choices: self.num_choices, components: self.num_components }
    }

    /// Sets the steps of all environments. `parts` are the results of consecutive environments.
    pub(crate) fn set_results(&mut self, parts: impl Iterator<Item = Results>) {
        self.results = Results::join(parts);
    }

    /// Removes all steps. Nothing of them remains, so that equal learners have equal states.
    pub(crate) fn clear(&mut self) {
        self.steps.fill(0);
        self.acting.fill(false);
        self.results = Results::new(self.num_envs * self.num_steps, self.widths());
    }

    /// Returns true if `other` has the same numbers of environments and steps and the same size of observations, and
    /// all slices have the right lengths. Returns false for a damaged rollout.
    pub(crate) fn has_shape_of(&self, other: &Self) -> bool {
        let shape = |rollout: &Self| {
            let Self { num_envs, num_steps, row_bytes, num_choices, num_components, .. } = *rollout;
            let sizes = [num_envs, num_steps, row_bytes, num_choices, num_components];
            (sizes, rollout.steps.len(), rollout.acting.len(), rollout.results.lengths())
        };
        let ends = self.steps.iter().zip(&self.acting).map(|(&steps, &acting)| steps + usize::from(acting));
        shape(self) == shape(other) && ends.max().is_none_or(|end| end <= self.num_steps)
    }

    /// Stores the observations of a batch for the steps that begin next.
    pub(crate) fn store_observations(&mut self, batch: &Batch) {
        let Self { num_steps, row_bytes, mask_bytes, ref own, ref steps, ref mut observations, .. } = *self;
        let observed = Observed::of(batch);
        let mut rows_of_envs = vec![None; own.len()];
        for BatchRow { row, env } in rows(batch) {
            rows_of_envs[env - own.start] = Some(row);
        }
        if row_bytes == 0 {
            return;
        }
        let envs = observations.par_chunks_exact_mut(num_steps * row_bytes).zip(&steps[own.clone()]);
        envs.zip(rows_of_envs).for_each(|((observations, step), row)| {
            if let Some(row) = row {
                let stored = &mut observations[step * row_bytes..][..row_bytes];
                let (observation, mask) = stored.split_at_mut(row_bytes - mask_bytes);
                observation.copy_from_slice(observed.observation(row));
                // The masks of environments with fewer options may be shorter.
                let (allowed, padding) = mask.split_at_mut(observed.mask(row).len());
                allowed.copy_from_slice(observed.mask(row));
                padding.fill(0);
            }
        });
    }

    /// Stores the action of a row of a batch.
    pub(crate) fn begin_step(&mut self, row: BatchRow, decision: &Decision) {
        let entry = self.entry(row.env);
        let (options, padding) = self.results.actions[entry * self.num_choices..][..self.num_choices]
            .split_at_mut(decision.action.options.len());
        options.copy_from_slice(&decision.action.options);
        padding.fill(0);
        let width = self.num_components;
        let (components, padding) =
            self.results.components[entry * width..][..width].split_at_mut(decision.action.components.len());
        components.copy_from_slice(&decision.action.components);
        padding.fill(0.0);
        self.results.log_probs[entry] = decision.log_prob;
        self.results.values[entry] = decision.value;
        self.acting[row.env] = true;
    }

    /// Stores the result of the step that the environment of a row had begun. `final_value` is the value of
    /// its final observation, if that differs from the observation of the next step.
    pub(crate) fn end_step(
        &mut self,
        batch: &Batch,
        BatchRow { row, env }: BatchRow,
        final_value: Option<f32>,
    ) {
        let entry = self.entry(env);
        self.results.rewards[entry] = batch.rewards[row];
        self.results.terminated[entry] = batch.terminated[row];
        self.results.truncated[entry] = batch.truncated[row];
        self.results.autoreset[entry] = batch.autoreset[row];
        self.results.final_values[entry] = final_value;
        self.acting[env] = false;
        self.steps[env] += 1;
    }

    /// Returns the entries of all steps that have begun.
    pub(crate) fn begun(&self) -> Vec<usize> {
        let steps = |env: usize| self.steps[env] + usize::from(self.acting[env]);
        let entries = |env| (0..steps(env)).map(move |step| env * self.num_steps + step);
        (0..self.num_envs).flat_map(entries).collect()
    }

    /// Returns the observations of all steps that have begun, with their action masks. Observations are stacks of
    /// frames of `frame_bytes` bytes.
    pub(crate) fn packed_observations(&self, frame_bytes: usize) -> PackedObservations {
        let rows = self.begun().into_iter().map(|entry| self.row(entry));
        PackedObservations::new(rows, self.packed_frame_bytes(frame_bytes))
    }

    /// Returns the number of bytes of the frames that successive rows may share. Rows with masks share nothing.
    fn packed_frame_bytes(&self, frame_bytes: usize) -> usize {
        if self.mask_bytes > 0 { self.row_bytes } else { frame_bytes }
    }

    /// Restores the observations of a rollout that was deserialised, with masks of `mask_bytes` bytes. Returns `None`
    /// if they do not fit its steps.
    pub(crate) fn restore_observations(
        &mut self,
        packed: &PackedObservations,
        frame_bytes: usize,
        mask_bytes: usize,
    ) -> Option<()> {
        self.mask_bytes = mask_bytes;
        let entries = self.begun();
        let rows = packed.unpack(entries.len(), self.row_bytes, self.packed_frame_bytes(frame_bytes))?;
        self.own = 0..self.num_envs;
        self.observations = vec![0; self.num_envs * self.num_steps * self.row_bytes];
        for (entry, row) in entries.into_iter().zip(rows.chunks_exact(self.row_bytes)) {
            self.observations[entry * self.row_bytes..][..self.row_bytes].copy_from_slice(row);
        }
        Some(())
    }

    /// Returns the entries that are transitions: all but the steps that only reset their environment.
    pub(crate) fn transitions(&self) -> Vec<usize> {
        (0..self.results.autoreset.len()).filter(|&entry| !self.results.autoreset[entry]).collect()
    }

    /// Returns true unless the entry only reset its environment.
    pub(crate) fn is_transition(&self, entry: usize) -> bool {
        !self.results.autoreset[entry]
    }

    /// Returns the environment of an entry.
    pub(crate) fn env(&self, entry: usize) -> usize {
        entry / self.num_steps
    }

    /// Returns the observation of an entry of one of this process's environments.
    pub(crate) fn observation(&self, entry: usize) -> &[u8] {
        &self.row(entry)[..self.row_bytes - self.mask_bytes]
    }

    /// Returns the action mask of the observation of an entry, empty if there are no masks.
    pub(crate) fn mask(&self, entry: usize) -> &[u8] {
        &self.row(entry)[self.row_bytes - self.mask_bytes..]
    }

    /// Returns the observation of an entry and its action mask.
    fn row(&self, entry: usize) -> &[u8] {
        let start = (entry - self.own.start * self.num_steps) * self.row_bytes;
        &self.observations[start..][..self.row_bytes]
    }

    /// Returns the options of an entry's action, padded with 0.
    pub(crate) fn action(&self, entry: usize) -> &[i32] {
        &self.results.actions[entry * self.num_choices..][..self.num_choices]
    }

    /// Returns the components of an entry's continuous action, padded with 0.
    pub(crate) fn components(&self, entry: usize) -> &[f32] {
        &self.results.components[entry * self.num_components..][..self.num_components]
    }

    pub(crate) fn log_prob(&self, entry: usize) -> f32 {
        self.results.log_probs[entry]
    }

    /// Returns the log-probabilities of the actions, entry by entry.
    pub(crate) fn log_probs(&self) -> &[f32] {
        &self.results.log_probs
    }

    /// Returns the values of the observations, entry by entry.
    pub(crate) fn values(&self) -> &[f32] {
        &self.results.values
    }

    /// Returns the entry of the current step of an environment.
    pub(crate) fn entry(&self, env: usize) -> usize {
        env * self.num_steps + self.steps[env]
    }
}

/// Returns the rows whose final observation differs from the observation of the next step: those that were
/// truncated and reset in the same step.
pub(crate) fn rows_with_final_values(batch: &Batch, mode: AutoresetMode) -> Vec<BatchRow> {
    match mode {
        AutoresetMode::SameStep => rows(batch).into_iter().filter(|row| batch.truncated[row.row]).collect(),
        AutoresetMode::NextStep | AutoresetMode::Disabled => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_values_are_needed_only_for_rows_that_reset_in_the_same_step() {
        let mut batch = Batch::new(3, 4, true);
        batch.truncated[1] = true;
        batch.terminated[2] = true;
        batch.env_ids = vec![3, 4, 5];
        assert_eq!(rows_with_final_values(&batch, AutoresetMode::SameStep), [BatchRow { row: 1, env: 4 }]);
        assert!(rows_with_final_values(&batch, AutoresetMode::NextStep).is_empty());
    }

    #[test]
    fn entries_of_environments_are_separate() {
        let mut rollout = Rollout::new(2, 2, RowSizes { observation: 8, mask: 3 }, 2, 3);
        let mut batch = Batch::new(1, 8, false).with_action_masks(2);
        // One environment is a step ahead of the other.
        for (env, step) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert!(!rollout.is_full() && rollout.can_begin(env) && rollout.steps(env) == usize::from(step));
            batch.env_ids[0] = env;
            batch.observations.row_mut(0).fill(10 * env as u8 + step);
            batch.action_masks.row_mut(0).copy_from_slice(&[step, 1]);
            // The second environment has one choice fewer.
            let options = if env == 0 { vec![i32::from(step), 7] } else { vec![5] };
            let components = [f32::from(step), 0.5][..2 - env].to_vec();
            let action = ChosenAction { options, components, squashes: false };
            let decision = Decision { action, log_prob: f32::from(step), value: f32::from(step) };
            rollout.store_observations(&batch);
            rollout.begin_step(BatchRow { row: 0, env }, &decision);
            assert!(rollout.is_acting(env) && !rollout.can_begin(env) && !rollout.is_empty());
            assert_eq!(rollout.is_last_step(env), step == 1);
            rollout.end_step(&batch, BatchRow { row: 0, env }, None);
        }
        assert!(!rollout.can_begin(0));
        assert!(rollout.is_full());
        let observations: Vec<u8> = (0..4).map(|entry| rollout.observation(entry)[7]).collect();
        assert_eq!(observations, [0, 1, 10, 11]);
        let masks: Vec<&[u8]> = (0..4).map(|entry| rollout.mask(entry)).collect();
        assert_eq!(masks, [[0, 1, 0], [1, 1, 0], [0, 1, 0], [1, 1, 0]]);
        assert_eq!((0..4).map(|entry| rollout.env(entry)).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!(
            (0..4).map(|entry| rollout.action(entry)).collect::<Vec<_>>(),
            [[0, 7], [1, 7], [5, 0], [5, 0]]
        );
        assert_eq!(
            (0..4).map(|entry| rollout.components(entry)).collect::<Vec<_>>(),
            [[0.0, 0.5, 0.0], [1.0, 0.5, 0.0], [0.0; 3], [1.0, 0.0, 0.0]]
        );
    }
}
