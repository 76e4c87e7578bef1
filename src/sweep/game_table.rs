//! The tables at the end of a sweep that trains a separate agent for each game.

use std::io::Write;

use anyhow::Result;

use super::SettingRuns;
use crate::report::RunHistory;
use crate::statistics::{interquartile_mean, mean, median};
use crate::table::{self, ABSENT};

/// The scores of a setting in a game.
#[derive(Clone)]
struct GameScores<'a> {
    setting: &'a str,
    /// The game with its mode and difficulty, if they are not the default.
    game: String,
    /// The mean return of each completed run.
    returns: Vec<f64>,
    /// The mean over the runs on a scale from 0 for a random to 1 for a human player, if the scores of both are
    /// published.
    normalised: Option<f64>,
    /// The published scores of a random and of a human player.
    published: [Option<f64>; 2],
}

impl<'a> GameScores<'a> {
    fn new(results: &'a SettingRuns) -> Self {
        let SettingRuns { setting, game, runs, .. } = results;
        let game = game.unwrap_or_default();
        let scores = runs.iter().filter_map(RunHistory::scores);
        let returns: Vec<f64> = scores.flatten().map(|(_, score)| score).collect();
        let games = runs.first().map(RunHistory::games);
        let published = games.and_then(|games| games.flavour(game)?.published());
        let normalised = games
            .filter(|_| !returns.is_empty())
            .and_then(|games| games.human_normalised(game, mean(returns.iter().copied())));
        Self {
            setting,
            game: games.map_or_else(|| game.to_owned(), |games| games.label(game)),
            returns,
            normalised,
            published: [
                published.and_then(|game| game.random_score),
                published.and_then(|game| game.human_score),
            ],
        }
    }

    fn mean(&self) -> Option<f64> {
        (!self.returns.is_empty()).then(|| mean(self.returns.iter().copied()))
    }

    /// Returns the lowest or the highest of several runs.
    fn extreme(&self, pick: fn(f64, f64) -> f64) -> Option<f64> {
        self.returns.iter().copied().reduce(pick).filter(|_| self.returns.len() > 1)
    }
}

/// Returns a value with one digit after the decimal point.
fn one_digit(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.1}"))
}

/// Prints the scores in each game, and the aggregates of each setting over the games, best first.
pub(super) fn print(results: &[SettingRuns], out: &mut impl Write) -> Result<()> {
    print_scores(results.iter().map(GameScores::new).collect(), out)
}

fn print_scores(mut scores: Vec<GameScores<'_>>, out: &mut impl Write) -> Result<()> {
    // Stable, so the settings of a game keep their order.
    scores.sort_by(|a, b| a.game.cmp(&b.game));
    let has_one_setting = scores.iter().all(|score| score.setting == scores[0].setting);
    let setting = |score: &GameScores<'_>| if has_one_setting { ABSENT } else { score.setting }.to_owned();
    let share = |share: f64| format!("{share:.3}");
    let column = |cell: &dyn Fn(&GameScores<'_>) -> String| scores.iter().map(cell).collect::<Vec<String>>();
    let columns = [
        (("game", "game"), column(&|score| score.game.clone())),
        (("setting", "setting"), column(&setting)),
        (("seeds", "seeds"), column(&|score| score.returns.len().to_string())),
        (("mean return", "mean"), column(&|score| one_digit(score.mean()))),
        (("lowest", "low"), column(&|score| one_digit(score.extreme(f64::min)))),
        (("highest", "high"), column(&|score| one_digit(score.extreme(f64::max)))),
        (("random player", "random"), column(&|score| one_digit(score.published[0]))),
        (("human player", "human"), column(&|score| one_digit(score.published[1]))),
        (
            ("human-normalised", "normalised"),
            column(&|score| score.normalised.map_or_else(|| ABSENT.to_owned(), share)),
        ),
    ];
    table::print_present(&columns, out)?;
    print_aggregates(&scores, out)
}

/// Prints the aggregates of the human-normalised scores, if there are any.
fn print_aggregates(scores: &[GameScores<'_>], out: &mut impl Write) -> Result<()> {
    let mut settings: Vec<(&str, Vec<f64>)> = Vec::new();
    for GameScores { setting, normalised, .. } in scores {
        match settings.iter_mut().find(|(known, _)| known == setting) {
            Some((_, values)) => values.extend(normalised),
            None => settings.push((setting, normalised.iter().copied().collect())),
        }
    }
    settings.retain(|(_, values)| !values.is_empty());
    settings
        .sort_by(|(_, a), (_, b)| interquartile_mean(b.clone()).total_cmp(&interquartile_mean(a.clone())));
    if settings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nhuman-normalised scores over the games")?;
    let rows: Vec<Vec<String>> =
        settings.iter().map(|(setting, values)| aggregate_row(setting, values)).collect();
    let headings = ["setting", "games", "median", "interquartile mean", "mean"];
    table::print(&headings, &rows, out)
}

/// Returns the aggregates of a setting over its scores in the games.
fn aggregate_row(setting: &str, values: &[f64]) -> Vec<String> {
    let aggregates =
        [median(values.to_vec()), interquartile_mean(values.to_vec()), mean(values.iter().copied())];
    let cells = aggregates.map(|aggregate| format!("{aggregate:.3}"));
    [setting.to_owned(), values.len().to_string()].into_iter().chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(
        setting: &'static str,
        game: &str,
        returns: &[f64],
        normalised: Option<f64>,
    ) -> GameScores<'static> {
        let published = normalised.map_or([None; 2], |_| [Some(1.7), Some(30.5)]);
        GameScores { setting, game: game.to_owned(), returns: returns.to_vec(), normalised, published }
    }

    fn table(scores: Vec<GameScores<'_>>) -> String {
        let mut out = Vec::new();
        print_scores(scores, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns the scores of a setting in four games, whose human-normalised scores are shifted.
    fn four_games(setting: &'static str, shift: f64) -> [GameScores<'static>; 4] {
        [("qbert", 0.0), ("pong", 0.1), ("alien", 0.2), ("hero", 0.9)]
            .map(|(game, share)| scores(setting, game, &[2.0, 4.0], Some(share + shift)))
    }

    #[test]
    fn every_game_has_a_row_and_every_setting_its_aggregates() {
        let unpublished = vec![scores("as given", "adventure", &[], None)];
        assert_eq!(
            table([four_games("as given", 0.0).into(), unpublished].concat()),
            "game       seeds  mean  low  high  random  human  normalised\n\
             adventure      0     -    -     -       -      -           -\n\
             alien          2   3.0  2.0   4.0     1.7   30.5       0.200\n\
             hero           2   3.0  2.0   4.0     1.7   30.5       0.900\n\
             pong           2   3.0  2.0   4.0     1.7   30.5       0.100\n\
             qbert          2   3.0  2.0   4.0     1.7   30.5       0.000\n\
             \n\
             human-normalised scores over the games\n\
             setting   games  median  interquartile mean   mean\n\
             as given      4   0.150               0.150  0.300\n"
        );
        let shown = table([four_games("ppo.gamma=0.9", 0.0), four_games("ppo.gamma=0.99", 0.1)].concat());
        let (games, aggregates) = shown.split_once("\n\n").unwrap();
        assert_eq!(games.lines().filter(|row| row.starts_with("hero")).count(), 2, "{games}");
        assert_eq!(
            aggregates,
            "human-normalised scores over the games\n\
             setting         games  median  interquartile mean   mean\n\
             ppo.gamma=0.99      4   0.250               0.250  0.400\n\
             ppo.gamma=0.9       4   0.150               0.150  0.300\n"
        );
    }

    #[test]
    fn games_without_published_scores_have_no_aggregates() {
        let shown = table(vec![scores("as given", "CartPole-v1", &[100.0], None)]);
        assert_eq!(shown, "game         seeds  mean return\nCartPole-v1      1        100.0\n");
    }
}
