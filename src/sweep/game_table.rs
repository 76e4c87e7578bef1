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
    /// The mean over the runs on a scale from 0 for a random to 1 for a human player, if the scores of both are published.
    normalised: Option<f64>,
    /// The published scores of a random and of a human player.
    published: [Option<f64>; 2],
}

impl<'a> GameScores<'a> {
    fn of(results: &'a SettingRuns) -> Self {
        let SettingRuns { setting, game, runs } = results;
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
    fn end(&self, pick: fn(f64, f64) -> f64) -> Option<f64> {
        self.returns.iter().copied().reduce(pick).filter(|_| self.returns.len() > 1)
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:.1}"))
}

/// Prints the scores in each game, and the aggregates of each setting over the games, best first.
pub(super) fn print(results: &[SettingRuns], out: &mut impl Write) -> Result<()> {
    print_scores(results.iter().map(GameScores::of).collect(), out)
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
        (("mean return", "mean"), column(&|score| number(score.mean()))),
        (("lowest", "low"), column(&|score| number(score.end(f64::min)))),
        (("highest", "high"), column(&|score| number(score.end(f64::max)))),
        (("random player", "random"), column(&|score| number(score.published[0]))),
        (("human player", "human"), column(&|score| number(score.published[1]))),
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
    let row = |(setting, values): &(&str, Vec<f64>)| {
        let aggregates =
            [median(values.clone()), interquartile_mean(values.clone()), mean(values.iter().copied())];
        let cells = aggregates.map(|aggregate| format!("{aggregate:.3}"));
        [(*setting).to_owned(), values.len().to_string()].into_iter().chain(cells).collect()
    };
    writeln!(out, "\nhuman-normalised scores over the games")?;
    let rows: Vec<Vec<String>> = settings.iter().map(row).collect();
    let headings = ["setting", "games", "median", "interquartile mean", "mean"];
    table::print(&headings, &rows, out)
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

    #[test]
    fn every_game_has_a_row_and_every_setting_its_aggregates() {
        let of = |setting, shift: f64| {
            let normalised =
                |game: &'static str, share: f64| scores(setting, game, &[2.0, 4.0], Some(share + shift));
            [
                normalised("qbert", 0.0),
                normalised("pong", 0.1),
                normalised("alien", 0.2),
                normalised("hero", 0.9),
            ]
        };
        let unpublished = vec![scores("as given", "adventure", &[], None)];
        assert_eq!(
            table([of("as given", 0.0).into(), unpublished].concat()),
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
        let shown = table([of("ppo.gamma=0.9", 0.0), of("ppo.gamma=0.99", 0.1)].concat());
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
