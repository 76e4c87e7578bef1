//! The table of the tasks: Gymnasium's ids, limits, arguments and default values.

use std::sync::LazyLock;

use rl_env::{ActionKind, EnvSpec, nearest};
use serde::Deserialize;

use crate::error::MujocoError;
use crate::value::Value;

/// The family of the tasks.
pub const FAMILY: &str = "MuJoCo";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    task: Vec<TaskSpec>,
}

/// A row of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskSpec {
    pub(crate) id: String,
    pub(crate) max_episode_steps: u32,
    reward_threshold: Option<f64>,
    frames_per_second: u32,
    #[serde(default)]
    pub(crate) camera: CameraSpec,
    /// The arguments with their default values.
    #[serde(default)]
    pub(crate) arguments: Vec<(String, Value)>,
    /// The values of arguments that other versions of the task have, but not this one.
    #[serde(default)]
    pub(crate) constants: Vec<(String, Value)>,
}

/// The camera of a task. Without these values, it looks from an elevation of -45 degrees at the median position of the
/// geometric bodies, from a distance of the size of the model.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CameraSpec {
    pub(crate) distance: Option<f64>,
    pub(crate) lookat: Option<[f64; 3]>,
    /// In degrees.
    pub(crate) elevation: Option<f64>,
}

/// Returns the table.
pub(crate) fn specs() -> &'static [TaskSpec] {
    static SPECS: LazyLock<Vec<TaskSpec>> = LazyLock::new(|| {
        let table: Table = toml::from_str(include_str!("specs.toml"))
            .unwrap_or_else(|error| panic!("invalid table of tasks: {error}"));
        table.task
    });
    &SPECS
}

impl TaskSpec {
    /// Returns true for the rules of version 4, which has other observations, rewards and infos.
    pub(crate) fn is_v4(&self) -> bool {
        self.id.ends_with("-v4")
    }

    /// Returns the row of a task.
    pub(crate) fn find(id: &str) -> Result<&'static Self, MujocoError> {
        specs().iter().find(|spec| spec.id == id).ok_or_else(|| {
            let ids = specs().iter().map(|spec| spec.id.as_str());
            MujocoError::UnknownTask { id: id.to_owned(), nearest: nearest(id, ids).first().copied() }
        })
    }

    /// Returns what a registry knows of the task.
    pub(crate) fn properties(&self) -> EnvSpec {
        EnvSpec {
            max_episode_steps: Some(self.max_episode_steps),
            reward_threshold: self.reward_threshold,
            frames_per_second: Some(f64::from(self.frames_per_second)),
            ..EnvSpec::new(FAMILY, ActionKind::Continuous)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The four kinds of values, among them integers and infinite limits.
    #[test]
    fn values_of_all_kinds_are_read() {
        let ant = TaskSpec::find("Ant-v4").unwrap();
        let value = |name: &str| {
            let all = ant.arguments.iter().chain(&ant.constants);
            all.clone().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        assert_eq!(value("xml_file"), Some("ant.xml".into()));
        assert_eq!(value("frame_skip"), Some(5.0.into()));
        assert_eq!(value("use_contact_forces"), Some(false.into()));
        assert_eq!(value("healthy_z_range"), Some((0.2, 1.0).into()));
        let humanoid = TaskSpec::find("Humanoid-v5").unwrap();
        let limits = ("contact_cost_range".to_owned(), Value::Range(f64::NEG_INFINITY, 10.0));
        assert!(humanoid.arguments.contains(&limits));
    }

    #[test]
    fn ids_are_sorted_and_names_are_unique() {
        assert!(specs().is_sorted_by(|left, right| left.id < right.id));
        for TaskSpec { id, arguments, constants, .. } in specs() {
            let mut names: Vec<&String> = arguments.iter().chain(constants).map(|(name, _)| name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{id}");
        }
    }
}
