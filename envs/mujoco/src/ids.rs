use std::sync::{Arc, OnceLock};

use rl_env::{Registry, RegistryError};

use crate::env::MujocoEnv;
use crate::error::MujocoError;
use crate::installation::Installation;
use crate::specs::specs;
use crate::task::Task;

/// Registers the tasks of an installation with Gymnasium's ids and time limits. Accesses no file until an environment
/// is made.
pub fn register(registry: &mut Registry, installation: &Installation) -> Result<(), RegistryError> {
    for spec in specs() {
        let properties = spec.properties();
        let installation = installation.clone();
        let loaded = Arc::new(OnceLock::new());
        registry.register(&spec.id, properties, move || {
            let task = load_once(&loaded, || Task::load(&installation, &spec.id, &[]))?;
            Ok(properties.limit(MujocoEnv::new(&task)))
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
