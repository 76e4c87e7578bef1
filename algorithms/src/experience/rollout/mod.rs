//! The last steps of every environment.

use std::ops::Range;

use rayon::prelude::*;
use rl_env::{AutoresetMode, Batch};
use serde::{Deserialize, Serialize};

use crate::experience::batch_reader::{BatchRow, Observed, rows};
use crate::experience::packed_observations::PackedObservations;
use crate::experience::returns::{Trajectory, gae, vtrace};
use crate::tasks::ChosenAction;

mod results;

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

/// The estimates of a complete rollout, entry by entry.
pub(crate) struct Estimates {
    /// The values of the observations, the baseline of the advantages.
    pub(crate) values: Vec<f32>,
    pub(crate) advantages: Vec<f32>,
    /// The targets of the value head: advantage plus value, unless the rollout was [evaluated again](Reevaluation).
    pub(crate) returns: Vec<f32>,
}

/// The evaluation of a rollout by a network other than the one that acted, entry by entry.
pub(crate) struct Reevaluation {
    /// The values of the observations.
    pub(crate) values: Vec<f32>,
    /// The log-probabilities of the actions.
    pub(crate) log_probs: Vec<f32>,
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
    pub(crate) fn own(&self) -> Range<usize> {
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

    /// Computes advantages and returns, given the value of every environment's observation after the last step. If the
    /// rollout was evaluated again, uses V-trace, which estimates the returns of the network that evaluated it.
    pub(crate) fn estimates(
        &self,
        last_values: &[f32],
        reevaluation: Option<Reevaluation>,
        gamma: f32,
        gae_lambda: f32,
    ) -> Estimates {
        let (values, ratios) = match reevaluation {
            Some(Reevaluation { values, log_probs }) => {
                let log_ratios = log_probs.iter().zip(&self.results.log_probs).map(|(new, old)| new - old);
                (values, Some(log_ratios.map(f32::exp).collect::<Vec<f32>>()))
            }
            None => (self.results.values.clone(), None),
        };
        let mut advantages = vec![0.0; values.len()];
        for ((env, &last_value), advantages) in
            last_values.iter().enumerate().zip(advantages.chunks_exact_mut(self.num_steps))
        {
            let steps = env * self.num_steps..(env + 1) * self.num_steps;
            let values = &values[steps.clone()];
            let successors = values[1..].iter().copied().chain([last_value]);
            let next_values: Vec<f32> = successors
                .zip(&self.results.final_values[steps.clone()])
                .map(|(successor, final_value)| final_value.unwrap_or(successor))
                .collect();
            let trajectory = Trajectory {
                rewards: &self.results.rewards[steps.clone()],
                values,
                next_values: &next_values,
                terminated: &self.results.terminated[steps.clone()],
                truncated: &self.results.truncated[steps.clone()],
            };
            match &ratios {
                Some(ratios) => vtrace(trajectory, &ratios[steps], gamma, gae_lambda, advantages),
                None => gae(trajectory, gamma, gae_lambda, advantages),
            }
        }
        let weight = |entry: usize| ratios.as_ref().map_or(1.0, |ratios| ratios[entry].min(1.0));
        let returns =
            (0..values.len()).map(|entry| weight(entry) * advantages[entry] + values[entry]).collect();
        Estimates { values, advantages, returns }
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

/// Splits `entries` into `count` parts whose sizes differ by at most one. Empty parts are omitted.
pub(crate) fn split(entries: &[usize], count: usize) -> impl Iterator<Item = &[usize]> {
    let border = move |part: usize| part * entries.len() / count;
    (0..count).map(move |part| &entries[border(part)..border(part + 1)]).filter(|part| !part.is_empty())
}

/// Returns the last part of [`split`].
pub(crate) fn last_minibatch(entries: &[usize], count: usize) -> &[usize] {
    split(entries, count).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of one step of the only environment.
    #[derive(Clone, Copy, Default)]
    struct Outcome {
        reward: f32,
        terminated: bool,
        truncated: bool,
        autoreset: bool,
        final_value: Option<f32>,
    }

    /// Returns a rollout of one environment with values 1, 2, 3, ... and the given outcomes.
    fn rollout(outcomes: &[Outcome]) -> Rollout {
        let mut rollout = Rollout::new(1, outcomes.len(), RowSizes { observation: 4, mask: 0 }, 1, 0);
        let mut batch = Batch::new(1, 4, false);
        for (step, outcome) in outcomes.iter().enumerate() {
            let row = rows(&batch)[0];
            rollout.begin_step(row, &Decision { value: step as f32 + 1.0, ..Decision::default() });
            batch.rewards[0] = outcome.reward;
            batch.terminated[0] = outcome.terminated;
            batch.truncated[0] = outcome.truncated;
            batch.autoreset[0] = outcome.autoreset;
            rollout.end_step(&batch, row, outcome.final_value);
        }
        rollout
    }

    fn reward(reward: f32) -> Outcome {
        Outcome { reward, ..Outcome::default() }
    }

    /// Advantages of the transitions, with gamma 0.5, lambda 0.5 and 8 as the last value.
    fn advantages(rollout: &Rollout) -> Vec<f32> {
        let estimates = rollout.estimates(&[8.0], None, 0.5, 0.5);
        rollout.transitions().into_iter().map(|entry| estimates.advantages[entry]).collect()
    }

    #[test]
    fn a_terminated_step_is_not_bootstrapped() {
        let end = Outcome { terminated: true, ..reward(10.0) };
        let reset = Outcome { autoreset: true, ..Outcome::default() };
        // Step 0: A = 10 - 1. Step 1 only resets. Step 2: A = 1 + 0.5 * 8 - 3.
        assert_eq!(advantages(&rollout(&[end, reset, reward(1.0)])), [9.0, 2.0]);
    }

    #[test]
    fn a_termination_without_reset_ends_the_return_but_not_the_episode() {
        let lost_life = Outcome { terminated: true, ..reward(10.0) };
        // Step 0: A = 10 - 1. Step 1 is an ordinary transition: A = 1 + 0.5 * 8 - 2.
        assert_eq!(advantages(&rollout(&[lost_life, reward(1.0)])), [9.0, 3.0]);
    }

    #[test]
    fn next_step_mode_bootstraps_a_truncation_from_the_observation_that_follows() {
        let end = Outcome { truncated: true, ..reward(10.0) };
        let reset = Outcome { autoreset: true, ..Outcome::default() };
        // Step 0: A = 10 + 0.5 * 2 - 1, where 2 is the value of the final observation. Step 2: A = 1 + 0.5 * 8 - 3.
        assert_eq!(advantages(&rollout(&[end, reset, reward(1.0)])), [10.0, 2.0]);
    }

    #[test]
    fn same_step_mode_bootstraps_a_truncation_from_the_final_observation() {
        let end = Outcome { truncated: true, final_value: Some(20.0), ..reward(10.0) };
        // Step 0: A = 10 + 0.5 * 20 - 1. Step 1: A = 1 + 0.5 * 8 - 2, the first step of the next episode.
        assert_eq!(advantages(&rollout(&[end, reward(1.0)])), [19.0, 3.0]);
    }

    #[test]
    fn a_truncation_in_the_last_step_is_bootstrapped_from_the_last_value() {
        let end = Outcome { truncated: true, ..reward(10.0) };
        // Step 1: A = 10 + 0.5 * 8 - 2 = 12. Step 0: delta = 1 + 0.5 * 2 - 1 = 1, A = 1 + 0.25 * 12.
        assert_eq!(advantages(&rollout(&[reward(1.0), end])), [4.0, 12.0]);
    }

    #[test]
    fn a_rollout_may_begin_with_a_reset() {
        let reset = Outcome { autoreset: true, ..Outcome::default() };
        assert_eq!(advantages(&rollout(&[reset, reward(1.0)])), [3.0]);
    }

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

    #[test]
    fn parts_are_even_and_complete() {
        let entries: Vec<usize> = (0..10).collect();
        let parts: Vec<&[usize]> = split(&entries, 4).collect();
        assert_eq!(parts, [&entries[..2], &entries[2..5], &entries[5..7], &entries[7..]]);
        assert_eq!(split(&entries[..2], 4).collect::<Vec<_>>(), [&[0], &[1]]);
    }
}
