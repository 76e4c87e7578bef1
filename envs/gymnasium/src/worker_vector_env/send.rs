//! Sending actions to environments.

use std::sync::PoisonError;

use rl_env::{Action, Actions, AutoresetMode, EnvError, VectorError};

use super::WorkerVectorEnv;
use crate::board::Command;

impl WorkerVectorEnv {
    /// Sends one action to each of these environments without waiting. The environments must not be in flight;
    /// `actions` holds their actions in the same order.
    ///
    /// If a batch holds all environments, its rows stay in their order, and `recv` may be called when all have been
    /// sent to. On an error nothing is sent.
    pub fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        self.targets.clear();
        self.targets.extend(env_ids);
        self.dispatch(actions)
    }

    /// Sends action `i` to the environment of row `i` of the last batch.
    pub(super) fn send_to_last_batch(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.targets.clear();
        self.targets.extend(&self.ring.last().env_ids);
        self.dispatch(actions)
    }

    /// Sends to the targets.
    fn dispatch(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.phase.check_ready("send was called before the first reset")?;
        self.check_targets()?;
        self.check_actions(actions)?;
        let mut start = 0;
        for index in 0..self.targets.len() {
            let env = self.targets[index];
            let len = self.action_lens[env];
            self.board.act(env, part(actions, start, len));
            start += len;
            let rests = self.envs[env].steps_left == Some(0);
            self.command(env, if rests { Command::Idle } else { Command::Step });
        }
        self.start()
    }

    /// Checks that the targets are different environments that are not in flight.
    fn check_targets(&mut self) -> Result<(), VectorError> {
        let mut checked = Ok(());
        let mut marked = 0;
        for &env in &self.targets {
            checked = self.check_idle(env);
            if checked.is_err() {
                break;
            }
            // Marking one at a time detects duplicates.
            self.envs[env].in_flight = true;
            marked += 1;
        }
        for &env in &self.targets[..marked] {
            self.envs[env].in_flight = false;
        }
        match checked {
            Err(VectorError::InFlight { env }) if self.targets[..marked].contains(&env) => {
                Err(VectorError::Duplicate { env })
            }
            checked => checked,
        }
    }

    /// Checks that each target can perform its action now. One that has no steps left or will be reset instead ignores
    /// its action, so any is valid.
    fn check_actions(&self, actions: Actions<'_>) -> Result<(), VectorError> {
        let expected = self.targets.iter().map(|&env| self.action_lens[env]).sum();
        VectorError::check_len("action values", actions.num_elements(), expected)?;
        let mut start = 0;
        for &env in &self.targets {
            let len = self.action_lens[env];
            let action = match part(actions, start, len) {
                Actions::Discrete(values) => Action::Discrete(values),
                Actions::Continuous(values) => Action::Continuous(values),
            };
            start += len;
            let state = &self.envs[env];
            match (state.is_over, self.mode) {
                _ if state.steps_left == Some(0) => continue,
                (true, AutoresetMode::NextStep) => continue,
                (true, _) => return Err(VectorError::EpisodeOver { env }),
                (false, _) => {}
            }
            let space = &self.action_spaces[env];
            if !action.fits(space) {
                let error = EnvError::InvalidAction { action: action.to_string(), space: space.to_string() };
                return Err(VectorError::Env { env, error });
            }
        }
        Ok(())
    }

    /// Writes the command of an environment to shared memory.
    pub(super) fn command(&mut self, env: usize, command: Command) {
        let row = self.ring.next_row(env);
        self.ring.pad(row, self.observation_lens[env]);
        self.board.command(env, command, row);
        let state = &mut self.envs[env];
        (state.sent, state.in_flight) = (command, true);
        if let Command::Reset(Some(seed)) = command {
            state.seed = Some(seed);
        }
    }

    /// Starts the commands of the targets.
    pub(super) fn start(&mut self) -> Result<(), VectorError> {
        self.num_in_flight += self.targets.len();
        let workers = self.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let started = workers.perform(&self.targets);
        started.map_err(|fault| self.record_fault(fault))
    }
}

fn part(actions: Actions<'_>, start: usize, len: usize) -> Actions<'_> {
    match actions {
        Actions::Discrete(values) => Actions::Discrete(&values[start..start + len]),
        Actions::Continuous(values) => Actions::Continuous(&values[start..start + len]),
    }
}
