use std::ops::Range;

use burn::tensor::Device;
use kernels::host::floats;
use rl_env::{AutoresetMode, Batch};
use serde::{Deserialize, Serialize};

use crate::LearnerError;
use crate::cluster::Cluster;
use crate::networks::{LstmState, Sequences};

/// The LSTM state of each environment's current episode. Empty if the network is not recurrent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecurrentState {
    /// Size of the hidden state of one environment.
    size: usize,
    hidden: Vec<f32>,
    cell: Vec<f32>,
}

impl RecurrentState {
    /// Creates a state of zeros.
    pub(super) fn new(num_envs: usize, size: usize) -> Self {
        Self { size, hidden: vec![0.0; num_envs * size], cell: vec![0.0; num_envs * size] }
    }

    /// Zeroes the state of environments whose observation is the first of an episode.
    pub(super) fn reset(&mut self, starts: &[bool]) {
        if self.size == 0 {
            return;
        }
        let rows = self.hidden.chunks_exact_mut(self.size).zip(self.cell.chunks_exact_mut(self.size));
        for ((hidden, cell), _) in rows.zip(starts).filter(|(_, starts)| **starts) {
            hidden.fill(0.0);
            cell.fill(0.0);
        }
    }

    /// Returns the states of the given environments.
    pub(super) fn select(&self, envs: &[usize]) -> Self {
        let pick = |all: &[f32]| -> Vec<f32> {
            envs.iter().flat_map(|&env| &all[env * self.size..(env + 1) * self.size]).copied().collect()
        };
        Self { size: self.size, hidden: pick(&self.hidden), cell: pick(&self.cell) }
    }

    /// Adds the states of further environments.
    pub(super) fn extend(&mut self, other: Self) {
        self.hidden.extend(other.hidden);
        self.cell.extend(other.cell);
    }

    /// Replaces the state of an environment by the one at `index` of `other`.
    pub(super) fn set(&mut self, env: usize, other: &Self, index: usize) {
        let (to, from) = (env * self.size..(env + 1) * self.size, index * self.size..(index + 1) * self.size);
        self.hidden[to.clone()].copy_from_slice(&other.hidden[from.clone()]);
        self.cell[to].copy_from_slice(&other.cell[from]);
    }

    /// Returns the input of the LSTM for sequences that begin in this state, one per environment. `starts` is
    /// true where an episode begins, step by step. `None` if the network is not recurrent.
    pub(super) fn sequences(&self, starts: &[bool], device: &Device) -> Option<Sequences> {
        if self.size == 0 {
            return None;
        }
        let count = self.hidden.len() / self.size;
        let state = |values: &[f32]| floats(values.to_vec(), [count, self.size], device);
        let keep: Vec<f32> = starts.iter().map(|&starts| f32::from(!starts)).collect();
        let keep = floats(keep, [starts.len() / count, count], device);
        Some(Sequences { state: LstmState { hidden: state(&self.hidden), cell: state(&self.cell) }, keep })
    }

    /// Returns a state with the hidden states and cells that an LSTM returned, or this state if there are none.
    pub(super) fn followed_by(self, next: Vec<Vec<f32>>) -> Self {
        match <[Vec<f32>; 2]>::try_from(next) {
            Ok([hidden, cell]) => Self { size: self.size, hidden, cell },
            Err(_) => self,
        }
    }

    fn has_shape_of(&self, other: &Self) -> bool {
        let shape = |state: &Self| [state.size, state.hidden.len(), state.cell.len()];
        shape(self) == shape(other)
    }
}

/// Returns true for each row whose observation is the first of an episode. A lost life that ends the return does not
/// begin an episode: evaluations do not end returns there, so they would reset the state less often than training.
pub(super) fn episode_starts(batch: &Batch, mode: AutoresetMode) -> Vec<bool> {
    match mode {
        AutoresetMode::SameStep => (0..batch.len())
            .map(|row| (batch.terminated[row] || batch.truncated[row]) && !batch.continues[row])
            .collect(),
        AutoresetMode::NextStep | AutoresetMode::Disabled => batch.autoreset.clone(),
    }
}

/// The recurrent state of a learner, and the sequence boundaries of its rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecurrentRollout {
    /// The state after the last action.
    pub(super) state: RecurrentState,
    /// For each environment, true if the next observation is the first of an episode.
    next_starts: Vec<bool>,
    /// The state at the beginning of the rollout.
    first: RecurrentState,
    /// For each step of the rollout and each environment, true if its observation was the first of an
    /// episode.
    starts: Vec<bool>,
}

impl RecurrentRollout {
    pub(super) fn new(num_envs: usize, size: usize) -> Self {
        let state = RecurrentState::new(num_envs, size);
        Self { first: state.clone(), state, next_starts: vec![false; num_envs], starts: Vec::new() }
    }

    /// Returns true if the network is recurrent.
    pub(super) fn is_recurrent(&self) -> bool {
        self.state.size > 0
    }

    /// Returns the state with which the next action is chosen.
    pub(super) fn current(&self) -> RecurrentState {
        let mut state = self.state.clone();
        state.reset(&self.next_starts);
        state
    }

    /// Stores the states of some environments after an action. `step_of` returns the current step of an environment in
    /// the rollout, starting at 0.
    pub(super) fn record(
        &mut self,
        envs: &[usize],
        state: &RecurrentState,
        step_of: impl Fn(usize) -> usize,
    ) {
        if !self.is_recurrent() {
            return;
        }
        let num_envs = self.next_starts.len();
        for (index, &env) in envs.iter().enumerate() {
            let step = step_of(env);
            self.starts.resize(self.starts.len().max((step + 1) * num_envs), false);
            if step == 0 {
                self.first.set(env, &self.state, env);
            }
            self.state.set(env, state, index);
            self.starts[step * num_envs + env] = self.next_starts[env];
        }
    }

    /// Exchanges the states of a complete rollout with the other processes of a cluster, of which this one owns `envs`.
    pub(super) fn exchange(&mut self, cluster: &Cluster, envs: Range<usize>) -> Result<(), LearnerError> {
        if !self.is_recurrent() || cluster.num_processes() == 1 {
            return Ok(());
        }
        let num_envs = self.next_starts.len();
        let ids: Vec<usize> = envs.clone().collect();
        let own = Self {
            state: self.state.select(&ids),
            next_starts: self.next_starts[envs.clone()].to_vec(),
            first: self.first.select(&ids),
            starts: self
                .starts
                .chunks_exact(num_envs)
                .flat_map(|starts| &starts[envs.clone()])
                .copied()
                .collect(),
        };
        let parts = cluster.all_gather_values(&own)?;
        let steps = self.starts.len() / num_envs;
        let rows = |part: &Self, step| -> Vec<bool> {
            part.starts.chunks_exact(part.next_starts.len()).nth(step).unwrap_or_default().to_vec()
        };
        self.starts =
            (0..steps).flat_map(|step| parts.iter().flat_map(move |part| rows(part, step))).collect();
        let mut first = 0;
        for part in parts {
            for (index, starts) in part.next_starts.iter().enumerate() {
                self.state.set(first + index, &part.state, index);
                self.first.set(first + index, &part.first, index);
                self.next_starts[first + index] = *starts;
            }
            first += part.next_starts.len();
        }
        Ok(())
    }

    /// Stores which of the next observations are the first of an episode.
    pub(super) fn observe(&mut self, batch: &Batch, mode: AutoresetMode) {
        if !self.is_recurrent() {
            return;
        }
        for (&env, starts) in batch.env_ids.iter().zip(episode_starts(batch, mode)) {
            self.next_starts[env] = starts;
        }
    }

    /// Returns the sequences of some environments over the whole rollout, `None` if the network is not recurrent.
    pub(super) fn sequences(&self, envs: &[usize], device: &Device) -> Option<Sequences> {
        if !self.is_recurrent() {
            return None;
        }
        let rows = self.starts.chunks_exact(self.next_starts.len());
        let starts: Vec<bool> = rows.flat_map(|starts| envs.iter().map(|&env| starts[env])).collect();
        self.first.select(envs).sequences(&starts, device)
    }

    /// Returns true if the numbers of environments and the sizes match. Returns false for a damaged state.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        let envs = other.next_starts.len();
        self.state.has_shape_of(&other.state)
            && self.first.has_shape_of(&other.state)
            && self.next_starts.len() == envs
            && self.starts.len().is_multiple_of(envs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_life_does_not_begin_an_episode() {
        let mut batch = Batch::new(4, 1, true);
        batch.terminated = vec![false, true, true, false];
        batch.truncated[3] = true;
        batch.continues[1] = true;
        assert_eq!(episode_starts(&batch, AutoresetMode::SameStep), [false, false, true, true]);
        assert_eq!(episode_starts(&batch, AutoresetMode::NextStep), [false; 4]);
        batch.autoreset[2] = true;
        assert_eq!(episode_starts(&batch, AutoresetMode::NextStep), [false, false, true, false]);
    }
}
