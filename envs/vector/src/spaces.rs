//! Tasks and spaces of a vector environment, derived from those of its environments.

use rl_env::{ActionKind, Env, Space};

use crate::BuildError;

/// Returns the distinct names of the tasks, and the index of each environment's task.
pub(crate) fn index_tasks<E>(envs: &[(String, E)]) -> (Vec<String>, Vec<usize>) {
    let mut tasks: Vec<String> = Vec::new();
    let task_ids = envs.iter().map(|(task, _)| {
        tasks.iter().position(|name| name == task).unwrap_or_else(|| {
            tasks.push(task.clone());
            tasks.len() - 1
        })
    });
    let task_ids = task_ids.collect();
    (tasks, task_ids)
}

/// Returns the action masks of all spaces, each padded to the largest number of actions.
pub(crate) fn action_masks(spaces: &[Space]) -> Vec<bool> {
    let count = |space: &Space| if let Space::Discrete { n, .. } = space { *n } else { 0 };
    let width = spaces.iter().map(count).max().unwrap_or(0);
    spaces.iter().flat_map(|space| (0..width).map(move |action| action < count(space))).collect()
}

/// Checks that the environments can share batches of observations and actions.
pub(crate) fn check_spaces<E: Env>(envs: &[(String, E)]) -> Result<(), BuildError> {
    let (observations, actions) = (envs[0].1.observation_space(), envs[0].1.action_space());
    for (index, (task, env)) in envs.iter().enumerate() {
        if env.action_space().num_elements() == 0 {
            let found = Box::new(env.action_space().clone());
            return Err(BuildError::NoActions { env: index, task: task.clone(), found });
        }
        if env.observation_space() != observations {
            return Err(BuildError::DifferentObservations {
                env: index,
                task: task.clone(),
                found: Box::new(env.observation_space().clone()),
                expected: Box::new(observations.clone()),
            });
        }
        let kind = ActionKind::of(env.action_space());
        if kind.is_none() {
            let found = Box::new(env.action_space().clone());
            return Err(BuildError::MixedActions { env: index, task: task.clone(), found });
        }
        if kind != ActionKind::of(actions) {
            return Err(BuildError::DifferentActions {
                env: index,
                task: task.clone(),
                found: Box::new(env.action_space().clone()),
                expected: Box::new(actions.clone()),
            });
        }
    }
    Ok(())
}
