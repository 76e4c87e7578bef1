use std::collections::BTreeMap;
use std::error::Error;

use thiserror::Error;

use crate::{ActionKind, BoxedEnv, Env, TimeLimit, nearest};

/// The error of a factory.
pub type FactoryError = Box<dyn Error + Send + Sync>;

/// An error of a [`Registry`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The id is unknown.
    #[error("there is no environment {id:?}{}", nearest.as_ref().map_or_else(String::new, |id| format!(
        "; the nearest is {id:?}"
    )))]
    Unknown {
        /// The id as it was given.
        id: String,
        /// The nearest registered id, if any is similar.
        nearest: Option<String>,
    },
    /// The id is already registered.
    #[error("an environment {id:?} is already registered")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The environment's factory failed.
    #[error("environment {id:?} cannot be built: {source}")]
    Factory {
        /// The id of the environment.
        id: String,
        /// The cause.
        source: FactoryError,
    },
}

/// Properties of a registered environment that are known before it is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvSpec {
    /// The family of environments to which it belongs, such as classic control.
    pub family: &'static str,
    /// The kind of its actions.
    pub action_kind: ActionKind,
    /// The number of steps after which episodes are truncated, if limited.
    pub max_episode_steps: Option<u32>,
    /// The mean return at which the task is considered solved.
    pub reward_threshold: Option<f64>,
    /// The largest expected return of any policy within the time limit, if it is known.
    pub best_return: Option<f64>,
    /// The number of [pictures](Env::render) in a second at the usual speed, one a step, if there are pictures.
    pub frames_per_second: Option<f64>,
}

impl EnvSpec {
    /// Returns the properties of an environment without time limit, of which no returns are known.
    pub const fn new(family: &'static str, action_kind: ActionKind) -> Self {
        Self {
            family,
            action_kind,
            max_episode_steps: None,
            reward_threshold: None,
            best_return: None,
            frames_per_second: None,
        }
    }

    /// Boxes an environment, with the time limit if there is one.
    pub fn limit(&self, env: impl Env + 'static) -> BoxedEnv {
        match self.max_episode_steps {
            Some(steps) => BoxedEnv::new(TimeLimit::new(env, steps)),
            None => BoxedEnv::new(env),
        }
    }
}

/// A registry of environments by id, such as Gymnasium's `CartPole-v1`, each with a factory.
///
/// ```
/// use rl_env::{ActionKind, EnvSpec, Registry, RegistryError};
///
/// let mut registry = Registry::new();
/// let spec = EnvSpec { max_episode_steps: Some(100), ..EnvSpec::new("mazes", ActionKind::Discrete) };
/// registry.register("Maze-v0", spec, || Err("the map is missing".into()))?;
/// assert_eq!(registry.ids().collect::<Vec<_>>(), ["Maze-v0"]);
/// let error = registry.make("maze-v1").err().unwrap();
/// assert_eq!(error.to_string(), r#"there is no environment "maze-v1"; the nearest is "Maze-v0""#);
/// # Ok::<(), RegistryError>(())
/// ```
#[derive(Default)]
pub struct Registry {
    /// In the order of registration.
    entries: Vec<Entry>,
    /// The indices of the entries by their ids.
    indices: BTreeMap<String, usize>,
}

struct Entry {
    id: String,
    spec: EnvSpec,
    factory: Box<dyn Fn() -> Result<BoxedEnv, FactoryError> + Send + Sync>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers an environment. The factory has to apply the time limit of `spec` itself, with [`EnvSpec::limit`].
    pub fn register(
        &mut self,
        id: impl Into<String>,
        spec: EnvSpec,
        factory: impl Fn() -> Result<BoxedEnv, FactoryError> + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        let id = id.into();
        if self.indices.contains_key(&id) {
            return Err(RegistryError::Duplicate { id });
        }
        self.indices.insert(id.clone(), self.entries.len());
        self.entries.push(Entry { id, spec, factory: Box::new(factory) });
        Ok(())
    }

    /// Builds the environment with this id.
    pub fn make(&self, id: &str) -> Result<BoxedEnv, RegistryError> {
        let entry = self.entry(id)?;
        (entry.factory)().map_err(|source| RegistryError::Factory { id: id.to_owned(), source })
    }

    /// Returns the properties of the environment with this id.
    pub fn spec(&self, id: &str) -> Result<EnvSpec, RegistryError> {
        self.entry(id).map(|entry| entry.spec)
    }

    /// Returns all ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.indices.keys().map(String::as_str)
    }

    /// Returns all ids with the properties of their environments, in the order in which they were registered.
    pub fn specs(&self) -> impl Iterator<Item = (&str, EnvSpec)> {
        self.entries.iter().map(|entry| (entry.id.as_str(), entry.spec))
    }

    /// Returns false if an id with the same name and a larger version is registered, such as `CartPole-v1` for
    /// `CartPole-v0`.
    pub fn is_newest_version(&self, id: &str) -> bool {
        let Some((name, version)) = versioned(id) else { return true };
        !self.ids().filter_map(versioned).any(|(other, newer)| other == name && newer > version)
    }

    fn entry(&self, id: &str) -> Result<&Entry, RegistryError> {
        match self.indices.get(id) {
            Some(&index) => Ok(&self.entries[index]),
            None => Err(RegistryError::Unknown { id: id.to_owned(), nearest: self.nearest(id) }),
        }
    }

    fn nearest(&self, id: &str) -> Option<String> {
        nearest(id, self.ids()).first().map(|&id| id.to_owned())
    }
}

/// Splits an id such as `CartPole-v1` into its name and its version.
fn versioned(id: &str) -> Option<(&str, u32)> {
    let (name, version) = id.rsplit_once("-v")?;
    Some((name, version.parse().ok()?))
}
