//! `ale-train games`: the table of games. Also the names by which games are asked for: ids and sets.

use std::io::Write;

use ale::roms::nearest;
use ale::{GAME_SETS, Game};
use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::cli::GamesArgs;

/// The set of every game.
const ALL: &str = "all";

/// The games that `names` mean, ids and sets, each game once, in the order in which they are named.
pub(crate) fn select<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<&'static Game>> {
    let mut selected: Vec<&'static Game> = Vec::new();
    for name in names {
        for game in meant_by(name)? {
            if !selected.iter().any(|known| known.id == game.id) {
                selected.push(game);
            }
        }
    }
    Ok(selected)
}

fn meant_by(name: &str) -> Result<Vec<&'static Game>> {
    if name == ALL {
        return Ok(ale::games().iter().collect());
    }
    if let Some((_, holds)) = GAME_SETS.iter().find(|(set, _)| *set == name) {
        return Ok(ale::games().iter().filter(|game| holds(game)).collect());
    }
    if let Some(game) = ale::games().iter().find(|game| game.id == name) {
        return Ok(vec![game]);
    }
    let known = ale::games().iter().map(|game| game.id).chain(GAME_SETS.map(|(set, _)| set)).chain([ALL]);
    let nearest = nearest(name, known);
    if nearest.is_empty() {
        bail!("unknown game or set '{name}'; `ale-train games` lists all")
    }
    bail!("unknown game or set '{name}'; did you mean {}?", nearest.join(" or "))
}

/// Prints the table.
pub(crate) fn run(args: &GamesArgs, out: &mut impl Write) -> Result<()> {
    let games =
        if args.games.is_empty() { select([ALL])? } else { select(args.games.iter().map(String::as_str))? };
    if args.json {
        let rows: Vec<Value> = games.iter().map(|game| row(game)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{:18} {:34} {:18} {:>4}  {:>7} {:>5} {:>12}  {:>9} {:>9}  sets",
        "id", "title", "publisher", "year", "actions", "modes", "difficulties", "random", "human"
    )?;
    for game in &games {
        let score = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), |score| score.to_string());
        let shorten = |text: &str, width| text.chars().take(width).collect::<String>();
        writeln!(
            out,
            "{:18} {:34} {:18} {:>4}  {:>7} {:>5} {:>12}  {:>9} {:>9}  {}",
            game.id,
            shorten(game.title, 34),
            shorten(game.publisher.unwrap_or("-"), 18),
            game.year.map_or_else(|| "-".to_owned(), |year| year.to_string()),
            game.minimal_actions.len(),
            game.modes.len(),
            game.difficulties.len(),
            score(game.random_score),
            score(game.human_score),
            sets_of(game).join(" "),
        )?;
    }
    writeln!(out, "{} games", games.len())?;
    Ok(())
}

fn sets_of(game: &Game) -> Vec<&'static str> {
    GAME_SETS.into_iter().filter(|(_, holds)| holds(game)).map(|(set, _)| set).collect()
}

fn row(game: &Game) -> Value {
    json!({
        "id": game.id,
        "title": game.title,
        "publisher": game.publisher,
        "year": game.year,
        "bankswitch": game.bankswitch,
        "tv": game.tv,
        "height": game.height,
        "minimal_actions": game.minimal_actions,
        "legal_actions": game.legal_actions,
        "modes": game.modes,
        "default_mode": game.default_mode,
        "difficulties": game.difficulties,
        "start_lives": game.start_lives,
        "random_score": game.random_score,
        "human_score": game.human_score,
        "best_score": game.best_score,
        "sets": sets_of(game),
        "note": game.note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_their_members() {
        for (name, members) in [("atari57", 57), ("atari100k", 26), ("atari5", 5)] {
            assert_eq!(select([name]).unwrap().len(), members, "{name}");
        }
        assert_eq!(sets_of(ale::game("alien").unwrap()), ["atari57", "atari100k"]);
        assert!(sets_of(ale::game("harvest").unwrap()).is_empty());
    }

    #[test]
    fn a_game_named_twice_is_selected_once() {
        let ids: Vec<_> = select(["qbert", "atari5", "qbert"]).unwrap().iter().map(|game| game.id).collect();
        assert_eq!(ids, ["qbert", "battle_zone", "double_dunk", "name_this_game", "phoenix"]);
    }

    #[test]
    fn a_misspelt_name_comes_back_with_the_nearest() {
        let message = |name| select([name]).unwrap_err().to_string();
        assert_eq!(message("brekout"), "unknown game or set 'brekout'; did you mean breakout?");
        assert!(message("atari75").contains("atari57"));
        assert!(message("chess960").ends_with("lists all"));
    }
}
