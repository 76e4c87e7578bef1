use rl_env::{BoxedEnv, EnvSpec, Registry, RegistryError, TimeLimit};

use crate::{Acrobot, CartPole, Control, Dynamics, MountainCar, MountainCarContinuous, Pendulum};

/// Registers the classic control tasks with Gymnasium's ids and time limits.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    add(registry, "CartPole-v0", 200, Some(195.0), CartPole)?;
    add(registry, "CartPole-v1", CartPole::MAX_STEPS, Some(475.0), CartPole)?;
    add(registry, "MountainCar-v0", 200, Some(-110.0), MountainCar::default())?;
    add(registry, "MountainCarContinuous-v0", 999, Some(90.0), MountainCarContinuous::default())?;
    add(registry, "Pendulum-v1", 200, None, Pendulum::default())?;
    add(registry, "Acrobot-v1", 500, Some(-100.0), Acrobot)
}

fn add(
    registry: &mut Registry,
    id: &str,
    max_episode_steps: u32,
    reward_threshold: Option<f64>,
    dynamics: impl Dynamics + Copy + Sync,
) -> Result<(), RegistryError> {
    let spec = EnvSpec { max_episode_steps: Some(max_episode_steps), reward_threshold };
    registry.register(id, spec, move || {
        Ok(BoxedEnv::new(TimeLimit::new(Control::new(dynamics), max_episode_steps)))
    })
}
