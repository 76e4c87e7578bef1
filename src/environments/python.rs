//! Environments in Python.

use std::ops::Range;

use ale::RgbImage;
use anyhow::Result;
use gymnasium_workers::{BatchOrder, EnvGroup, RgbFrame, WorkerOptions, WorkerVectorEnv, WrapperOptions};
use rl_env::{
    Actions, AutoresetMode, Batch, ObservationBuffer, ResetSeeds, Space, VectorEnv, VectorError, snapshot,
};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::{Environments, MAX_EPISODE_STEPS, Purpose};
use crate::config::GymnasiumSettings;

/// Builds environments, given the name and the number of each. Vectors of observations of different lengths are padded
/// to the longest, and to at least `min_observation_length` elements.
pub(super) fn build(
    groups: &[(&str, usize)],
    settings: &GymnasiumSettings,
    purpose: Purpose,
    workers: usize,
    batch_size: usize,
    min_observation_length: usize,
) -> Result<Box<dyn Environments>> {
    let are_shown = purpose == Purpose::Showing;
    let mut options = settings.env_options(are_shown);
    if purpose != Purpose::Training {
        options.wrappers.push(time_limit());
    }
    let groups: Vec<EnvGroup> = groups
        .iter()
        .map(|&(name, num_envs)| EnvGroup { name: name.to_owned(), num_envs, options: options.clone() })
        .collect();
    let workers = WorkerOptions {
        workers,
        batch_size,
        batch_order: BatchOrder::InTurn,
        autoreset_mode: if are_shown { AutoresetMode::Disabled } else { AutoresetMode::SameStep },
        flatten: true,
        action_masks: settings.action_masks,
        pad: Some(min_observation_length),
        python: settings.python.clone(),
        definitions: settings.definitions.clone(),
        timeout: settings.timeout,
        ..WorkerOptions::default()
    };
    let envs = WorkerVectorEnv::new(&groups, &workers)?;
    Ok(Box::new(PythonEnvironments::new(envs, are_shown)))
}

/// Returns the wrapper that ends endless episodes of evaluations.
fn time_limit() -> WrapperOptions {
    let limit = ("max_episode_steps".to_owned(), MAX_EPISODE_STEPS.into());
    WrapperOptions { name: "gymnasium.wrappers.TimeLimit".to_owned(), kwargs: Map::from_iter([limit]) }
}

/// Environments in Python.
///
/// They may fail, because of an exception or because a worker ends. `recv` returns the error. After it the steps in
/// progress, and all further ones, end in truncations without reward, so that learners reach a state from which they
/// continue with new episodes.
struct PythonEnvironments {
    envs: WorkerVectorEnv,
    /// True if they render frames.
    are_shown: bool,
    /// The last observation of each environment.
    observations: ObservationBuffer,
    /// The first environment of the next batch.
    next: usize,
    failure: Option<Failure>,
}

/// A failure of an environment.
struct Failure {
    reason: String,
    /// The error, unless `recv` has returned it.
    unreported: Option<VectorError>,
    /// The last batch.
    batch: Batch,
}

/// A snapshot.
#[derive(Serialize, Deserialize)]
enum Snapshot {
    /// The state of all environments.
    State(Vec<u8>),
    /// The reason why there is none.
    Lost(String),
}

impl PythonEnvironments {
    fn new(envs: WorkerVectorEnv, are_shown: bool) -> Self {
        let row_bytes = envs.single_observation_space().byte_len();
        let observations = ObservationBuffer::new(envs.num_envs(), row_bytes);
        Self { envs, are_shown, observations, next: 0, failure: None }
    }

    /// Notes the last batch: after a failure, episodes are truncated to these observations.
    fn received(&mut self) -> &Batch {
        let batch = self.envs.batch();
        for (row, &env) in batch.env_ids.iter().enumerate() {
            self.observations.row_mut(env).copy_from_slice(batch.observations.row(row));
        }
        self.next = (batch.env_ids[0] + batch.len()) % self.envs.num_envs();
        batch
    }

    /// Leaves the report of a failure to `recv`: the learner has acted.
    fn sent(&mut self, sent: Result<(), VectorError>) -> Result<(), VectorError> {
        match sent {
            Err(error) if !self.envs.is_usable() => {
                self.fail(&error, Some(error.clone()));
                Ok(())
            }
            sent => sent,
        }
    }

    fn fail(&mut self, error: &VectorError, unreported: Option<VectorError>) {
        self.failure =
            Some(Failure { reason: first_line(error), unreported, batch: self.envs.batch().clone() });
    }

    /// Returns the next batch after a failure.
    fn truncated(&mut self) -> Batch {
        let batch_size = self.envs.batch_size();
        let mut batch = Batch::new(batch_size, self.observations.row_bytes(), true);
        for (row, env) in (self.next..self.next + batch_size).enumerate() {
            let is_resting = self.envs.is_resting(env);
            batch.env_ids[row] = env;
            batch.observations.row_mut(row).copy_from_slice(self.observations.row(env));
            batch.final_observations.row_mut(row).copy_from_slice(self.observations.row(env));
            (batch.truncated[row], batch.autoreset[row]) = (!is_resting, is_resting);
            batch.steps[row] = u32::from(!is_resting);
        }
        self.next = (self.next + batch_size) % self.envs.num_envs();
        batch
    }

    /// Returns true if this error of a snapshot says that the environments have none, and not that a worker has ended.
    fn is_unsaved(&self, error: &VectorError) -> bool {
        matches!(error, VectorError::Env { .. }) && self.envs.is_usable()
    }
}

impl VectorEnv for PythonEnvironments {
    fn num_envs(&self) -> usize {
        self.envs.num_envs()
    }

    fn batch_size(&self) -> usize {
        self.envs.batch_size()
    }

    fn single_observation_space(&self) -> &Space {
        self.envs.single_observation_space()
    }

    fn action_spaces(&self) -> &[Space] {
        self.envs.action_spaces()
    }

    fn tasks(&self) -> &[String] {
        self.envs.tasks()
    }

    fn task_ids(&self) -> &[usize] {
        self.envs.task_ids()
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.envs.autoreset_mode()
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        self.envs.reset(seeds)?;
        self.failure = None;
        Ok(self.received())
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        if self.has_failed() {
            return Ok(());
        }
        let sent = self.envs.send(actions);
        self.sent(sent)
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        if let Some(Failure { reason, mut unreported, batch }) = self.failure.take() {
            let error = unreported.take();
            let batch = if error.is_some() { batch } else { self.truncated() };
            let failure = self.failure.insert(Failure { reason, unreported, batch });
            return error.map_or(Ok(&failure.batch), Err);
        }
        if let Err(error) = self.envs.recv().map(drop) {
            if matches!(error, VectorError::Env { .. }) {
                self.fail(&error, None);
            }
            return Err(error);
        }
        Ok(self.received())
    }

    fn batch(&self) -> &Batch {
        self.failure.as_ref().map_or_else(|| self.envs.batch(), |failure| &failure.batch)
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        let saved = match &self.failure {
            Some(failure) => Snapshot::Lost(failure.reason.clone()),
            None => match self.envs.snapshot() {
                Ok(state) => Snapshot::State(state),
                Err(error) if self.is_unsaved(&error) => Snapshot::Lost(first_line(&error)),
                Err(error) => return Err(error),
            },
        };
        Ok(snapshot::encode(&saved))
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<&Batch, VectorError> {
        match snapshot::decode_vector_state(bytes)? {
            Snapshot::State(state) => self.envs.restore(&state)?,
            Snapshot::Lost(reason) => return Err(VectorError::BadSnapshot(reason)),
        };
        self.failure = None;
        Ok(self.received())
    }
}

/// Returns an error without traceback and output.
fn first_line(error: &VectorError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl Environments for PythonEnvironments {
    fn send_to(&mut self, actions: Actions<'_>, env_ids: &[usize]) -> Result<(), VectorError> {
        if self.has_failed() {
            return Ok(());
        }
        let sent = self.envs.send_to(actions, env_ids);
        self.sent(sent)
    }

    fn screen(&self, env: usize) -> Result<Option<RgbImage>, VectorError> {
        if !self.are_shown {
            return Ok(None);
        }
        let RgbFrame { height, width, pixels } = self.envs.render(env)?;
        Ok(Some(RgbImage { height, width, pixels }))
    }

    fn steps_per_second(&self, env: usize) -> Result<Option<f64>, VectorError> {
        self.envs.render_fps(env)
    }

    fn limit_steps(&mut self, env: usize, steps: Option<u64>) -> Result<(), VectorError> {
        self.envs.limit_steps(env, steps)
    }

    fn why_state_cannot_be_saved(&self) -> Option<String> {
        self.envs.snapshot().err().filter(|error| self.is_unsaved(error)).map(|error| first_line(&error))
    }

    fn why_state_was_lost(&self, snapshot: &[u8]) -> Option<String> {
        match snapshot::decode_vector_state(snapshot) {
            Ok(Snapshot::Lost(reason)) => Some(reason),
            _ => None,
        }
    }

    fn join_snapshots(&self, parts: &[Vec<u8>]) -> Result<Vec<u8>, VectorError> {
        let mut states = Vec::new();
        for part in parts {
            match snapshot::decode_vector_state(part)? {
                Snapshot::State(state) => states.push(state),
                lost @ Snapshot::Lost(_) => return Ok(snapshot::encode(&lost)),
            }
        }
        Ok(snapshot::encode(&Snapshot::State(gymnasium_workers::join_snapshots(&states)?)))
    }

    fn part_of_snapshot(&self, bytes: &[u8], envs: Range<usize>) -> Result<Vec<u8>, VectorError> {
        let part = match snapshot::decode_vector_state(bytes)? {
            Snapshot::State(state) => Snapshot::State(gymnasium_workers::part_of_snapshot(&state, envs)?),
            lost @ Snapshot::Lost(_) => lost,
        };
        Ok(snapshot::encode(&part))
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}
