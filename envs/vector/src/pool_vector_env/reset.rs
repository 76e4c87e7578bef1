//! Resetting environments, and dropping the results that are in flight.

use rl_env::{Batch, Env, ResetSeeds, VectorEnv, VectorError, VectorPhase, interrupt};

use super::PoolVectorEnv;
use crate::slot::Command;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Resets the environments whose entry in `mask` is true. The others are reported again with reward 0 and no flags;
    /// a pending autoreset stays pending.
    ///
    /// Seeds count only the selected environments: the first of them gets the first seed. Selecting only some requires
    /// that a batch holds all environments.
    pub fn reset_masked(&mut self, mask: &[bool], seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        VectorError::check_len("entries of the reset mask", mask.len(), self.num_envs())?;
        let num_selected = mask.iter().filter(|&&is_selected| is_selected).count();
        if num_selected < mask.len() {
            self.phase.check_ready("the first reset must include all environments")?;
            if !self.is_ordered() {
                return Err(VectorError::OutOfOrder(
                    "some environments can be reset only if a batch holds all of them",
                ));
            }
        }
        self.reset_selected(|env| mask[env], num_selected, seeds)
    }

    pub(super) fn reset_selected(
        &mut self,
        is_selected: impl Fn(usize) -> bool,
        num_selected: usize,
        seeds: ResetSeeds<'_>,
    ) -> Result<&Batch, VectorError> {
        if let ResetSeeds::Each(seeds) = seeds {
            VectorError::check_len("seeds", seeds.len(), num_selected)?;
        }
        self.check_not_stepping("reset was called between send and recv")?;
        self.discard()?;
        let mut position = 0;
        self.start_round(|env| {
            if !is_selected(env) {
                return Command::Report;
            }
            position += 1;
            Command::Reset(seeds.of(position - 1))
        });
        // Every environment has been reset, or its reset is in flight.
        self.phase = VectorPhase::Ready;
        self.receive()
    }

    /// Waits for the environments in flight and drops their results.
    pub(super) fn discard(&mut self) -> Result<(), VectorError> {
        self.discard_from(0)
    }

    /// Like [`discard`](Self::discard). If groups take turns, the group of `first_env` is next.
    pub(super) fn discard_from(&mut self, first_env: usize) -> Result<(), VectorError> {
        self.wait_unless_panicked()?;
        if interrupt::is_requested() {
            // The environments in flight have ended early. Clearing the arrivals would lose the request.
            self.phase = VectorPhase::Failed;
            return Err(VectorError::Interrupted);
        }
        let slots = self.pool.task();
        slots.arrivals.clear();
        slots.seek(self.received * self.batch_size, first_env);
        self.next_turn = first_env;
        self.in_flight.fill(false);
        self.num_in_flight = 0;
        Ok(())
    }

    /// Sends a command to every environment. Nothing may be in flight.
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
