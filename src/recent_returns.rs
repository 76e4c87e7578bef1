use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// The least number of episodes in a recent return, once there are as many.
const EPISODES: usize = 100;

/// The returns of the last episodes of a task: equally many of each environment, 100 or a few more together, and at
/// least one of each. Among the last 100 episodes of all environments, those of environments with short episodes would
/// be more frequent, and with hundreds of environments only short episodes would be among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "ByEnv")]
pub(crate) struct RecentReturns {
    /// The returns of each environment, the newest last.
    by_env: BTreeMap<usize, VecDeque<f64>>,
}

/// The returns of each environment in a checkpoint.
type ByEnv = Vec<(usize, VecDeque<f64>)>;

/// The returns in a checkpoint.
#[derive(Deserialize)]
#[serde(untagged)]
enum Saved {
    ByEnv(ByEnv),
    /// Those of an older version, of all environments together.
    Together(VecDeque<f64>),
}

impl From<Saved> for RecentReturns {
    fn from(saved: Saved) -> Self {
        match saved {
            Saved::ByEnv(by_env) => Self { by_env: by_env.into_iter().collect() },
            Saved::Together(returns) => Self { by_env: BTreeMap::from([(0, returns)]) },
        }
    }
}

impl From<RecentReturns> for ByEnv {
    fn from(recent: RecentReturns) -> Self {
        recent.by_env.into_iter().collect()
    }
}

impl RecentReturns {
    /// Adds the return of an episode of `env`, one of the task's `num_envs` environments.
    pub(crate) fn push(&mut self, env: usize, value: f64, num_envs: usize) {
        let recent = self.by_env.entry(env).or_default();
        recent.push_back(value);
        // Those of an older version may be more.
        while recent.len() > EPISODES.div_ceil(num_envs) {
            recent.pop_front();
        }
    }

    /// Returns the mean return. `None` without episodes.
    pub(crate) fn mean(&self) -> Option<f64> {
        let count: usize = self.by_env.values().map(VecDeque::len).sum();
        (count > 0).then(|| self.by_env.values().flatten().sum::<f64>() / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_with_short_episodes_do_not_count_more_often() {
        let mut recent = RecentReturns::default();
        assert_eq!(recent.mean(), None);
        // The first environment loses 200 short games while the second one wins 50 long ones.
        for game in 0..200 {
            recent.push(0, -21.0, 2);
            if game % 4 == 3 {
                recent.push(1, 21.0, 2);
            }
        }
        assert_eq!(recent.mean(), Some(0.0));
    }

    #[test]
    fn with_many_environments_the_last_episode_of_each_counts() {
        let mut recent = RecentReturns::default();
        for value in [-20.0, -10.0] {
            (0..256).for_each(|env| recent.push(env, value, 256));
        }
        assert_eq!(recent.mean(), Some(-10.0));
    }

    #[test]
    fn returns_of_an_older_version_are_read() {
        let recent: RecentReturns = serde_json::from_str("[1.0, 2.0, 6.0]").unwrap();
        assert_eq!(recent.mean(), Some(3.0));
        assert_eq!(serde_json::from_str::<RecentReturns>("[]").unwrap().mean(), None);
    }
}
