//! `ale-train games`: lists the games.

use std::io::Write;

use ale::Game;
use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::GamesArgs;
use crate::selection::{self, sets_of};

/// Prints the table.
pub(crate) fn run(args: &GamesArgs, out: &mut impl Write) -> Result<()> {
    let games: Vec<&Game> = match args.games.as_slice() {
        [] => ale::games().iter().collect(),
        names => selection::games(names.iter().map(String::as_str))?,
    };
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
    writeln!(out, "{} games; sets: {}", games.len(), selection::sets().collect::<Vec<_>>().join(", "))?;
    writeln!(out, "other tasks: {}", selection::registry().ids().collect::<Vec<_>>().join(", "))?;
    Ok(())
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
