//! Snapshots of all or some environments.

use rl_env::snapshot::SavedEnvs;
use rl_env::{AutoresetMode, Batch, Env, VectorEnv, VectorError, VectorPhase, interrupt};

use super::PoolVectorEnv;
use super::vector_state::{self, SlotState};
use crate::slot::Outcome;

impl<E: Env + 'static> PoolVectorEnv<E> {
    /// Returns the state of these environments. They must be in the last batch and must not have been sent to since.
    pub fn snapshot_envs(&self, env_ids: &[usize]) -> Result<Vec<u8>, VectorError> {
        self.phase.check_ready("snapshot was called before the first reset")?;
        let states = env_ids.iter().map(|&env| {
            self.check_idle(env)?;
            let row = self
                .batch()
                .env_ids
                .iter()
                .position(|&id| id == env)
                .ok_or(VectorError::OutOfOrder("only environments in the last batch can be saved"))?;
            self.save_env(env, (self.received - 1) * self.batch_size() + row)
        });
        Ok(SavedEnvs::new(self.autoreset_mode(), states.collect::<Result<_, VectorError>>()?).encode())
    }

    /// Restores states from [`snapshot_envs`](Self::snapshot_envs) to these environments. They must have the same tasks
    /// but need not be the same environments, so that an episode can be forked. Reports them with their saved results,
    /// and the others again with reward 0 and no flags. A batch must hold all environments. On an error nothing
    /// changes.
    pub fn restore_envs(&mut self, snapshot: &[u8], env_ids: &[usize]) -> Result<&Batch, VectorError> {
        self.phase.check_ready("restore_envs was called before the first reset")?;
        if !self.is_ordered() {
            return Err(VectorError::OutOfOrder(
                "some environments can be restored only if a batch holds all of them",
            ));
        }
        for (index, &env) in env_ids.iter().enumerate() {
            self.check_idle(env)?;
            if env_ids[..index].contains(&env) {
                return Err(VectorError::Duplicate { env });
            }
        }
        let mut saved = self.decode(snapshot)?;
        VectorError::check_len("environments to restore", env_ids.len(), saved.envs.len())?;
        saved.check_tasks(env_ids.iter().map(|&env| self.task_name(env)))?;
        for (slot, &env) in saved.envs.iter_mut().zip(env_ids) {
            slot.env_id = env;
        }
        self.check_not_stepping("restore was called between send and recv")?;
        self.wait_unless_panicked()?;
        self.restore_all(&saved.envs)?;
        self.discard()?;
        for env in 0..self.num_envs() {
            self.pool.task().lock(env).outcome = Outcome::default();
        }
        for slot in &saved.envs {
            self.restore_episode(slot);
        }
        for env in 0..self.num_envs() {
            let state = saved.envs.iter().find(|slot| slot.env_id == env);
            self.report_again(env, state.and_then(|slot| slot.final_observation.as_deref()));
        }
        self.receive()
    }

    pub(super) fn save(&self) -> Result<Vec<u8>, VectorError> {
        self.phase.check_ready("snapshot was called before the first reset")?;
        let num_pending = self.num_envs() - self.batch_size();
        let all_received = self.pool.task().takes_turns() && self.num_in_flight == 0;
        // An environment of the last batch that is in flight has two results in the ring, and some other environment
        // has none.
        let has_two_results = self.batch().env_ids.iter().any(|&env| self.in_flight[env]);
        if has_two_results || self.num_in_flight != num_pending && !all_received {
            return Err(VectorError::OutOfOrder("snapshot was called between send and recv"));
        }
        self.wait_for_all();
        let slots = self.pool.task();
        if let Some(error) = slots.arrivals.failure() {
            return Err(error);
        }
        // The results of all environments are consecutive in the ring; some may still have to be received.
        let start = (self.received * self.batch_size() + self.num_in_flight) - self.num_envs();
        let positions = start..start + self.num_envs();
        let states = positions.map(|position| self.save_env(slots.owner(position), position));
        Ok(SavedEnvs::new(self.autoreset_mode(), states.collect::<Result<_, VectorError>>()?).encode())
    }

    pub(super) fn load(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        let saved = self.decode(snapshot)?;
        let tasks: Vec<&str> = (0..self.num_envs()).map(|env| self.task_name(env)).collect();
        saved.check_envs(&tasks, self.is_ordered())?;
        self.check_not_stepping("restore was called between send and recv")?;
        self.wait_unless_panicked()?;
        self.restore_all(&saved.envs)?;
        self.discard_from(saved.envs[0].env_id / self.batch_size() * self.batch_size())?;
        for slot in &saved.envs {
            self.restore_episode(slot);
            self.report_again(slot.env_id, slot.final_observation.as_deref());
        }
        self.phase = VectorPhase::Ready;
        self.receive()
    }

    fn decode(&self, snapshot: &[u8]) -> Result<SavedEnvs<SlotState>, VectorError> {
        self.phase.check_usable()?;
        vector_state::decode(snapshot, self.autoreset_mode(), self.single_observation_space().byte_len())
    }

    fn task_name(&self, env: usize) -> &str {
        &self.tasks()[self.task_ids()[env]]
    }

    /// Returns the state of an environment whose last result is at a position.
    fn save_env(&self, env: usize, position: usize) -> Result<SlotState, VectorError> {
        check_not_interrupted()?;
        let slot = self.pool.task().lock(env);
        let (batch, row) = self.batch_and_row(position);
        let has_final = self.autoreset_mode() == AutoresetMode::SameStep && slot.outcome.episode.is_some();
        Ok(SlotState {
            env_id: env,
            task: self.task_name(env).to_owned(),
            env: slot.env.snapshot(),
            episode: slot.episode,
            episode_over: slot.episode_over,
            outcome: slot.outcome,
            final_observation: has_final.then(|| self.batches[batch].final_observations.row(row).to_vec()),
        })
    }

    /// Restores the snapshots of the environments. On an error those already restored are rolled back.
    fn restore_all(&mut self, states: &[SlotState]) -> Result<(), VectorError> {
        let slots = self.pool.task();
        let mut changed = Vec::with_capacity(states.len());
        for state in states {
            let mut slot = slots.lock(state.env_id);
            let before = slot.env.snapshot();
            let failed = |error| VectorError::Env { env: state.env_id, error };
            match check_not_interrupted().and_then(|()| slot.env.restore(&state.env).map_err(failed)) {
                Ok(()) => changed.push((state.env_id, before)),
                Err(error) => {
                    drop(slot);
                    for &(env, ref before) in changed.iter().rev() {
                        let undone = slots.lock(env).env.restore(before);
                        undone.map_err(|error| VectorError::Env { env, error })?;
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn restore_episode(&mut self, state: &SlotState) {
        let mut slot = self.pool.task().lock(state.env_id);
        slot.continue_episode(state.episode, state.episode_over);
        slot.outcome = state.outcome;
    }

    /// Reports the current state of an environment as its next result.
    fn report_again(&mut self, env: usize, final_observation: Option<&[u8]>) {
        let slots = self.pool.task();
        let mut slot = slots.lock(env);
        let (batch, row) = self.batch_and_row(slots.assign_position(env, &mut slot));
        slot.info = slot.env.info();
        slot.final_info = slot.info.clone();
        slot.env.observe(self.batches[batch].observations.row_mut(row));
        let final_rows = &mut self.batches[batch].final_observations;
        if final_rows.rows() > 0 {
            match final_observation {
                Some(observation) => final_rows.row_mut(row).copy_from_slice(observation),
                None => slot.env.observe(final_rows.row_mut(row)),
            }
        }
        self.in_flight[env] = true;
        self.num_in_flight += 1;
        slots.arrivals.expect(1);
        slots.arrivals.arrive(batch);
    }

    fn batch_and_row(&self, position: usize) -> (usize, usize) {
        (position / self.batch_size() % self.batches.len(), position % self.batch_size())
    }
}

fn check_not_interrupted() -> Result<(), VectorError> {
    if interrupt::poll() { Err(VectorError::Interrupted) } else { Ok(()) }
}
