//! The interpreter of the tests, and random actions.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use gymnasium_workers::{EnvGroup, EnvOptions, WorkerOptions, WorkerVectorEnv};
use rl_env::{ActionBuffer, ActionKind, Batch, EnvError, Pcg64, Space, VectorEnv, VectorError};
use serde_json::{Map, Value};

/// The directory of the environments of the tests.
pub(crate) fn python_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python")
}

/// Returns a Python interpreter with Gymnasium. Without one, skips the test, or fails in CI.
pub(crate) fn python() -> Option<PathBuf> {
    static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let python = env::var_os("GYMNASIUM_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
        let import = "import gymnasium, numpy; assert gymnasium.__version__ >= '1.4', gymnasium.__version__";
        match Command::new(&python).args(["-c", import]).output() {
            Ok(output) if output.status.success() => Ok(python),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
    match &*PYTHON {
        Ok(python) => Some(python.clone()),
        Err(error) => {
            let reason = format!("GYMNASIUM_PYTHON must be a Python with gymnasium>=1.4: {error}");
            assert!(env::var_os("CI").is_none(), "{reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// Returns options with a number of workers, for tests that need Gymnasium.
pub(crate) fn options(workers: usize) -> Option<WorkerOptions> {
    let python = Some(python()?);
    Some(WorkerOptions { workers, python, paths: vec![python_directory()], ..WorkerOptions::default() })
}

/// Returns a group of environments.
pub(crate) fn group(name: &str, num_envs: usize) -> EnvGroup {
    EnvGroup { name: name.to_owned(), num_envs, options: EnvOptions::default() }
}

/// Returns a group of environments with keyword arguments in JSON.
pub(crate) fn group_with(name: &str, num_envs: usize, kwargs: &str) -> EnvGroup {
    let kwargs: Map<String, Value> = serde_json::from_str(kwargs).unwrap();
    EnvGroup { options: EnvOptions { kwargs, ..EnvOptions::default() }, ..group(name, num_envs) }
}

/// Makes environments of one name.
pub(crate) fn make(name: &str, num_envs: usize, options: &WorkerOptions) -> WorkerVectorEnv {
    WorkerVectorEnv::new(&[group(name, num_envs)], options).unwrap_or_else(|error| panic!("{error}"))
}

/// Draws an action for each environment of the last batch.
pub(crate) fn draw(generator: &mut Pcg64, envs: &WorkerVectorEnv) -> ActionBuffer {
    let spaces = envs.action_spaces();
    draw_for(generator, envs.batch().env_ids.iter().map(|&env| &spaces[env]))
}

/// Draws an action of each of these spaces.
pub(crate) fn draw_for<'a>(generator: &mut Pcg64, spaces: impl Iterator<Item = &'a Space>) -> ActionBuffer {
    let (mut discrete, mut continuous) = (Vec::new(), Vec::new());
    for space in spaces {
        let mut row = vec![0; space.byte_len()];
        space.sample(generator, &mut row);
        let leaf = &space.leaves()[0];
        let elements = (0..space.num_elements()).map(|index| leaf.element(&row, index));
        match ActionKind::of(space) {
            Some(ActionKind::Continuous) => continuous.extend(elements.map(|element| element as f32)),
            _ => discrete.extend(elements.map(|element| element as i32)),
        }
    }
    if continuous.is_empty() { discrete.into() } else { continuous.into() }
}

/// Everything about a row of a batch that must not depend on time or workers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) observation: Vec<u8>,
    pub(crate) final_observation: Option<Vec<u8>>,
    pub(crate) reward: f32,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    pub(crate) autoreset: bool,
    pub(crate) steps: u32,
    /// The return and the length of the episode that ended.
    pub(crate) episode: Option<(f64, u64)>,
}

/// Returns a row of a batch.
pub(crate) fn row(batch: &Batch, index: usize) -> Row {
    let has_final = batch.final_observations.rows() > 0;
    Row {
        observation: batch.observations.row(index).to_vec(),
        final_observation: has_final.then(|| batch.final_observations.row(index).to_vec()),
        reward: batch.rewards[index],
        terminated: batch.terminated[index],
        truncated: batch.truncated[index],
        autoreset: batch.autoreset[index],
        steps: batch.steps[index],
        episode: batch.episodes[index].map(|episode| (episode.total_reward, episode.length)),
    }
}

/// Returns the rows of a batch.
pub(crate) fn rows(batch: &Batch) -> Vec<Row> {
    (0..batch.len()).map(|index| row(batch, index)).collect()
}

/// Returns the index and the message of an environment's error.
#[track_caller]
pub(crate) fn failure(error: VectorError) -> (usize, String) {
    match error {
        VectorError::Env { env, error: EnvError::Failed(message) } => (env, message),
        other => panic!("{other}"),
    }
}
