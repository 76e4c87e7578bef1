use std::io::Write;

use anyhow::Result;

use crate::config::Games;
use crate::scores::Scores;
use crate::table::{self, ABSENT};

/// Prints the agent's scores, beside those of a random player in the same games if they are given. Columns that no game
/// has a value for are left out.
pub(crate) fn print(
    agent: &[Scores],
    random: Option<&Vec<Scores>>,
    games: &Games,
    out: &mut impl Write,
) -> Result<()> {
    let cells = |cell: &dyn Fn(&Scores) -> String| agent.iter().map(cell).collect::<Vec<String>>();
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let normalised = |scores: &Scores| scores.human_normalised(games).map(|share| format!("{share:.3}"));
    let best = |scores: &Scores| games.best_score(&scores.task).map(one_digit).filter(|_| random.is_some());
    let mean =
        if agent.iter().any(|scores| scores.standard_error().is_some()) { "mean ± error" } else { "mean" };
    let columns = [
        (("game", "game"), cells(&|scores| games.label(&scores.task))),
        (("episodes", "episodes"), cells(&|scores| scores.returns.len().to_string())),
        ((mean, mean), means(agent)),
        (("median", "median"), cells(&|scores| one_digit(scores.median()))),
        (("human-normalised", "normalised"), cells(&|scores| or_absent(normalised(scores)))),
        (
            ("random player", "random"),
            random.into_iter().flatten().map(|scores| one_digit(scores.mean())).collect(),
        ),
        (("best possible", "best"), cells(&|scores| or_absent(best(scores)))),
    ];
    table::print_present(&columns, out)
}

/// Returns the mean return of each game with its standard error, if a game has one.
fn means(agent: &[Scores]) -> Vec<String> {
    let errors: Vec<String> =
        agent.iter().map(|scores| scores.standard_error().map_or_else(String::new, one_digit)).collect();
    let width = errors.iter().map(String::len).max().unwrap_or(0);
    agent.iter().zip(&errors).map(|(scores, error)| mean_with_error(scores.mean(), error, width)).collect()
}

/// Returns a mean with its error, if it has one, in a column whose longest error has `width` characters.
fn mean_with_error(mean: f64, error: &str, width: usize) -> String {
    let mean = one_digit(mean);
    match (width, error) {
        (0, _) => mean,
        (_, "") => format!("{mean}{:gap$}", "", gap = width + " ± ".chars().count()),
        _ => format!("{mean} ± {error:>width$}"),
    }
}

/// Returns a value with one digit after the decimal point.
fn one_digit(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn games(text: &str) -> Games {
        config::from_toml(text).unwrap().resolve().unwrap().games
    }

    fn scores(task: &str, returns: &[f64]) -> Scores {
        Scores { task: task.to_owned(), returns: returns.to_vec(), lengths: vec![9; returns.len()] }
    }

    fn table(agent: &[Scores], random: Option<&Vec<Scores>>, games: &Games) -> String {
        let mut out = Vec::new();
        print(agent, random, games, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_game_in_another_mode_has_no_score_that_is_compared_with_the_default_mode() {
        let games = games(
            "[environments]\ngames = ['pong', 'breakout']\n[environments.game.breakout]\nmode = 12\ndifficulty = [0, 1]",
        );
        let agent = [scores("pong", &[0.0, 5.0]), scores("breakout", &[10.0, 12.0])];
        let random = vec![scores("pong", &[-21.0, -20.0]), scores("breakout", &[1.0, 2.0])];
        // Pong: (2.5 + 20.7) / (14.6 + 20.7).
        assert_eq!(
            table(&agent, Some(&random), &games),
            "game                          episodes  mean ± error  median  normalised  random\n\
             pong                                 2     2.5 ± 2.5     2.5       0.657   -20.5\n\
             breakout (mode 12; difficulty 0, 1)\n\
             \x20                                    2    11.0 ± 1.0    11.0           -     1.5\n"
        );
    }

    #[test]
    fn columns_without_values_are_left_out() {
        let games = games("[environments]\ngames = ['CartPole-v1']");
        let agent = [scores("CartPole-v1", &[100.0])];
        assert_eq!(
            table(&agent, None, &games),
            "game         episodes   mean  median\nCartPole-v1         1  100.0   100.0\n"
        );
        let agent = [scores("CartPole-v1", &[100.0, 200.0])];
        assert_eq!(
            table(&agent, Some(&vec![scores("CartPole-v1", &[20.0, 30.0])]), &games),
            "game         episodes  mean ± error  median  random player  best possible\n\
             CartPole-v1         2  150.0 ± 50.0   150.0           25.0          500.0\n"
        );
    }

    #[test]
    fn the_errors_of_all_games_are_aligned() {
        let agent = [scores("a", &[0.0, 0.0]), scores("b", &[0.0, 200.0]), scores("c", &[7.0])];
        assert_eq!(means(&agent), ["0.0 ±   0.0", "100.0 ± 100.0", "7.0        "]);
    }

    #[test]
    fn tables_of_all_games_fit_eighty_columns() {
        let text = "[environments]\ngames = ['atari57']";
        let games = games(text);
        let of_each = |returns: &[f64]| games.names().into_iter().map(|name| scores(name, returns)).collect();
        let agent: Vec<Scores> = of_each(&[19_444.0, 21_444.0]);
        let table = table(&agent, Some(&of_each(&[12_850.0, 12_850.0])), &games);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert_eq!(table.lines().count(), 58, "{table}");
    }
}
