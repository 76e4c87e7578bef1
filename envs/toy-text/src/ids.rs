use rl_env::{BoxedEnv, Env, EnvSpec, Registry, RegistryError, TimeLimit};

use crate::{
    Blackjack, BlackjackRules, FrozenLakeOptions, MAP_4X4, MAP_8X8, Taxi, TaxiOptions, cliff_walking,
    frozen_lake,
};

/// Time limits in steps.
const LAKE_STEPS: u32 = 100;
const LARGE_LAKE_STEPS: u32 = 200;
const TAXI_STEPS: u32 = 200;
/// A horizon beyond which the returns of environments without a time limit no longer change.
const LONG: u32 = 10_000;

/// Returns the largest expected return of an environment within its time limit, given its Gymnasium id, or `None` for
/// an unknown id. [`Tabular::optimal_return`](crate::Tabular::optimal_return) computes it.
///
/// ```
/// assert_eq!(toy_text::optimal_return("CliffWalking-v1"), Some(-13.0));
/// ```
pub fn optimal_return(id: &str) -> Option<f64> {
    match id {
        "FrozenLake-v1" => optimal_return_of_lake(&MAP_4X4, LAKE_STEPS),
        "FrozenLake8x8-v1" => optimal_return_of_lake(&MAP_8X8, LARGE_LAKE_STEPS),
        "CliffWalking-v1" => Some(cliff_walking(false).optimal_return(LONG)),
        "CliffWalkingSlippery-v1" => Some(cliff_walking(true).optimal_return(LONG)),
        "Taxi-v4" => Taxi::new(TaxiOptions::default()).optimal_return(TAXI_STEPS),
        "Blackjack-v1" => Some(Blackjack::new(BlackjackRules::SuttonBarto).optimal_return()),
        _ => None,
    }
}

fn optimal_return_of_lake(desc: &[&str], steps: u32) -> Option<f64> {
    let options = FrozenLakeOptions { desc, ..FrozenLakeOptions::default() };
    frozen_lake(&options).ok().map(|lake| lake.optimal_return(steps))
}

/// Registers the toy text environments with Gymnasium's ids and time limits.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    let unlimited = EnvSpec::default();
    let lake = limited(LAKE_STEPS, Some(0.70));
    registry.register("FrozenLake-v1", lake, move || {
        Ok(limit(frozen_lake(&FrozenLakeOptions::default())?, lake))
    })?;
    let large_lake = limited(LARGE_LAKE_STEPS, Some(0.85));
    registry.register("FrozenLake8x8-v1", large_lake, move || {
        let options = FrozenLakeOptions { desc: &MAP_8X8, ..FrozenLakeOptions::default() };
        Ok(limit(frozen_lake(&options)?, large_lake))
    })?;
    registry.register("CliffWalking-v1", unlimited, || Ok(BoxedEnv::new(cliff_walking(false))))?;
    registry.register("CliffWalkingSlippery-v1", unlimited, || Ok(BoxedEnv::new(cliff_walking(true))))?;
    let taxi = limited(TAXI_STEPS, Some(8.0));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_environment_has_an_optimal_return() {
        let mut registry = Registry::new();
        register(&mut registry).unwrap();
        for id in registry.ids() {
            let value = optimal_return(id).unwrap();
            println!("{id}: {value}");
            assert!(value.is_finite());
            assert_eq!(optimal_return(id), Some(value), "another rounding");
        }
        assert_eq!(optimal_return("Ant-v5"), None);
    }
}
