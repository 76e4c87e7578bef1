use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rl_env::{
    ActionBuffer, Actions, AutoresetMode, Batch, EnvError, EpisodeStats, ObservationBuffer, ResetSeeds,
    Space, VectorEnv, VectorError,
};

use super::{Results, spaces_of, to_array};
use crate::signals::Stopped;

/// A vector environment of Gymnasium in this process, through the bridge `ale_train.bridge.Bridge`.
pub(super) struct HostVectorEnv {
    bridge: Py<PyAny>,
    /// Keeps the exceptions of the environments.
    stopped: Stopped,
    observation_space: Space,
    action_spaces: Vec<Space>,
    tasks: Vec<String>,
    task_ids: Vec<usize>,
    mode: AutoresetMode,
    batch: Batch,
    /// The statistics of the current episodes.
    episodes: Vec<EpisodeStats>,
    /// The environments whose next step is an autoreset.
    is_over: Vec<bool>,
    actions: Option<ActionBuffer>,
}

impl HostVectorEnv {
    /// Describes the vector environment of a bridge.
    pub(super) fn new(bridge: Py<PyAny>, stopped: Stopped) -> Result<Self, String> {
        Python::attach(|py| Self::describe(py, bridge, stopped)).map_err(|error| error.to_string())
    }

    fn describe(py: Python<'_>, bridge: Py<PyAny>, stopped: Stopped) -> PyResult<Self> {
        let attribute = |name: &str| bridge.bind(py).getattr(name);
        let (observation_space, action_space) = spaces_of(attribute("spaces")?.extract()?)?;
        let (num_envs, name): (usize, String) =
            (attribute("num_envs")?.extract()?, attribute("name")?.extract()?);
        let same_step: bool = attribute("same_step")?.extract()?;
        let mode = if same_step { AutoresetMode::SameStep } else { AutoresetMode::NextStep };
        let batch = Batch::new(num_envs, observation_space.byte_len(), same_step);
        let batch = match attribute("mask_bytes")?.extract()? {
            0 => batch,
            bytes => batch.with_action_masks(bytes),
        };
        Ok(Self {
            bridge,
            stopped,
            observation_space,
            action_spaces: vec![action_space; num_envs],
            tasks: vec![name],
            task_ids: vec![0; num_envs],
            mode,
            batch,
            episodes: vec![EpisodeStats::default(); num_envs],
            is_over: vec![false; num_envs],
            actions: None,
        })
    }

    /// Runs Python code. An exception ends the run and is raised at its end.
    fn with_python(
        &mut self,
        code: impl FnOnce(&mut Self, Python<'_>) -> PyResult<()>,
    ) -> Result<&Batch, VectorError> {
        let stopped = self.stopped.clone();
        if stopped.if_true(|py| code(self, py).map(|()| false)) {
            let error = EnvError::Failed("the vector environment raised an exception".to_owned());
            return Err(VectorError::Env { env: 0, error });
        }
        Ok(&self.batch)
    }

    fn read(&mut self, results: &Results<'_>) -> PyResult<()> {
        let Batch { observations, final_observations, action_masks, final_action_masks, .. } =
            &mut self.batch;
        fill(observations, results.observations.as_slice()?);
        fill(final_observations, results.final_observations.as_slice()?);
        fill(action_masks, results.action_masks.as_slice()?);
        fill(final_action_masks, results.final_action_masks.as_slice()?);
        let (terminated, truncated) = (results.terminated.as_slice()?, results.truncated.as_slice()?);
        let rewards = results.rewards.as_slice()?;
        for env in 0..self.batch.len() {
            self.read_row(env, rewards[env], terminated[env], truncated[env]);
        }
        Ok(())
    }

    fn read_row(&mut self, env: usize, reward: f64, terminated: bool, truncated: bool) {
        let Self { batch, episodes, is_over, mode, .. } = self;
        let (autoreset, has_ended) = (is_over[env], terminated || truncated);
        is_over[env] = has_ended && *mode == AutoresetMode::NextStep;
        batch.autoreset[env] = autoreset;
        batch.steps[env] = u32::from(!autoreset);
        (batch.terminated[env], batch.truncated[env]) = (terminated, truncated);
        (batch.rewards[env], batch.raw_rewards[env]) = (reward as f32, reward as f32);
        let episode = &mut episodes[env];
        episode.total_reward += reward;
        episode.length += u64::from(!autoreset);
        batch.episodes[env] = has_ended.then(|| std::mem::take(episode));
    }
}

/// Copies rows, one after the other, to a buffer.
fn fill(buffer: &mut ObservationBuffer, given: &[u8]) {
    let given = given.chunks(buffer.row_bytes().max(1));
    buffer.rows_mut().zip(given).for_each(|(row, given)| row.copy_from_slice(given));
}

impl VectorEnv for HostVectorEnv {
    fn num_envs(&self) -> usize {
        self.batch.len()
    }

    fn batch_size(&self) -> usize {
        self.batch.len()
    }

    fn single_observation_space(&self) -> &Space {
        &self.observation_space
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
        self.mode
    }

    fn reset(&mut self, seeds: ResetSeeds<'_>) -> Result<&Batch, VectorError> {
        let seed = seeds.of(0);
        self.with_python(|this, py| {
            let rows = this.bridge.bind(py).call_method1("reset", (seed,))?;
            let (observations, masks): (PyReadonlyArray1<'_, u8>, PyReadonlyArray1<'_, u8>) =
                rows.extract()?;
            let (num_envs, row_bytes) = (this.batch.len(), this.batch.observations.row_bytes());
            let batch = Batch::new(num_envs, row_bytes, this.mode == AutoresetMode::SameStep);
            this.batch = match this.batch.action_masks.row_bytes() {
                0 => batch,
                bytes => batch.with_action_masks(bytes),
            };
            this.episodes.fill(EpisodeStats::default());
            this.is_over.fill(false);
            fill(&mut this.batch.observations, observations.as_slice()?);
            fill(&mut this.batch.action_masks, masks.as_slice()?);
            Ok(())
        })
    }

    fn send(&mut self, actions: Actions<'_>) -> Result<(), VectorError> {
        self.actions = Some(match actions {
            Actions::Discrete(elements) => ActionBuffer::Discrete(elements.to_vec()),
            Actions::Continuous(elements) => ActionBuffer::Continuous(elements.to_vec()),
        });
        Ok(())
    }

    fn recv(&mut self) -> Result<&Batch, VectorError> {
        let actions = self.actions.take().ok_or(VectorError::OutOfOrder("send actions before recv"))?;
        self.with_python(|this, py| {
            let results = this.bridge.bind(py).call_method1("step", (to_array(py, actions),))?;
            this.read(&results.extract()?)
        })
    }

    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn snapshot(&self) -> Result<Vec<u8>, VectorError> {
        Err(VectorError::OutOfOrder("the state of a vector environment of Python cannot be saved"))
    }

    fn restore(&mut self, _: &[u8]) -> Result<&Batch, VectorError> {
        Err(VectorError::OutOfOrder("the state of a vector environment of Python cannot be restored"))
    }
}
