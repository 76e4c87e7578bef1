//! Resetting environments, and dropping the results that are in flight.

use rl_env::{Batch, Env, ResetSeeds, VectorEnv, VectorError};

use super::{Phase, PoolVectorEnv, check_len};
use crate::slot::Command;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Resets the environments whose entry in `mask` is true. The others stay as they are and are reported again,
    /// with reward 0 and no flags; one that waits for its autoreset goes on waiting.
    ///
    /// The seeds count the selected environments only: the first of them gets the first seed. Resetting only some needs
    /// batches in order.
    pub fn reset_masked(&mut self, mask: &[bool], seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        check_len("entries of the reset mask", mask.len(), self.num_envs())?;
        let selected = mask.iter().filter(|&&selected| selected).count();
        if selected < mask.len() {
            self.check_ready("some environments can be reset only after all have been reset once")?;
            if !self.is_ordered() {
                return Err(VectorError::OutOfOrder(
                    "some environments can be reset by themselves only when a batch holds all of them",
                ));
            }
        }
        self.reset_selected(|env| mask[env], selected, seeds)
    }

    pub(super) fn reset_selected(
        &mut self,
        selects: impl Fn(usize) -> bool,
        selected: usize,
        seeds: ResetSeeds<'_>,
    ) -> Result<&Batch, VectorError> {
        if let ResetSeeds::Each(seeds) = seeds {
            check_len("seeds", seeds.len(), selected)?;
        }
        self.check_not_stepping("reset came between send and recv")?;
        self.discard()?;
        let mut position = 0;
        self.start_round(|env| {
            if !selects(env) {
                return Command::Report;
            }
            position += 1;
            Command::Reset(seeds.of(position - 1))
        });
        // From here on everything has been reset, or is being reset.
        self.phase = Phase::Ready;
        self.receive()
    }

    /// Waits for what is under way and forgets its results.
    pub(super) fn discard(&mut self) -> Result<(), VectorError> {
        self.discard_from(0)
    }

    /// The same; where groups take turns, the next one is that of `first_env`.
    pub(super) fn discard_from(&mut self, first_env: usize) -> Result<(), VectorError> {
        self.wait_for_all();
        let slots = self.pool.task();
        if let Some(error @ VectorError::Panicked { .. }) = slots.arrivals.failure() {
            self.phase = Phase::Broken(error.clone());
            return Err(error);
        }
        slots.arrivals.clear();
        slots.seek(self.received * self.batch_size, first_env);
        self.next_turn = first_env;
        self.in_flight.fill(false);
        self.num_in_flight = 0;
        Ok(())
    }

    /// Gives every environment its order and starts the pool. Nothing may be under way.
    fn start_round(&mut self, mut command_of: impl FnMut(usize) -> Command) {
        let num_envs = self.num_envs();
        let slots = self.pool.task();
        for env in 0..num_envs {
            slots.lock(env).command = command_of(env);
        }
        slots.arrivals.expect(num_envs);
        self.in_flight.fill(true);
        self.num_in_flight = num_envs;
        self.pool.start_round(num_envs);
    }
}
