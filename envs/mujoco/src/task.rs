use std::path::PathBuf;
use std::sync::Arc;

use rl_env::{Bound, Dtype, Space};

use crate::arguments::Arguments;
use crate::error::MujocoError;
use crate::installation::Installation;
use crate::model::Model;
use crate::rules::{Part, Rules};
use crate::specs::{CameraSpec, TaskSpec, specs};
use crate::tasks::rules_of;
use crate::value::Value;

/// A task with its arguments and its model, from which environments are made. Cloning is cheap.
#[derive(Clone)]
pub struct Task(Arc<Parts>);

struct Parts {
    spec: &'static TaskSpec,
    model: Arc<Model>,
    rules: Rules,
    frame_skip: u32,
    observation_space: Space,
    action_space: Space,
}

impl Task {
    /// Returns the ids of all tasks, sorted.
    pub fn ids() -> impl Iterator<Item = &'static str> {
        specs().iter().map(|spec| spec.id.as_str())
    }

    /// Returns the names and default values of the arguments of a task, in Gymnasium's order.
    pub fn arguments(id: &str) -> Result<&'static [(String, Value)], MujocoError> {
        TaskSpec::find(id).map(|spec| spec.arguments.as_slice())
    }

    /// Loads the library and the model of a task. Arguments that are not given have Gymnasium's default values.
    ///
    /// `xml_file` is the default model of a task of the installation, such as `ant.xml`, or the path of any other
    /// model.
    pub fn load(installation: &Installation, id: &str, given: &[(&str, Value)]) -> Result<Self, MujocoError> {
        let arguments = Arguments::new(TaskSpec::find(id)?, given)?;
        let xml_file = arguments.text("xml_file").unwrap_or_default();
        let path = installation.model(xml_file)?.unwrap_or_else(|| PathBuf::from(xml_file));
        let model = Model::load(installation.library()?, &path)?;
        let rules = rules_of(arguments.spec())(&arguments, &model)?;
        Ok(Self(Arc::new(Parts {
            spec: arguments.spec(),
            frame_skip: arguments.number("frame_skip") as u32,
            observation_space: observation_space(&rules.observation, &model),
            action_space: action_space(&model),
            rules,
            model: Arc::new(model),
        })))
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &'static str {
        &self.0.spec.id
    }

    /// Returns the number of steps after which Gymnasium truncates episodes of this task.
    pub fn max_episode_steps(&self) -> u32 {
        self.0.spec.max_episode_steps
    }

    /// Returns the names of the values that [`Info`](crate::Info) has after a step. After a reset it has only the first
    /// few of them.
    pub fn info_names(&self) -> &'static [&'static str] {
        self.rules().reward_rule.names()
    }

    pub(crate) fn camera(&self) -> &'static CameraSpec {
        &self.0.spec.camera
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.0.model
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// Returns the number of MuJoCo's steps in a step of the environment.
    pub(crate) fn frame_skip(&self) -> u32 {
        self.0.frame_skip
    }

    pub(crate) fn observation_space(&self) -> &Space {
        &self.0.observation_space
    }

    pub(crate) fn action_space(&self) -> &Space {
        &self.0.action_space
    }
}

fn observation_space(parts: &[Part], model: &Model) -> Space {
    Space::Box {
        low: Bound::All(f64::NEG_INFINITY),
        high: Bound::All(f64::INFINITY),
        shape: vec![parts.iter().map(|part| part.len(model)).sum()],
        dtype: Dtype::F64,
    }
}

fn action_space(model: &Model) -> Space {
    let ranges = model.control_ranges().iter().map(|[low, high]| (*low as f32, *high as f32));
    Space::float_ranges(&ranges.collect::<Vec<_>>())
}
