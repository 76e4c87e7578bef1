use anyhow::{Result, ensure};

use super::games::Games;
use super::sections::EnvironmentSettings;

/// What part of the training each game gets: how many steps its environments make until they rest.
///
/// All environments that do not rest make a step together; that is a *round*. So everything follows from the number of
/// rounds: where a run stands, and when it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budgets(Vec<Budget>);

/// That of one game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    num_envs: u64,
    /// Steps of all its environments together, if they are limited; at least one for each of them.
    limit: Option<u64>,
}

impl Budget {
    fn steps(self, rounds: u64) -> u64 {
        rounds.saturating_mul(self.num_envs).min(self.limit.unwrap_or(u64::MAX))
    }
}

impl Budgets {
    /// The budgets of these games, in their order.
    pub(super) fn new(games: &Games, environments: &EnvironmentSettings) -> Result<Self> {
        let frame_skip = u64::from(environments.frame_skip);
        let budget = |name: &str| {
            let num_envs = environments.num_envs_of(name) as u64;
            let frames = environments.game.get(name).and_then(|game| game.total_frames);
            let least = num_envs.saturating_mul(frame_skip);
            ensure!(
                frames.is_none_or(|frames| frames >= least),
                "environments.game.{name}.total_frames = {} is not possible: it must be {least} or more ({num_envs} \
                 environments, {frame_skip} frames a step)",
                frames.unwrap_or(0)
            );
            Ok(Budget { num_envs, limit: frames.map(|frames| frames / frame_skip) })
        };
        Ok(Self(games.names().into_iter().map(budget).collect::<Result<_>>()?))
    }

    /// Whether any game has one.
    pub(crate) fn are_limited(&self) -> bool {
        self.0.iter().any(|budget| budget.limit.is_some())
    }

    /// Steps of all games together, where each has a budget.
    pub(super) fn total(&self) -> Option<u64> {
        self.0.iter().try_fold(0_u64, |sum, budget| Some(sum.saturating_add(budget.limit?)))
    }

    /// Rounds after which all environments rest.
    pub(super) fn longest(&self) -> Option<u64> {
        let rounds = |budget: &Budget| Some(budget.limit?.div_ceil(budget.num_envs));
        self.0.iter().map(rounds).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Steps of each game after so many rounds.
    pub(crate) fn steps_of_games(&self, rounds: u64) -> impl Iterator<Item = u64> {
        self.0.iter().map(move |budget| budget.steps(rounds))
    }

    /// Steps of all games after so many rounds.
    pub(super) fn steps(&self, rounds: u64) -> u64 {
        self.steps_of_games(rounds).fold(0, u64::saturating_add)
    }

    /// The most rounds that take no more than so many steps of all games; those in which all environments rest do not
    /// count.
    pub(crate) fn rounds(&self, steps: u64) -> u64 {
        // Every round is a step at least, until all rest.
        let (mut possible, mut limit) = (0, steps.min(self.longest().unwrap_or(u64::MAX)));
        while possible < limit {
            let middle = limit - (limit - possible) / 2;
            if self.steps(middle) <= steps { possible = middle } else { limit = middle - 1 }
        }
        possible
    }

    /// How many steps each environment may make after so many rounds, game after game; `None` where there is no limit. What
    /// does not divide goes to a game's first environments.
    pub(crate) fn steps_left(&self, rounds: u64) -> impl Iterator<Item = Option<u64>> {
        self.0.iter().flat_map(move |&Budget { num_envs, limit }| {
            (0..num_envs).map(move |env| {
                let limit = limit?;
                let own = limit / num_envs + u64::from(env < limit % num_envs);
                Some(own.saturating_sub(rounds))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two environments with seven steps, and three whose steps are limited to `other`.
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
            for rounds in 0..budgets.longest().unwrap_or(50) {
                let steps = budgets.steps(rounds);
                assert_eq!(budgets.rounds(steps), rounds);
                assert_eq!(budgets.rounds(budgets.steps(rounds + 1) - 1), rounds);
            }
        }
        assert_eq!(budgets(Some(20)).longest(), Some(7));
        assert_eq!((budgets(Some(20)).total(), budgets(None).total()), (Some(27), None));
        assert_eq!(budgets(Some(20)).rounds(u64::MAX), 7);
        assert_eq!(budgets(None).rounds(u64::MAX), u64::MAX, "as large as can be counted");
    }
}
