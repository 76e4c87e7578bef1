//! The table of the tasks: Gymnasium's ids with everything that is known about them.

use rl_env::{ActionKind, BoxedEnv, EnvSpec, Registry, RegistryError};

use crate::{Acrobot, CartPole, Control, MountainCar, MountainCarContinuous, Pendulum};

/// The family of the tasks.
pub const FAMILY: &str = "classic control";

const DISCRETE: EnvSpec = EnvSpec::new(FAMILY, ActionKind::Discrete);
const CONTINUOUS: EnvSpec = EnvSpec::new(FAMILY, ActionKind::Continuous);

/// A task with its parameters.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// [`CartPole`].
    CartPole(CartPole),
    /// [`MountainCar`].
    MountainCar(MountainCar),
    /// [`MountainCarContinuous`].
    MountainCarContinuous(MountainCarContinuous),
    /// [`Pendulum`].
    Pendulum(Pendulum),
    /// [`Acrobot`].
    Acrobot(Acrobot),
}

/// Returns the ids with their tasks and properties. The application selects and trains them in this order.
fn table() -> [(&'static str, Task, EnvSpec); 6] {
    [
        (
            "CartPole-v0",
            Task::CartPole(CartPole::default()),
            EnvSpec {
                max_episode_steps: Some(200),
                reward_threshold: Some(195.0),
                best_return: Some(200.0),
                ..DISCRETE
            },
        ),
        (
            "CartPole-v1",
            Task::CartPole(CartPole::default()),
            EnvSpec {
                max_episode_steps: Some(CartPole::MAX_STEPS),
                reward_threshold: Some(475.0),
                best_return: Some(CartPole::MAX_STEPS as f64),
                ..DISCRETE
            },
        ),
        (
            "MountainCar-v0",
            Task::MountainCar(MountainCar::default()),
            EnvSpec { max_episode_steps: Some(200), reward_threshold: Some(-110.0), ..DISCRETE },
        ),
        (
            "MountainCarContinuous-v0",
            Task::MountainCarContinuous(MountainCarContinuous::default()),
            EnvSpec { max_episode_steps: Some(999), reward_threshold: Some(90.0), ..CONTINUOUS },
        ),
        (
            "Pendulum-v1",
            Task::Pendulum(Pendulum::default()),
            EnvSpec { max_episode_steps: Some(200), ..CONTINUOUS },
        ),
        (
            "Acrobot-v1",
            Task::Acrobot(Acrobot),
            EnvSpec { max_episode_steps: Some(500), reward_threshold: Some(-100.0), ..DISCRETE },
        ),
    ]
}

impl Task {
    /// Returns the task with a Gymnasium id.
    pub fn of_id(id: &str) -> Option<Self> {
        table().into_iter().find(|(known, ..)| *known == id).map(|(_, task, _)| task)
    }

    fn env(self, spec: &EnvSpec) -> BoxedEnv {
        match self {
            Self::CartPole(dynamics) => spec.limit(Control::new(dynamics)),
            Self::MountainCar(dynamics) => spec.limit(Control::new(dynamics)),
            Self::MountainCarContinuous(dynamics) => spec.limit(Control::new(dynamics)),
            Self::Pendulum(dynamics) => spec.limit(Control::new(dynamics)),
            Self::Acrobot(dynamics) => spec.limit(Control::new(dynamics)),
        }
    }
}

/// Registers the tasks with Gymnasium's ids and time limits.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    for (id, task, spec) in table() {
        registry.register(id, spec, move || Ok(task.env(&spec)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_return_of_cart_pole_is_a_point_for_every_step() {
        for (id, task, spec) in table() {
            let limit = matches!(task, Task::CartPole(_)).then_some(spec.max_episode_steps).flatten();
            assert_eq!(spec.best_return, limit.map(f64::from), "{id}");
        }
    }
}
