use std::collections::BTreeMap;
use std::error::Error;

use thiserror::Error;

use crate::{BoxedEnv, nearest};

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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnvSpec {
    /// The number of steps after which episodes are truncated, if limited.
    pub max_episode_steps: Option<u32>,
    /// The mean return at which the task is considered solved.
    pub reward_threshold: Option<f64>,
}

/// A registry of environments by id, such as Gymnasium's `CartPole-v1`, each with a factory.
///
/// ```
/// use rl_env::{EnvSpec, Registry, RegistryError};
///
/// let mut registry = Registry::new();
/// registry.register("Maze-v0", EnvSpec::default(), || Err("the map is missing".into()))?;
/// assert_eq!(registry.ids().collect::<Vec<_>>(), ["Maze-v0"]);
/// let error = registry.make("maze-v1").err().unwrap();
/// assert_eq!(error.to_string(), r#"there is no environment "maze-v1"; the nearest is "Maze-v0""#);
/// # Ok::<(), RegistryError>(())
/// ```
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
}

struct Entry {
    spec: EnvSpec,
    factory: Box<dyn Fn() -> Result<BoxedEnv, FactoryError> + Send + Sync>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers an environment. The factory has to apply the time limit of `spec` itself.
    pub fn register(
        &mut self,
        id: impl Into<String>,
        spec: EnvSpec,
        factory: impl Fn() -> Result<BoxedEnv, FactoryError> + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        let id = id.into();
        if self.entries.contains_key(&id) {
            return Err(RegistryError::Duplicate { id });
        }
        self.entries.insert(id, Entry { spec, factory: Box::new(factory) });
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
        self.entries.keys().map(String::as_str)
    }

    fn entry(&self, id: &str) -> Result<&Entry, RegistryError> {
        self.entries
            .get(id)
            .ok_or_else(|| RegistryError::Unknown { id: id.to_owned(), nearest: self.nearest(id) })
    }

    fn nearest(&self, id: &str) -> Option<String> {
        nearest(id, self.ids()).first().map(|&id| id.to_owned())
    }
}
