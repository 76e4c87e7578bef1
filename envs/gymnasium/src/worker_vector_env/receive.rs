//! Waiting for results.

use std::iter;
use std::ops::Range;
use std::sync::PoisonError;

use rl_env::{AutoresetMode, Batch, EpisodeStats, VectorError, VectorPhase};

use super::{EnvState, WorkerVectorEnv};
use crate::board::{Command, Outcome};

impl WorkerVectorEnv {
    /// Returns the number of environments in flight whose results can be in the next batch.
    pub(super) fn in_flight_for_next_batch(&self) -> usize {
        if !self.takes_turns() {
            return self.num_in_flight;
        }
        let turn = &self.envs[self.next_turn..self.next_turn + self.batch_size];
        turn.iter().filter(|env| env.in_flight).count()
    }

    /// Waits for the next batch and returns it.
    pub(super) fn receive(&mut self) -> Result<&Batch, VectorError> {
        let (turn, batch_size) = (self.next_turn, self.batch_size);
        let has_fixed_rows = self.has_fixed_rows;
        let workers = self.workers_mut();
        let waited = workers.wait_until(|workers| {
            let is_complete = if has_fixed_rows {
                (turn..turn + batch_size).all(|env| workers.has_arrived(env))
            } else {
                workers.num_in_order() >= batch_size
            };
            is_complete || workers.failure().is_some()
        });
        let failure = waited.err().or_else(|| workers.take_failure());
        if let Some(fault) = failure {
            return Err(self.record_fault(fault));
        }
        self.take_batch();
        if let Err(error) = self.report() {
            self.phase = VectorPhase::Failed;
            return Err(error);
        }
        Ok(self.ring.last())
    }

    /// Takes the environments of the next batch, whose results have arrived.
    fn take_batch(&mut self) {
        let (turn, batch_size) = (self.next_turn, self.batch_size);
        self.targets.clear();
        let workers = self.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.has_fixed_rows {
            self.targets.extend(turn..turn + batch_size);
            self.targets.iter().for_each(|&env| workers.take(env));
            self.next_turn = (turn + batch_size) % self.envs.len();
        } else {
            self.targets.extend(iter::from_fn(|| workers.take_first()).take(batch_size));
        }
        for &env in &self.targets {
            self.envs[env].in_flight = false;
        }
        self.num_in_flight -= batch_size;
    }

    /// Fills in the batch of the environments that were taken. An error is a result that learners cannot use.
    fn report(&mut self) -> Result<(), VectorError> {
        let batch = self.ring.receive(self.targets.iter().copied());
        let mut unusable = None;
        for (row, &env) in self.targets.iter().enumerate() {
            let outcome = self.board.outcome(env);
            let truncated_by_limit = record_outcome(&mut self.envs[env], &outcome);
            batch.rewards[row] = outcome.reward as f32;
            batch.raw_rewards[row] = outcome.reward as f32;
            batch.terminated[row] = outcome.terminated;
            batch.truncated[row] = outcome.truncated || truncated_by_limit;
            batch.autoreset[row] = outcome.autoreset;
            batch.steps[row] = u32::from(outcome.stepped);
            batch.episodes[row] = outcome.episode_ended.then_some(EpisodeStats {
                total_reward: outcome.episode_return,
                length: outcome.episode_length,
            });
            batch.episode_seconds[row] = if outcome.episode_ended { outcome.episode_seconds } else { 0.0 };
            let has_final = self.mode == AutoresetMode::SameStep;
            if has_final && !outcome.episode_ended {
                batch.final_observations.row_mut(row).copy_from_slice(batch.observations.row(row));
                if batch.has_action_masks() {
                    batch.final_action_masks.row_mut(row).copy_from_slice(batch.action_masks.row(row));
                }
            }
            let message = unusable_part(batch, row, &outcome, self.floats.as_ref());
            unusable = unusable.or_else(|| message.map(|message| (env, message)));
        }
        match unusable {
            Some((env, message)) => Err(self.env_error(env, &message, "")),
            None => Ok(()),
        }
    }
}

/// Updates the state of an environment from a result. Returns true if that was the environment's last step, which the
/// limit of steps truncates.
fn record_outcome(env: &mut EnvState, outcome: &Outcome) -> bool {
    env.is_over = outcome.is_over;
    match &mut env.steps_left {
        Some(left) if env.sent == Command::Step && outcome.stepped => {
            *left -= 1;
            // The learner has to bootstrap, as after every truncation.
            *left == 0 && !outcome.terminated
        }
        _ => false,
    }
}

/// Describes the part of a result that is not finite, if there is one. `floats` are the bytes of the floats in an
/// observation.
fn unusable_part(
    batch: &Batch,
    row: usize,
    outcome: &Outcome,
    floats: Option<&Range<usize>>,
) -> Option<String> {
    let step = outcome.episode_length;
    if !outcome.reward.is_finite() {
        return Some(format!(
            "the reward of step {step} of the episode is {}, but must be finite",
            outcome.reward
        ));
    }
    let bytes = floats?;
    let first_of = |values: &[f32]| values.iter().position(|value| !value.is_finite());
    let describe = |values: &[f32], index: usize, place: String| {
        format!("element {index} of the observation {place} is {}, but must be finite", values[index])
    };
    let after_step =
        if step == 0 { "after the reset".to_owned() } else { format!("of step {step} of the episode") };
    if batch.final_observations.rows() > 0 && outcome.episode_ended {
        let values = bytemuck::cast_slice(&batch.final_observations.row(row)[bytes.clone()]);
        if let Some(index) = first_of(values) {
            return Some(describe(values, index, after_step));
        }
        let values = bytemuck::cast_slice(&batch.observations.row(row)[bytes.clone()]);
        return first_of(values).map(|index| describe(values, index, "after the reset".to_owned()));
    }
    let values = bytemuck::cast_slice(&batch.observations.row(row)[bytes.clone()]);
    first_of(values).map(|index| describe(values, index, after_step))
}
