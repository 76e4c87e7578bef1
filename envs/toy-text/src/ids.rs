//! The table of the environments: Gymnasium's ids with everything that is known about them.

use rl_env::{ActionKind, BoxedEnv, EnvSpec, FactoryError, Registry, RegistryError};

use crate::{
    Blackjack, BlackjackRules, FrozenLakeOptions, MAP_8X8, Taxi, TaxiOptions, cliff_walking, frozen_lake,
};

/// The family of the environments.
pub const FAMILY: &str = "toy text";

const DISCRETE: EnvSpec = EnvSpec::new(FAMILY, ActionKind::Discrete);

/// An environment with its options.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// [`Blackjack`] with these rules.
    Blackjack(BlackjackRules),
    /// [`cliff_walking`].
    CliffWalking {
        /// True if moves may slip sideways.
        is_slippery: bool,
    },
    /// [`frozen_lake`] with these options.
    FrozenLake(FrozenLakeOptions<'static>),
    /// [`Taxi`] with these options.
    Taxi(TaxiOptions),
}

/// Returns the ids with their environments and properties. The application selects and trains them in this order.
///
/// Dynamic programming computes the best returns, too slowly for every start of a program; a test repeats it.
fn table() -> [(&'static str, Task, EnvSpec); 6] {
    [
        (
            "Blackjack-v1",
            Task::Blackjack(BlackjackRules::SuttonBarto),
            EnvSpec { best_return: Some(-0.04311310541347692), ..DISCRETE },
        ),
        (
            "CliffWalking-v1",
            Task::CliffWalking { is_slippery: false },
            EnvSpec { best_return: Some(-13.0), ..DISCRETE },
        ),
        (
            "CliffWalkingSlippery-v1",
            Task::CliffWalking { is_slippery: true },
            EnvSpec { best_return: Some(-64.70917590996208), ..DISCRETE },
        ),
        (
            "FrozenLake-v1",
            Task::FrozenLake(FrozenLakeOptions::default()),
            EnvSpec {
                max_episode_steps: Some(100),
                reward_threshold: Some(0.70),
                best_return: Some(0.7441902878292689),
                ..DISCRETE
            },
        ),
        (
            "FrozenLake8x8-v1",
            Task::FrozenLake(FrozenLakeOptions { desc: &MAP_8X8, ..FrozenLakeOptions::default() }),
            EnvSpec {
                max_episode_steps: Some(200),
                reward_threshold: Some(0.85),
                best_return: Some(0.9132201502016288),
                ..DISCRETE
            },
        ),
        (
            "Taxi-v4",
            Task::Taxi(TaxiOptions::default()),
            EnvSpec {
                max_episode_steps: Some(200),
                reward_threshold: Some(8.0),
                best_return: Some(7.929999999999975),
                ..DISCRETE
            },
        ),
    ]
}

impl Task {
    /// Returns the environment with a Gymnasium id.
    pub fn of_id(id: &str) -> Option<Self> {
        table().into_iter().find(|(known, ..)| *known == id).map(|(_, task, _)| task)
    }

    fn env(self, spec: &EnvSpec) -> Result<BoxedEnv, FactoryError> {
        Ok(match self {
            Self::Blackjack(rules) => spec.limit(Blackjack::new(rules)),
            Self::CliffWalking { is_slippery } => spec.limit(cliff_walking(is_slippery)),
            Self::FrozenLake(options) => spec.limit(frozen_lake(&options)?),
            Self::Taxi(options) => spec.limit(Taxi::new(options)),
        })
    }
}

/// Registers the environments with Gymnasium's ids and time limits.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    for (id, task, spec) in table() {
        registry.register(id, spec, move || task.env(&spec))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A horizon beyond which the returns of environments without a time limit no longer change.
    const LONG: u32 = 10_000;

    /// Returns the expected return of the best policy.
    fn optimal_return(task: Task, spec: &EnvSpec) -> Option<f64> {
        let steps = spec.max_episode_steps.unwrap_or(LONG);
        match task {
            Task::Blackjack(rules) => Some(Blackjack::new(rules).optimal_return()),
            Task::CliffWalking { is_slippery } => Some(cliff_walking(is_slippery).optimal_return(steps)),
            Task::FrozenLake(options) => frozen_lake(&options).ok().map(|lake| lake.optimal_return(steps)),
            Task::Taxi(options) => Taxi::new(options).optimal_return(steps),
        }
    }

    #[test]
    fn best_returns_are_those_of_the_best_policies() {
        for (id, task, spec) in table() {
            assert!(spec.best_return.is_some(), "{id}");
            assert_eq!(spec.best_return, optimal_return(task, &spec), "{id}");
        }
    }
}
