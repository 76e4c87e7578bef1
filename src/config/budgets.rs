use anyhow::{Result, bail};

use super::experiment_games::Games;
use super::sections::EnvironmentSettings;
use crate::output::counted;

/// The training budget of each game: the number of steps after which its environments rest (take no further steps).
///
/// In a *round* every active environment makes one step. The number of rounds therefore determines the progress of a
/// run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budgets(Vec<Budget>);

/// The budget of one game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    num_envs: u64,
    /// The limit on the steps of all its environments together, at least `num_envs`; `None` without a limit.
    limit: Option<u64>,
}

impl Budget {
    fn new(game: &str, environments: &EnvironmentSettings) -> Result<Self> {
        let frame_skip = u64::from(environments.frame_skip);
        let num_envs = environments.num_envs_of(game) as u64;
        let frames = environments.game.get(game).and_then(|game| game.total_frames);
        let minimum = num_envs.saturating_mul(frame_skip);
        if let Some(frames) = frames.filter(|frames| *frames < minimum) {
            bail!(
                "environments.game.{game}.total_frames = {frames} is invalid: it must be {minimum} or more ({}, {} per \
                 step)",
                counted(num_envs as usize, "environment"),
                counted(frame_skip as usize, "frame")
            );
        }
        Ok(Self { num_envs, limit: frames.map(|frames| frames / frame_skip) })
    }

    /// Returns the number of steps of all its environments after `rounds` rounds.
    fn steps(self, rounds: u64) -> u64 {
        rounds.saturating_mul(self.num_envs).min(self.limit.unwrap_or(u64::MAX))
    }

    /// Returns the number of steps that the environment with index `env` may make after `rounds` rounds.
    fn steps_left_of(self, env: u64, rounds: u64) -> Option<u64> {
        let limit = self.limit?;
        let share = limit / self.num_envs + u64::from(env < limit % self.num_envs);
        Some(share.saturating_sub(rounds))
    }
}

impl Budgets {
    /// Returns the budgets of the games, in their order.
    pub(super) fn new(games: &Games, environments: &EnvironmentSettings) -> Result<Self> {
        let budgets = games.names().into_iter().map(|name| Budget::new(name, environments));
        Ok(Self(budgets.collect::<Result<_>>()?))
    }

    /// Returns true if any game has a budget.
    pub(crate) fn has_any_limit(&self) -> bool {
        self.0.iter().any(|budget| budget.limit.is_some())
    }

    /// Returns the number of steps of all games together, if each has a budget.
    pub(super) fn total(&self) -> Option<u64> {
        self.0.iter().try_fold(0_u64, |sum, budget| Some(sum.saturating_add(budget.limit?)))
    }

    /// Returns the number of rounds after which all environments rest.
    pub(super) fn max_rounds(&self) -> Option<u64> {
        let rounds = |budget: &Budget| Some(budget.limit?.div_ceil(budget.num_envs));
        self.0.iter().map(rounds).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Returns the number of steps of each game after `rounds` rounds.
    pub(crate) fn steps_of_games(&self, rounds: u64) -> impl Iterator<Item = u64> {
        self.0.iter().map(move |budget| budget.steps(rounds))
    }

    /// Returns the number of steps of all games after `rounds` rounds.
    pub(super) fn steps(&self, rounds: u64) -> u64 {
        self.steps_of_games(rounds).fold(0, u64::saturating_add)
    }

    /// Returns the maximum number of rounds with at most `steps` steps of all games, without rounds in which all
    /// environments rest.
    pub(crate) fn rounds_within(&self, steps: u64) -> u64 {
        // Every round has at least one step until all environments rest.
        let (mut possible, mut limit) = (0, steps.min(self.max_rounds().unwrap_or(u64::MAX)));
        while possible < limit {
            let middle = limit - (limit - possible) / 2;
            if self.steps(middle) <= steps { possible = middle } else { limit = middle - 1 }
        }
        possible
    }

    /// Returns the number of steps that each environment, ordered by game, may make after `rounds` rounds; `None`
    /// without a limit. The remainder of the division goes to the first environments of a game.
    pub(crate) fn steps_left(&self, rounds: u64) -> impl Iterator<Item = Option<u64>> {
        self.0
            .iter()
            .flat_map(move |budget| (0..budget.num_envs).map(move |env| budget.steps_left_of(env, rounds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the budgets of two environments with 7 steps and of three that are limited to `other`.
    fn budgets(other: Option<u64>) -> Budgets {
        let budget = |num_envs, limit| Budget { num_envs, limit };
        Budgets(vec![budget(2, Some(7)), budget(3, other)])
    }

    #[test]
    fn games_rest_after_their_budget_while_others_continue() {
        let of_games = |rounds| budgets(None).steps_of_games(rounds).collect::<Vec<_>>();
        assert_eq!([of_games(0), of_games(3), of_games(4), of_games(9)], [[0, 0], [6, 9], [7, 12], [7, 27]]);
        let left = |rounds| budgets(Some(100)).steps_left(rounds).collect::<Vec<_>>();
        assert_eq!(left(0), [4, 3, 34, 33, 33].map(Some));
        assert_eq!(left(3), [1, 0, 31, 30, 30].map(Some));
        assert_eq!(budgets(None).steps_left(4).collect::<Vec<_>>(), [Some(0), Some(0), None, None, None]);
    }

    #[test]
    fn rounds_and_steps_are_inverse() {
        for budgets in [budgets(None), budgets(Some(20)), budgets(Some(3))] {
            for rounds in 0..budgets.max_rounds().unwrap_or(50) {
                let steps = budgets.steps(rounds);
                assert_eq!(budgets.rounds_within(steps), rounds);
                assert_eq!(budgets.rounds_within(budgets.steps(rounds + 1) - 1), rounds);
            }
        }
        assert_eq!(budgets(Some(20)).max_rounds(), Some(7));
        assert_eq!((budgets(Some(20)).total(), budgets(None).total()), (Some(27), None));
        assert_eq!(budgets(Some(20)).rounds_within(u64::MAX), 7);
        assert_eq!(budgets(None).rounds_within(u64::MAX), u64::MAX, "no limit");
    }
}
