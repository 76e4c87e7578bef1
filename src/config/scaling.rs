//! The settings of a preset that depend on the number of games.
//!
//! With one game, many environments are needed so that the samples differ; with 57 games, few environments of each keep
//! the rollout small. A preset for several games therefore states sizes for all games together. Keys that the user sets
//! take precedence, and the other sizes adapt to them: `--num-envs 8` shortens the rollout.

use anyhow::Result;
use serde::Deserialize;
use toml::{Table, Value};

use super::schema::without_absent;
use super::sections::EnvironmentSettings;
use crate::learner::Algorithm;

/// The shortest and the longest rollout in steps.
const NUM_STEPS: [u64; 2] = [16, 128];

/// The table `[preset.by_games]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ByGames {
    /// The number of environments of all games together.
    num_envs: u64,
    /// The minimum and maximum number of environments of each game.
    num_envs_of_game: [u64; 2],
    /// The number of samples of a rollout, for algorithms that have rollouts. The number of steps of each environment
    /// is a power of two.
    samples_per_rollout: Option<u64>,
    /// The number of samples of a minibatch of a rollout.
    samples_per_minibatch: Option<u64>,
    /// The number of emulated frames of each game.
    frames_of_game: u64,
    /// The minimum number of emulated frames of all games together.
    least_frames: u64,
}

impl ByGames {
    /// Returns a layer with the keys that follow from `games`, between a preset and the user's layer `written`.
    pub(super) fn layer(&self, games: &[&str], written: &Table, algorithm: Algorithm) -> Result<Table> {
        let count = games.len().max(1) as u64;
        let [minimum, maximum] = self.num_envs_of_game;
        let num_envs = (self.num_envs / count).clamp(minimum, maximum);
        let mut environments = Table::from_iter([("num_envs".to_owned(), integer(num_envs))]);
        if let Some(Value::Table(overrides)) = without_absent(written).remove("environments") {
            environments.extend(overrides);
        }
        let environments: EnvironmentSettings = Value::Table(environments).try_into()?;
        let total = games
            .iter()
            .fold(0, |sum: u64, game| sum.saturating_add(environments.num_envs_of(game) as u64))
            .max(1);

        let section = algorithm.name();
        let mut keys = vec![
            ("environments", "num_envs", num_envs),
            ("experiment", "total_frames", (self.frames_of_game * count).max(self.least_frames)),
        ];
        if let Some(samples) = self.samples_per_rollout {
            let steps = power_of_two(samples / total).clamp(NUM_STEPS[0], NUM_STEPS[1]);
            let chosen = written.get(section).and_then(|keys| keys.get("num_steps")?.as_integer());
            let samples = chosen.map_or(steps, i64::unsigned_abs).saturating_mul(total);
            keys.push((section, "num_steps", steps));
            let of_minibatch = self.samples_per_minibatch.unwrap_or(samples).max(1);
            keys.push((section, "num_minibatches", samples.saturating_add(of_minibatch / 2) / of_minibatch));
        }
        let mut layer = Table::new();
        for (section, key, value) in keys {
            let section = layer.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(section) = section {
                section.insert(key.to_owned(), integer(value.max(1)));
            }
        }
        Ok(layer)
    }
}

/// Returns the largest power of two that is not greater than `value`, at least 1.
fn power_of_two(value: u64) -> u64 {
    1 << value.max(1).ilog2()
}

fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::schema::read;
    use super::*;

    fn rule() -> ByGames {
        ByGames {
            num_envs: 114,
            num_envs_of_game: [2, 16],
            samples_per_rollout: Some(7296),
            samples_per_minibatch: Some(456),
            frames_of_game: 1_000_000,
            least_frames: 12_000_000,
        }
    }

    /// Returns the environments per game, steps, minibatches and millions of frames for a number of games.
    fn sizes(count: usize, written: &str) -> [i64; 4] {
        let names: Vec<&str> = ale::games().iter().map(|game| game.id).take(count).collect();
        let written = read(written.parse().unwrap()).unwrap();
        let layer = rule().layer(&names, &written, Algorithm::Ppo).unwrap();
        let value = |section: &str, key: &str| layer[section][key].as_integer().unwrap();
        [
            value("environments", "num_envs"),
            value("ppo", "num_steps"),
            value("ppo", "num_minibatches"),
            value("experiment", "total_frames") / 1_000_000,
        ]
    }

    #[test]
    fn rollouts_keep_their_size_for_any_number_of_games() {
        for (games, expected) in [
            (1, [16, 128, 4, 12]),
            (2, [16, 128, 9, 12]),
            (5, [16, 64, 11, 12]),
            (26, [4, 64, 15, 26]),
            (57, [2, 64, 16, 57]),
            (104, [2, 32, 15, 104]),
        ] {
            assert_eq!(sizes(games, ""), expected, "{games} games");
        }
    }

    #[test]
    fn sizes_follow_the_keys_of_the_user() {
        let eight = sizes(57, "environments.num_envs = 8");
        assert_eq!(eight[1..3], [16, 16], "456 environments have short rollouts");
        let first = ale::games()[0].id;
        let one_larger = sizes(57, &format!("environments.game.{first}.num_envs = 300"));
        assert_eq!(one_larger, [2, 16, 14, 57]);
        let spelled = format!("environments.game.\"ALE/{}-v5\".num_envs = 300", first.to_uppercase());
        assert_eq!(sizes(57, &spelled), one_larger);
        assert_eq!(sizes(57, "ppo.num_steps = 32")[2], 8);
    }
}
