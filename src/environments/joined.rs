//! Vector environments of different kinds that share batches.

use std::ops::Range;

use ale::RgbImage;
use rl_env::{
    ActionBuffer, Actions, AutoresetMode, Batch, ResetSeeds, Space, VectorEnv, VectorError, snapshot,
};

use super::Environments;

/// Two or more vector environments that are stepped as one. They must have equal observation spaces, reset in the same
/// step, and put all their environments into every batch. Arguments and batches of `Joined` use ids of the joined
/// environments.
pub(super) struct Joined {
    parts: Vec<Part>,
    tasks: Vec<String>,
    task_ids: Vec<usize>,
    action_spaces: Vec<Space>,
    /// The place of each environment: its part, and its id there.
    places: Vec<(usize, usize)>,
    batch: Batch,
}

struct Part {
    environments: Box<dyn Environments>,
    /// For each environment of this part, its id among the joined environments.
    joined_ids: Vec<usize>,
    /// True if its next batch has not been received.
    is_pending: bool,
}

impl Joined {
    /// Joins vector environments. The joined environments are in the order of `tasks`; each task occurs in exactly one
    /// part.
    pub(super) fn new(parts: Vec<Box<dyn Environments>>, tasks: &[&str]) -> Self {
        let mut joined = Self {
            tasks: tasks.iter().map(|&task| task.to_owned()).collect(),
            task_ids: Vec::new(),
            action_spaces: Vec::new(),
            places: Vec::new(),
            batch: Batch::new(0, 0, true),
            parts: parts.into_iter().map(Part::new).collect(),
        };
        for (task_id, task) in tasks.iter().enumerate() {
            for (part_id, part) in joined.parts.iter_mut().enumerate() {
                let environments = &part.environments;
                for (env, &part_task_id) in environments.task_ids().iter().enumerate() {
                    if environments.tasks()[part_task_id] == *task {
                        part.joined_ids[env] = joined.places.len();
                        joined.places.push((part_id, env));
                        joined.task_ids.push(task_id);
                        joined.action_spaces.push(environments.action_spaces()[env].clone());
                    }
                }
            }
        }
        let row_bytes = joined.single_observation_space().byte_len();
        joined.batch = Batch::new(joined.places.len(), row_bytes, true);
        joined
    }

    /// Copies the last batch of each part.
    fn join(&mut self) -> &Batch {
        for part in &self.parts {
            let batch = part.environments.batch();
            for (row, &env) in batch.env_ids.iter().enumerate() {
                copy_row(batch, row, &mut self.batch, part.joined_ids[env]);
            }
        }
        &self.batch
    }

    /// Returns the part of an environment, and its id there.
    fn place(&self, env: usize) -> Result<(usize, usize), VectorError> {
        let num_envs = self.places.len();
        self.places.get(env).copied().ok_or(VectorError::UnknownEnv { env, num_envs })
    }
}

impl Part {
    fn new(environments: Box<dyn Environments>) -> Self {
        let joined_ids = vec![0; environments.num_envs()];
        Self { environments, joined_ids, is_pending: false }
    }
}

impl VectorEnv for Joined {
    fn num_envs(&self) -> usize {
        self.places.len()
    }

    fn batch_size(&self) -> usize {
        self.places.len()
    }

    fn single_observation_space(&self) -> &Space {
        self.parts[0].environments.single_observation_space()
    }

    fn action_spaces(&self) -> &[Space] {
        &self.action_spaces
    }

    fn tasks(&self) -> &[String] {
        &self.tasks
    }

    fn task_ids(&self) -> &[usize] {
        &self.task_ids
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.parts[0].environments.autoreset_mode()
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        for part in &mut self.parts {
            let seeds: Vec<Option<u64>> = part.joined_ids.iter().map(|&env| seeds.of(env)).collect();
            let result = part.environments.reset(ResetSeeds::Each(&seeds));
            result.map_err(|error| with_joined_id(error, &part.joined_ids))?;
            part.is_pending = false;
        }
        Ok(self.join())
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        let env_ids: Vec<usize> = (0..self.places.len()).collect();
        self.send_to(actions, &env_ids)
    }

    /// Receives the batches of all parts, even if one fails. Returns the first error.
    fn recv(&mut self) -> Result<&Batch, VectorError> {
        let mut failure = None;
        for part in self.parts.iter_mut().filter(|part| part.is_pending) {
            match part.environments.recv() {
                Ok(_) => part.is_pending = false,
                // Stays pending: the next call receives its truncated steps and keeps the batches of the other parts.
                Err(error) => {
                    failure.get_or_insert(with_joined_id(error, &part.joined_ids));
                }
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(self.join()),
        }
    }

    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        let parts = self.parts.iter().map(|part| part.environments.snapshot());
        Ok(snapshot::encode(&parts.collect::<Result<Vec<_>, _>>()?))
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<&Batch, VectorError> {
        let parts: Vec<Vec<u8>> = snapshot::decode_vector_state(snapshot)?;
        if parts.len() != self.parts.len() {
            let reason = format!("it must have {} parts, but has {}", self.parts.len(), parts.len());
            return Err(VectorError::BadSnapshot(reason));
        }
        for (part, snapshot) in self.parts.iter_mut().zip(&parts) {
            let result = part.environments.restore(snapshot);
            result.map_err(|error| with_joined_id(error, &part.joined_ids))?;
            part.is_pending = false;
        }
        Ok(self.join())
    }
}

impl Environments for Joined {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        let places = env_ids.iter().map(|&env| self.place(env)).collect::<Result<Vec<_>, _>>()?;
        let lengths = env_ids.iter().map(|&env| self.action_spaces[env].num_elements());
        let (got, expected) = (actions.num_elements(), lengths.clone().sum());
        if got != expected {
            return Err(VectorError::WrongLength { what: "action values", got, expected });
        }
        let mut part_env_ids = vec![Vec::new(); self.parts.len()];
        let mut part_actions = vec![empty_like(actions); self.parts.len()];
        let mut start = 0;
        for ((part, id), length) in places.into_iter().zip(lengths) {
            append(&mut part_actions[part], actions, start..start + length);
            part_env_ids[part].push(id);
            start += length;
        }
        for (part, (actions, ids)) in self.parts.iter_mut().zip(part_actions.iter().zip(&part_env_ids)) {
            let sent = part.environments.send_to(actions.as_actions(), ids);
            sent.map_err(|error| with_joined_id(error, &part.joined_ids))?;
            part.is_pending = true;
        }
        Ok(())
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        let (part, id) = self.place(env)?;
        let Part { environments, joined_ids, .. } = &self.parts[part];
        environments.screen(id).map_err(|error| with_joined_id(error, joined_ids))
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        let (part, id) = self.place(env)?;
        let Part { environments, joined_ids, .. } = &mut self.parts[part];
        environments.limit_steps(id, steps).map_err(|error| with_joined_id(error, joined_ids))
    }

    fn why_state_cannot_be_saved(&self) -> Option<String> {
        self.parts.iter().find_map(|part| part.environments.why_state_cannot_be_saved())
    }

    fn why_state_was_lost(&self, snapshot: &[u8]) -> Option<String> {
        let parts: Vec<Vec<u8>> = snapshot::decode_vector_state(snapshot).ok()?;
        self.parts
            .iter()
            .zip(&parts)
            .find_map(|(part, snapshot)| part.environments.why_state_was_lost(snapshot))
    }

    fn has_failed(&self) -> bool {
        self.parts.iter().any(|part| part.environments.has_failed())
    }
}

/// Returns an empty buffer for actions of the same kind.
fn empty_like(actions: Actions<'_>) -> ActionBuffer {
    match actions {
        Actions::Discrete(_) => ActionBuffer::Discrete(Vec::new()),
        Actions::Continuous(_) => ActionBuffer::Continuous(Vec::new()),
    }
}

/// Appends some elements of actions to a buffer of the same kind.
fn append(buffer: &mut ActionBuffer, actions: Actions<'_>, elements: Range<usize>) {
    match (buffer, actions) {
        (ActionBuffer::Discrete(buffer), Actions::Discrete(actions)) => buffer.extend(&actions[elements]),
        (ActionBuffer::Continuous(buffer), Actions::Continuous(actions)) => buffer.extend(&actions[elements]),
        _ => unreachable!("buffers are created for the kind of the actions"),
    }
}

/// Replaces the part's id of an environment in an error with its id among the joined environments.
fn with_joined_id(mut error: VectorError, joined_ids: &[usize]) -> VectorError {
    if let VectorError::Env { env, .. }
    | VectorError::Panicked { env, .. }
    | VectorError::InFlight { env }
    | VectorError::Duplicate { env }
    | VectorError::MissingPlayer { env, .. }
    | VectorError::EpisodeOver { env } = &mut error
        && let Some(&id) = joined_ids.get(*env)
    {
        *env = id;
    }
    error
}

/// Copies a row of a batch to row `env` of another one, of environment `env`.
fn copy_row(from: &Batch, row: usize, to: &mut Batch, env: usize) {
    to.observations.row_mut(env).copy_from_slice(from.observations.row(row));
    to.final_observations.row_mut(env).copy_from_slice(from.final_observations.row(row));
    copy_results(from, row, to, env);
}

/// Copies the results of a row of a batch, everything except for observations, to row `env` of another one.
pub(super) fn copy_results(from: &Batch, row: usize, to: &mut Batch, env: usize) {
    to.rewards[env] = from.rewards[row];
    to.raw_rewards[env] = from.raw_rewards[row];
    to.terminated[env] = from.terminated[row];
    to.truncated[env] = from.truncated[row];
    to.autoreset[env] = from.autoreset[row];
    to.continues[env] = from.continues[row];
    to.steps[env] = from.steps[row];
    to.episodes[env] = from.episodes[row];
    to.episode_seconds[env] = from.episode_seconds[row];
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use rl_env::Pcg64;
    use vector::{PoolOptions, PoolVectorEnv};

    use super::super::Purpose;
    use super::super::padded::Padded;
    use super::super::registered::registered;
    use super::*;

    /// The length of Acrobot's observations, the longest.
    const LENGTH: usize = 6;
    const TASKS: [&str; 3] = ["MountainCar-v0", "CartPole-v1", "Acrobot-v1"];

    /// Returns environments of these tasks, in their order.
    fn pool(ids: &[&str]) -> PoolVectorEnv<Padded> {
        let envs = registered(ids.iter().copied(), Purpose::Training, false, LENGTH).unwrap();
        let autoreset_mode = AutoresetMode::SameStep;
        PoolVectorEnv::new(envs, PoolOptions { num_threads: 1, autoreset_mode, ..PoolOptions::default() })
            .unwrap()
    }

    /// Returns two environments of each task as one vector environment, and joined from two of them.
    fn whole_and_joined() -> [Box<dyn Environments>; 2] {
        let [car, pole, acrobot] = TASKS;
        let parts: Vec<Box<dyn Environments>> =
            vec![Box::new(pool(&[car, car, acrobot, acrobot])), Box::new(pool(&[pole, pole]))];
        let whole = pool(&[car, car, pole, pole, acrobot, acrobot]);
        [Box::new(whole), Box::new(Joined::new(parts, &TASKS))]
    }

    /// Returns everything about a batch except times.
    fn results(batch: &Batch) -> impl PartialEq + Debug + use<> {
        let rows = (0..batch.len()).map(|row| {
            let [observation, last] =
                [&batch.observations, &batch.final_observations].map(|buffer| buffer.row_f32(row).to_vec());
            let flags =
                [batch.terminated[row], batch.truncated[row], batch.autoreset[row], batch.continues[row]];
            let rewards = [batch.rewards[row], batch.raw_rewards[row]];
            (batch.env_ids[row], observation, last, flags, rewards, batch.steps[row], batch.episodes[row])
        });
        rows.collect::<Vec<_>>()
    }

    /// Steps both with the same random actions, and compares their batches.
    fn check_steps(envs: &mut [Box<dyn Environments>; 2], generator: &mut Pcg64, steps: usize) {
        for step in 0..steps {
            let actions: Vec<i32> = (0..6).map(|_| generator.below(2) as i32).collect();
            let [whole, joined] =
                envs.each_mut().map(|envs| results(envs.step(Actions::Discrete(&actions)).unwrap()));
            assert!(whole == joined, "step {step}: {whole:?}, {joined:?}");
        }
    }

    #[test]
    fn joined_environments_equal_those_of_one_vector_environment() {
        let mut envs = whole_and_joined();
        let [whole, joined] = &envs;
        assert_eq!(whole.single_observation_space(), joined.single_observation_space());
        assert_eq!(whole.action_spaces(), joined.action_spaces());
        assert_eq!((whole.tasks(), whole.task_ids()), (joined.tasks(), joined.task_ids()));
        let [whole, joined] = envs.each_mut().map(|envs| results(envs.reset(ResetSeeds::From(3)).unwrap()));
        assert!(whole == joined, "{whole:?}, {joined:?}");
        let mut generator = Pcg64::new(5);
        check_steps(&mut envs, &mut generator, 250);
        for env in [0, 2, 5] {
            for envs in &mut envs {
                envs.limit_steps(env, Some(20)).unwrap();
            }
        }
        check_steps(&mut envs, &mut generator, 60);
        assert!(envs[1].limit_steps(6, None).is_err());
        // Environment 4 has another id in its part.
        for envs in &mut envs {
            let error = envs.send_to(Actions::Discrete(&[0, 0]), &[4, 4]).unwrap_err();
            assert_eq!(error, VectorError::Duplicate { env: 4 });
        }
        let actions = Actions::Discrete(&[0; 5]);
        assert!(matches!(envs[1].send(actions), Err(VectorError::WrongLength { got: 5, expected: 6, .. })));
    }

    #[test]
    fn a_snapshot_has_all_parts() {
        let mut envs = whole_and_joined();
        for envs in &mut envs {
            envs.reset(ResetSeeds::From(3)).unwrap();
        }
        let mut generator = Pcg64::new(5);
        check_steps(&mut envs, &mut generator, 30);
        let snapshots = envs.each_ref().map(|envs| envs.snapshot().unwrap());
        let last = results(envs[1].batch());
        check_steps(&mut envs, &mut generator, 40);
        for (envs, snapshot) in envs.iter_mut().zip(&snapshots) {
            assert!(results(envs.restore(snapshot).unwrap()) == last);
        }
        check_steps(&mut envs, &mut Pcg64::new(6), 40);
        assert_eq!(envs[1].why_state_was_lost(&snapshots[1]), None);
        let error = envs[1].restore(&snapshots[1][..9]).unwrap_err();
        assert!(matches!(error, VectorError::BadSnapshot(_)), "{error:?}");
        assert_eq!(error.to_string().matches("cannot restore the snapshot").count(), 1, "{error}");
    }
}
