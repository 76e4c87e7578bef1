//! Resetting environments, and dropping the results that are in flight.

use rl_env::{Batch, ResetSeeds, VectorError, VectorPhase};

use super::WorkerVectorEnv;
use crate::board::Command;

impl WorkerVectorEnv {
    /// Resets the environments whose entry in `mask` is true. The others are reported again with reward 0 and no flags;
    /// a pending autoreset stays pending.
    ///
    /// Seeds count only the selected environments: the first of them gets the first seed. Selecting only some requires
    /// that a batch holds all environments.
    pub fn reset_masked(&mut self, mask: &[bool], seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        VectorError::check_len("entries of the reset mask", mask.len(), self.envs.len())?;
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
        self.discard_from(0)?;
        let mut position = 0;
        self.start_round(|env| {
            if !is_selected(env) {
                return Command::Report;
            }
            position += 1;
            Command::Reset(seeds.of(position - 1))
        })?;
        self.receive()
    }

    /// Waits for the environments in flight and drops their results. The next batch starts with `first_env`.
    pub(super) fn discard_from(&mut self, first_env: usize) -> Result<(), VectorError> {
        self.wait_for_all()?;
        self.workers_mut().clear();
        self.ring.seek(first_env);
        self.next_turn = first_env;
        for env in &mut self.envs {
            env.in_flight = false;
        }
        self.num_in_flight = 0;
        Ok(())
    }

    /// Waits until nothing is in flight.
    pub(super) fn wait_for_all(&mut self) -> Result<(), VectorError> {
        let waited = self.workers_mut().wait_for_all();
        waited.map_err(|fault| self.record_fault(fault))
    }

    /// Sends a command to every environment. Nothing may be in flight.
    pub(super) fn start_round(
        &mut self,
        mut command_of: impl FnMut(usize) -> Command,
    ) -> Result<(), VectorError> {
        self.targets.clear();
        self.targets.extend(0..self.envs.len());
        for env in 0..self.envs.len() {
            self.command(env, command_of(env));
        }
        // All environments now have a command, so `recv` may follow.
        self.phase = VectorPhase::Ready;
        self.start()
    }
}
