use std::io;
use std::path::PathBuf;

use rl_env::Space;
use serde::Deserialize;
use thiserror::Error;

use crate::limits::MAX_NUM_ENVS;
use crate::name::NameError;

/// The packages that every worker needs, with what pip installs.
const PACKAGES: [(&str, &str); 2] = [("gymnasium", "\"gymnasium>=1.0\""), ("numpy", "numpy")];

/// An error in building a vector environment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There are no environments.
    #[error("a vector environment needs at least one environment")]
    NoEnvironments,
    /// There are too many environments.
    #[error("there are {num_envs} environments, but at most {MAX_NUM_ENVS} are allowed")]
    TooManyEnvs {
        /// The requested number of environments.
        num_envs: usize,
    },
    /// The batch size exceeds the number of environments.
    #[error(
        "batch_size is {batch_size}, but must be between 1 and {num_envs}, the number of environments, or 0 for all"
    )]
    BatchSize {
        /// The requested batch size.
        batch_size: usize,
        /// The number of environments.
        num_envs: usize,
    },
    /// The batch size of [`BatchOrder::InTurn`](crate::BatchOrder::InTurn) does not divide the number of environments.
    #[error(
        "batch_size is {batch_size}, but must divide {num_envs}, the number of environments, when batches take turns"
    )]
    UnevenTurns {
        /// The requested batch size.
        batch_size: usize,
        /// The number of environments.
        num_envs: usize,
    },
    /// A time limit is not a positive number.
    #[error("{name} is {seconds}, but must be a positive number of seconds")]
    Timeout {
        /// The name of the option.
        name: &'static str,
        /// Its value.
        seconds: String,
    },
    /// The name of an environment has an unknown form.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The interpreter cannot be started.
    #[error(
        "cannot start Python as {}: {source}; install Python, or set the option python to an interpreter",
        python.display()
    )]
    Python {
        /// The interpreter.
        python: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A Python module is missing.
    #[error(
        "{} has no module {module:?}{}; install it: {} -m pip install {}{}",
        python.display(),
        name.as_ref().map_or_else(String::new, |name| format!(", which {name} needs")),
        python.display(),
        package(module),
        if name.is_some() { ", or add its directory to paths" } else { "" }
    )]
    MissingModule {
        /// The name of the module.
        module: String,
        /// The interpreter.
        python: PathBuf,
        /// The name of the environment that needs it. `None` if all environments need it.
        name: Option<String>,
    },
    /// Gymnasium is too old.
    #[error(
        "{} has Gymnasium {found}, but 1.0 or newer is needed; update it: {} -m pip install --upgrade gymnasium",
        python.display(), python.display()
    )]
    OldGymnasium {
        /// The version that is installed.
        found: String,
        /// The interpreter.
        python: PathBuf,
    },
    /// An environment cannot be made.
    #[error("environment {env} ({name}) cannot be made: {error}{}", after_line(traceback.as_deref()))]
    Make {
        /// Index of the environment.
        env: usize,
        /// Its name.
        name: String,
        /// The cause.
        error: String,
        /// The traceback of the Python error, if it is of use.
        traceback: Option<String>,
    },
    /// The file of [definitions](crate::WorkerOptions::definitions) cannot be read.
    #[error("the definitions of environments in {0}")]
    Definitions(String),
    /// A space is not supported.
    #[error("environment {env} ({name}) has the {role} space {space}; supported are {supported}")]
    Space {
        /// Index of the environment.
        env: usize,
        /// Its name.
        name: String,
        /// Either `observation` or `action`.
        role: String,
        /// The space, as Gymnasium writes it.
        space: String,
        /// The supported kinds of spaces.
        supported: String,
    },
    /// An action space is empty.
    #[error("environment {env} ({name}) has an action space without elements: {found}")]
    NoActions {
        /// Index of the environment.
        env: usize,
        /// Its name.
        name: String,
        /// Its action space.
        found: Box<Space>,
    },
    /// Observation spaces differ.
    #[error(
        "environment {env} ({name}) has observations of {found}, but environment 0 has {expected}; all must be equal"
    )]
    DifferentObservations {
        /// Index of the environment that differs.
        env: usize,
        /// Its name.
        name: String,
        /// Its observations, flattened if they are.
        found: Box<Space>,
        /// Those of environment 0.
        expected: Box<Space>,
    },
    /// Some environments have discrete actions and some have continuous ones.
    #[error(
        "environment {env} ({name}) has actions of {found}, but environment 0 has {expected}; discrete and \
         continuous actions cannot be mixed"
    )]
    DifferentActions {
        /// Index of the environment that differs.
        env: usize,
        /// Its name.
        name: String,
        /// Its actions.
        found: Box<Space>,
        /// Those of environment 0.
        expected: Box<Space>,
    },
    /// A worker has failed.
    #[error(
        "cannot start the workers: the worker of environments {first} to {last} {reason}{}",
        after_line(Some(output))
    )]
    Worker {
        /// Index of its first environment.
        first: usize,
        /// Index of its last environment.
        last: usize,
        /// The cause.
        reason: String,
        /// The last lines that it printed.
        output: String,
    },
    /// The shared memory cannot be allocated.
    #[error("cannot allocate {:.3} GB of shared memory for the observations: {source}", *bytes as f64 / 1e9)]
    Memory {
        /// The number of bytes; the largest one if it is not known.
        bytes: usize,
        /// The cause.
        source: io::Error,
    },
    /// A request to [interrupt](rl_env::interrupt) the call.
    #[error("interrupted")]
    Interrupted,
}

/// The reason why a worker could not build an environment.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum BuildFault {
    Module { module: String, name: Option<String> },
    Version { found: String },
    Definitions { error: String },
    Make { env: usize, name: String, error: String, traceback: Option<String> },
    Space { env: usize, name: String, role: String, space: String, supported: String },
}

impl BuildFault {
    /// Returns the error to report.
    pub(crate) fn into_error(self, python: PathBuf) -> BuildError {
        match self {
            Self::Module { module, name } => BuildError::MissingModule { module, python, name },
            Self::Version { found } => BuildError::OldGymnasium { found, python },
            Self::Definitions { error } => BuildError::Definitions(error),
            Self::Make { env, name, error, traceback } => BuildError::Make { env, name, error, traceback },
            Self::Space { env, name, role, space, supported } => {
                BuildError::Space { env, name, role, space, supported }
            }
        }
    }
}

/// Returns the package that has a module, as pip expects it.
fn package(module: &str) -> &str {
    let top = module.split('.').next().unwrap_or(module);
    PACKAGES.iter().find(|(name, _)| *name == top).map_or(top, |(_, package)| package)
}

fn after_line(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!("\n{text}"))
}
