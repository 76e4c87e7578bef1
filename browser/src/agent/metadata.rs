//! The metadata of a file of `ale-train export`, as far as the page needs it.

use std::collections::{BTreeMap, HashMap};

use ale::{MAX_SIDE, MAX_STACK_NUM};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::FileError;
use crate::network::{OutputKind, Structure, TaskActions, TaskScales, TorsoKind};

/// The largest number of outputs for an action.
const MOST_ATOMS: usize = 1 << 16;

/// The largest number of frames of a step: the page shows nothing else before it has all of them.
const MOST_FRAMES: u32 = 240;

/// The metadata of an agent.
#[derive(Clone, Debug)]
pub(super) struct Metadata {
    pub(super) algorithm: String,
    pub(super) frames: u64,
    pub(super) structure: Structure,
    pub(super) experiment: Experiment,
}

/// The description of the network.
#[derive(Deserialize)]
struct Description {
    scales: TaskScales,
}

/// The experiment in which the agent was trained.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Experiment {
    pub(super) environments: EnvironmentSettings,
    #[serde(default)]
    pub(super) evaluation: EvaluationSettings,
    #[serde(default)]
    dqn: LearnerSettings,
    #[serde(default)]
    pqn: LearnerSettings,
}

/// The preprocessing, with the defaults of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(super) struct EnvironmentSettings {
    pub(super) frame_skip: u32,
    pub(super) repeat_action_probability: f32,
    pub(super) maxpool: bool,
    pub(super) noop_max: u32,
    pub(super) use_fire_reset: bool,
    pub(super) fire_after_lost_life: bool,
    pub(super) full_action_space: bool,
    pub(super) max_num_frames_per_episode: u32,
    /// Settings of single games.
    pub(super) game: BTreeMap<String, GameSettings>,
}

impl Default for EnvironmentSettings {
    fn default() -> Self {
        Self {
            frame_skip: 4,
            repeat_action_probability: 0.0,
            maxpool: true,
            noop_max: 30,
            use_fire_reset: true,
            fire_after_lost_life: true,
            full_action_space: false,
            max_num_frames_per_episode: 108_000,
            game: BTreeMap::new(),
        }
    }
}

/// The overrides of a game.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GameSettings {
    pub(super) mode: Option<Drawn>,
    pub(super) difficulty: Option<Drawn>,
    pub(super) max_num_frames_per_episode: Option<u32>,
}

/// A setting of a game: a value, or several of which each episode draws one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Drawn {
    Always(u32),
    OneOf(Vec<u32>),
}

impl Drawn {
    pub(super) fn values(&self) -> Vec<u32> {
        match self {
            Self::Always(value) => vec![*value],
            Self::OneOf(values) => values.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct EvaluationSettings {
    pub(super) repeat_action_probability: Option<f32>,
}

/// The settings of DQN, or of PQN, which has the first one only.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct LearnerSettings {
    eval_epsilon: Option<f64>,
    distribution: Option<String>,
    v_min: Option<f32>,
    v_max: Option<f32>,
}

impl Experiment {
    /// Returns the probability of a random action of an agent with action values.
    pub(super) fn epsilon(&self, algorithm: &str) -> f64 {
        let (section, default) = if algorithm == "dqn" { (&self.dqn, 0.05) } else { (&self.pqn, 0.0) };
        section.eval_epsilon.unwrap_or(default)
    }

    /// Returns the returns of a categorical distribution, if DQN learned one.
    fn support(&self, num_atoms: usize) -> Option<Vec<f32>> {
        let is_categorical = self.dqn.distribution.as_deref() == Some("c51");
        let (low, high) = (self.dqn.v_min.unwrap_or(-10.0), self.dqn.v_max.unwrap_or(10.0));
        let step = (high - low) / (num_atoms.max(2) - 1) as f32;
        is_categorical.then(|| (0..num_atoms).map(|atom| low + atom as f32 * step).collect())
    }
}

impl Metadata {
    pub(super) fn read(texts: &HashMap<String, String>) -> Result<Self, FileError> {
        let algorithm = text(texts, "algorithm")?.to_owned();
        let experiment = toml::from_str(text(texts, "experiment")?);
        let experiment: Experiment = experiment.map_err(|_| FileError::Metadata("experiment"))?;
        let frames = experiment.environments.frame_skip;
        if frames > MOST_FRAMES {
            return Err(FileError::Unsupported(format!("whose steps have {frames} frames")));
        }
        let num_atoms = json(texts, "num_atoms")?;
        if !(1..=MOST_ATOMS).contains(&num_atoms) {
            return Err(FileError::Metadata("num_atoms"));
        }
        let outputs = match algorithm.as_str() {
            "ppo" => OutputKind::Policy,
            "dqn" | "pqn" => experiment
                .support(num_atoms)
                .map_or(OutputKind::Quantiles(num_atoms), OutputKind::Categorical),
            other => return Err(FileError::Unsupported(format!("of the algorithm {other}"))),
        };
        let tasks: Vec<TaskActions> = json(texts, "tasks")?;
        tasks.iter().try_for_each(TaskActions::check)?;
        let structure = Structure {
            torso: json::<TorsoKind>(texts, "torso")?,
            image: image(texts)?,
            is_shared: json::<String>(texts, "head")? == "shared",
            outputs,
            tasks,
            scales: json::<Description>(texts, "network")?.scales,
        };
        Ok(Self { algorithm, frames: json(texts, "frames")?, structure, experiment })
    }
}

/// Returns the number of frames of an observation, their height and their width.
fn image(texts: &HashMap<String, String>) -> Result<[usize; 3], FileError> {
    const KEY: &str = "observation_shape";
    let shape: Vec<usize> = json(texts, KEY)?;
    let image: Result<[usize; 3], _> = shape.try_into();
    let image = image.map_err(|_| FileError::Unsupported("that does not observe images".to_owned()))?;
    let [frames, height, width] = image;
    let is_possible = frames <= MAX_STACK_NUM && height.max(width) <= MAX_SIDE;
    if is_possible { Ok(image) } else { Err(FileError::Metadata(KEY)) }
}

fn text<'a>(texts: &'a HashMap<String, String>, key: &'static str) -> Result<&'a str, FileError> {
    texts.get(key).map(String::as_str).ok_or(FileError::Metadata(key))
}

fn json<T: DeserializeOwned>(texts: &HashMap<String, String>, key: &'static str) -> Result<T, FileError> {
    serde_json::from_str(text(texts, key)?).map_err(|_| FileError::Metadata(key))
}
