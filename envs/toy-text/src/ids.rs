use rl_env::{BoxedEnv, Env, EnvSpec, Registry, RegistryError, TimeLimit};

use crate::{
    Blackjack, BlackjackRules, FrozenLakeOptions, MAP_8X8, Taxi, TaxiOptions, cliff_walking, frozen_lake,
};

/// Registers the toy text environments with Gymnasium's ids and time limits.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    let unlimited = EnvSpec::default();
    let lake = limited(100, Some(0.70));
    registry.register("FrozenLake-v1", lake, move || {
        Ok(limit(frozen_lake(&FrozenLakeOptions::default())?, lake))
    })?;
    let large_lake = limited(200, Some(0.85));
    registry.register("FrozenLake8x8-v1", large_lake, move || {
        let options = FrozenLakeOptions { desc: &MAP_8X8, ..FrozenLakeOptions::default() };
        Ok(limit(frozen_lake(&options)?, large_lake))
    })?;
    registry.register("CliffWalking-v1", unlimited, || Ok(BoxedEnv::new(cliff_walking(false))))?;
    registry.register("CliffWalkingSlippery-v1", unlimited, || Ok(BoxedEnv::new(cliff_walking(true))))?;
    let taxi = limited(200, Some(8.0));
    registry.register("Taxi-v4", taxi, move || Ok(limit(Taxi::new(TaxiOptions::default()), taxi)))?;
    registry.register("Blackjack-v1", unlimited, || {
        Ok(BoxedEnv::new(Blackjack::new(BlackjackRules::SuttonBarto)))
    })
}

fn limited(max_episode_steps: u32, reward_threshold: Option<f64>) -> EnvSpec {
    EnvSpec { max_episode_steps: Some(max_episode_steps), reward_threshold }
}

fn limit(env: impl Env + 'static, spec: EnvSpec) -> BoxedEnv {
    match spec.max_episode_steps {
        Some(steps) => BoxedEnv::new(TimeLimit::new(env, steps)),
        None => BoxedEnv::new(env),
    }
}
