use std::collections::BTreeMap;
use std::error::Error;

use thiserror::Error;

use crate::{BoxedEnv, nearest};

/// Why a factory could not build its environment.
pub type FactoryError = Box<dyn Error + Send + Sync>;

/// What can go wrong with a [`Registry`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No environment has this id.
    #[error("there is no environment {id:?}{}", nearest.as_ref().map_or_else(String::new, |id| format!(
        "; the nearest is {id:?}"
    )))]
    Unknown {
        /// The id as it was given.
        id: String,
        /// The registered id that differs least, if any is near.
        nearest: Option<String>,
    },
    /// The id is taken.
    #[error("there is already an environment {id:?}")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The environment's factory failed.
    #[error("environment {id:?} cannot be built: {source}")]
    Factory {
        /// The environment's id.
        id: String,
        /// Why.
        source: FactoryError,
    },
}

/// What is known of an environment before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnvSpec {
    /// Steps after which its episodes are truncated; none if they are not.
    pub max_episode_steps: Option<u32>,
    /// The mean return at which the task counts as solved.
    pub reward_threshold: Option<f64>,
}

/// Environments by their Gymnasium ids, such as `CartPole-v1`, each with the factory that builds it.
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
}

struct Entry {
    spec: EnvSpec,
    factory: Box<dyn Fn() -> Result<BoxedEnv, FactoryError> + Send + Sync>,
}

impl Registry {
    /// A registry without environments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an environment. The factory itself sets the limit that `spec` tells.
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

    /// What is known of the environment with this id.
    pub fn spec(&self, id: &str) -> Result<EnvSpec, RegistryError> {
        self.entry(id).map(|entry| entry.spec)
    }

    /// All ids, sorted.
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
