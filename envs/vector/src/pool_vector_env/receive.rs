//! Waiting for results.

use rl_env::{Batch, Env, VectorEnv, VectorError, VectorPhase};

use super::PoolVectorEnv;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Returns the number of environments in flight whose results can be in the next batch.
    pub(super) fn in_flight_for_next_batch(&self) -> usize {
        if !self.pool.task().takes_turns() {
            return self.num_in_flight;
        }
        let turn = &self.in_flight[self.next_turn..self.next_turn + self.batch_size];
        turn.iter().filter(|&&in_flight| in_flight).count()
    }

    /// Waits until nothing is in flight.
    pub(super) fn wait_for_all(&self) {
        let arrivals = &self.pool.task().arrivals;
        let is_idle = || arrivals.is_idle();
        self.pool.run_until(is_idle, || arrivals.wait_until(is_idle));
    }

    /// Waits until nothing is in flight. Returns an error if an environment has panicked, which must not be used again.
    pub(super) fn wait_unless_panicked(&mut self) -> Result<(), VectorError> {
        self.wait_for_all();
        if let Some(error @ VectorError::Panicked { .. }) = self.pool.task().arrivals.failure() {
            self.phase = VectorPhase::Broken(error.clone());
            return Err(error);
        }
        Ok(())
    }

    /// Waits for the next batch and returns it.
    pub(super) fn receive(&mut self) -> Result<&Batch, VectorError> {
        let arrivals = &self.pool.task().arrivals;
        let next = self.received % self.batches.len();
        let is_ready = || arrivals.is_ready(next);
        self.pool.run_until(is_ready, || arrivals.wait_until(is_ready));
        if let Some(error) = arrivals.failure() {
            self.phase = match error {
                VectorError::Panicked { .. } => VectorPhase::Broken(error.clone()),
                _ => VectorPhase::Failed,
            };
            return Err(error);
        }
        arrivals.recycle(next);
        Ok(self.report())
    }

    /// Makes the next batch, whose observations are complete, the last batch, and fills in the other fields.
    fn report(&mut self) -> &Batch {
        let slots = self.pool.task();
        let start = self.received * self.batch_size;
        self.received += 1;
        self.next_turn = (self.next_turn + self.batch_size) % self.num_envs();
        let last = self.last_batch();
        let batch = &mut self.batches[last];
        for row in 0..self.batch_size {
            let env = slots.owner(start + row);
            self.in_flight[env] = false;
            let slot = slots.lock(env);
            let outcome = &slot.outcome;
            batch.env_ids[row] = env;
            batch.rewards[row] = outcome.step.reward;
            batch.raw_rewards[row] = outcome.step.raw_reward;
            batch.terminated[row] = outcome.step.terminated;
            batch.truncated[row] = outcome.step.truncated;
            batch.continues[row] = outcome.step.continues;
            batch.steps[row] = outcome.steps;
            batch.autoreset[row] = outcome.autoreset;
            batch.episodes[row] = outcome.episode;
            batch.episode_seconds[row] = outcome.episode_seconds;
            self.infos[row].clone_from(&slot.info);
            self.final_infos[row].clone_from(&slot.final_info);
        }
        self.num_in_flight -= self.batch_size;
        batch
    }
}
