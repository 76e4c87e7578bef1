//! Sending actions and resets to environments.

use std::mem;

use rl_env::{Actions, Env, ResetSeeds, VectorError, VectorPhase};

use super::{PoolVectorEnv, check_idle};
use crate::action_sequence::part;
use crate::pool::Pool;
use crate::slot::Command;
use crate::slots::Slots;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Sends one action to each of these environments without waiting. The environments must not be in flight;
    /// `actions` holds their actions in the same order.
    ///
    /// If a batch holds all environments, row `i` stays environment `i` regardless of the order of `env_ids`, and
    /// `recv` may be called when all have been sent to. On an error nothing is sent.
    pub fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.dispatch(actions, Some(env_ids), None)
    }

    /// Sends a sequence of actions (a macro-action) to each of these environments, as [`send_to`](Self::send_to) does.
    /// `lengths` holds the length of each sequence, at least 1.
    ///
    /// An environment performs its sequence as one step, whose row has the last observation and the sum of the rewards.
    /// The sequence ends early after an action that terminates or truncates (including a lost life that is reported as
    /// a termination). [`Batch::steps`](rl_env::Batch::steps) is the number of actions performed.
    pub fn send_sequences(
        &mut self,
        actions: Actions<'_>,
        lengths: &[usize],
        env_ids: &[usize],
    ) -> Result<(), VectorError> {
        VectorError::check_len("lengths of action sequences", lengths.len(), env_ids.len())?;
        self.dispatch(actions, Some(env_ids), Some(lengths))
    }

    /// Resets these environments without waiting; `recv` returns the results. Seed `i` belongs to the `i`-th of them.
    /// They must not be in flight, and the first call, as well as the first after an environment's error, must name all
    /// environments. If batches hold only some of the environments, resetting all of them drops the results of those in
    /// flight. On an error nothing is sent.
    pub fn send_reset(&mut self, env_ids: &[usize], seeds: ResetSeeds<'_>) -> Result<(), VectorError> {
        self.phase.check_usable()?;
        if let ResetSeeds::Each(seeds) = seeds {
            VectorError::check_len("seeds", seeds.len(), env_ids.len())?;
        }
        let requires_all = matches!(self.phase, VectorPhase::NeedsReset | VectorPhase::Failed);
        if requires_all && env_ids.len() != self.in_flight.len() {
            return Err(VectorError::OutOfOrder(
                "the first reset, and the first after an error, must include all environments",
            ));
        }
        if requires_all || (self.batch_size < self.in_flight.len() && self.names_each_env_once(env_ids)) {
            self.discard()?;
        }
        mark_in_flight(&mut self.in_flight, env_ids)?;
        for (index, &env) in env_ids.iter().enumerate() {
            self.pool.task().lock(env).command = Command::Reset(seeds.of(index));
        }
        self.phase = VectorPhase::Ready;
        self.num_in_flight += env_ids.len();
        start_commands(&mut self.pool, env_ids);
        Ok(())
    }

    /// Returns true if `env_ids` contains each environment exactly once.
    fn names_each_env_once(&self, env_ids: &[usize]) -> bool {
        let mut is_named = vec![false; self.in_flight.len()];
        env_ids.len() == is_named.len()
            && env_ids
                .iter()
                .all(|&env| is_named.get_mut(env).is_some_and(|named| !mem::replace(named, true)))
    }

    /// Makes the environments that are not in flight report their state again, with reward 0 and no flags. If a batch
    /// holds all environments, `recv` may then be called although only some of them were sent to.
    pub fn send_report(&mut self) -> Result<(), VectorError> {
        self.phase.check_ready("send_report was called before the first reset")?;
        let idle: Vec<usize> = (0..self.in_flight.len()).filter(|&env| !self.in_flight[env]).collect();
        mark_in_flight(&mut self.in_flight, &idle)?;
        for &env in &idle {
            self.pool.task().lock(env).command = Command::Report;
        }
        self.num_in_flight += idle.len();
        start_commands(&mut self.pool, &idle);
        Ok(())
    }

    /// Sends action `i` to the environment of row `i` of the last batch.
    pub(super) fn send_to_last_batch(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.dispatch(actions, None, None)
    }

    /// Sends actions to `env_ids`, or if `None` to the environments of the last batch. `lengths` are the numbers of
    /// actions of each; `None` means one.
    fn dispatch(
        &mut self,
        actions: Actions<'_>,
        env_ids: Option<&[usize]>,
        lengths: Option<&[usize]>,
    ) -> Result<(), VectorError> {
        self.phase.check_ready("send was called before the first reset")?;
        let env_ids = env_ids.unwrap_or(&self.batches[self.last_batch()].env_ids);
        let num_actions = |target: usize| lengths.map_or(1, |lengths| lengths[target]);
        mark_in_flight(&mut self.in_flight, env_ids)?;
        let accepted = accept(self.pool.task(), &self.action_lens, actions, env_ids, num_actions);
        if accepted.is_err() {
            unmark(&mut self.in_flight, env_ids);
            return accepted;
        }
        self.num_in_flight += env_ids.len();
        start_commands(&mut self.pool, env_ids);
        Ok(())
    }
}

/// Checks the actions and copies them to the slots of the environments. `num_actions` returns the number of actions of
/// the environment at an index of `env_ids`. On an error earlier slots keep their commands, which the next call
/// replaces.
fn accept<E: Env>(
    slots: &Slots<E>,
    action_lens: &[usize],
    actions: Actions<'_>,
    env_ids: &[usize],
    num_actions: impl Fn(usize) -> usize,
) -> Result<(), VectorError> {
    let num_values = |target: usize, env: usize| num_actions(target).saturating_mul(action_lens[env]);
    let counts = env_ids.iter().enumerate().map(|(target, &env)| num_values(target, env));
    let expected = counts.fold(0, usize::saturating_add);
    VectorError::check_len("action values", actions.num_elements(), expected)?;
    let mut offset = 0;
    for (target, &env) in env_ids.iter().enumerate() {
        let count = num_values(target, env);
        slots.lock(env).accept(env, part(actions, offset, count), slots.mode())?;
        offset += count;
    }
    Ok(())
}

/// Starts the commands of the environments on the pool.
fn start_commands<E: Env + 'static>(pool: &mut Pool<Slots<E>>, env_ids: &[usize]) {
    pool.task().arrivals.expect(env_ids.len());
    if env_ids.len() == pool.task().len() {
        pool.start_round(env_ids.len());
    } else {
        pool.enqueue(env_ids.iter().copied());
    }
}

/// Marks environments as in flight. On an error nothing is marked.
fn mark_in_flight(in_flight: &mut [bool], env_ids: &[usize]) -> Result<(), VectorError> {
    for (index, &env) in env_ids.iter().enumerate() {
        // Marking one at a time detects duplicates.
        if let Err(error) = check_idle(in_flight, env) {
            let earlier = &env_ids[..index];
            unmark(in_flight, earlier);
            return Err(if earlier.contains(&env) { VectorError::Duplicate { env } } else { error });
        }
        in_flight[env] = true;
    }
    Ok(())
}

fn unmark(in_flight: &mut [bool], env_ids: &[usize]) {
    for &env in env_ids {
        in_flight[env] = false;
    }
}
