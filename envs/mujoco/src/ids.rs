use std::sync::{Arc, OnceLock};

use rl_env::{BoxedEnv, EnvSpec, Registry, RegistryError, TimeLimit};

use crate::env::MujocoEnv;
use crate::error::MujocoError;
use crate::installation::Installation;
use crate::specs::TASKS;
use crate::task::Task;

/// Registers the tasks of an installation with Gymnasium's ids and time limits. Accesses no file until an environment
/// is made.
pub fn register(registry: &mut Registry, installation: &Installation) -> Result<(), RegistryError> {
    for spec in &TASKS {
        let properties = EnvSpec {
            max_episode_steps: Some(spec.max_episode_steps),
            reward_threshold: spec.reward_threshold,
        };
        let installation = installation.clone();
        let loaded = Arc::new(OnceLock::new());
        registry.register(spec.id, properties, move || {
            let task = load_once(&loaded, || Task::load(&installation, spec.id, &[]))?;
            Ok(BoxedEnv::new(TimeLimit::new(MujocoEnv::new(&task), spec.max_episode_steps)))
        })?;
    }
    Ok(())
}

/// Returns the value of a cell, loading it first if the cell is empty. After an error the cell stays empty.
fn load_once(
    cell: &OnceLock<Task>,
    load: impl FnOnce() -> Result<Task, MujocoError>,
) -> Result<Task, MujocoError> {
    if let Some(task) = cell.get() {
        return Ok(task.clone());
    }
    let task = load()?;
    Ok(cell.get_or_init(|| task).clone())
}
