//! `ale-train match`: games of two agents against each other.
//!
//! Each contestant has its own view of the same games, because agents differ in the size of their pictures. All views
//! perform the same actions and therefore have the same results.

mod contestant;
mod record;

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use rl_env::{Actions, ResetSeeds, VectorEnv};
use serde_json::{Value, json};

use crate::cli::{Global, MatchArgs};
use crate::environments::with_roms;
use crate::evaluation::{environments_of_game, shares};
use crate::game_mode::GameMode;
use crate::interrupt::Interrupt;
use crate::selection;
use crate::table;
use crate::telemetry::{Printer, ProgressLine};
use crate::threads::{set_threads, threads_or_cores};

use contestant::{Contestant, MatchGames, PLAYERS, Seat};
use record::Record;

/// The number of frames of a step if both contestants are random.
const FRAME_SKIP: u32 = 4;

/// Runs `ale-train match`.
pub(crate) fn run(args: &MatchArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let printer = Printer::new(global.quiet);
    let contestants = [Contestant::open(&args.first, &printer)?, Contestant::open(&args.second, &printer)?];
    let modes = modes(&args.games, &contestants)?;
    let frame_skip = frame_skip(args, &contestants)?;
    set_threads(threads_or_cores(args.num_threads))?;
    let roms = with_roms(&modes.iter().map(|mode| mode.game).collect::<Vec<_>>(), global)?;
    let progress_line = ProgressLine::of_activity(printer.clone());
    let status = progress_line.status();
    let interrupt = Interrupt::without_handler();
    let mut results = Vec::new();
    for (mode, rom) in modes.into_iter().zip(roms) {
        let label = mode.id();
        let count = environments_of_game(args.episodes);
        let games = MatchGames { mode, rom: rom.rom, count, frame_skip, label: &label };
        let mut seats = Vec::new();
        for (contestant, seed) in contestants.iter().zip(args.seed..) {
            seats.push(contestant.seat(&games, seed, args, global)?);
        }
        let report = |done| status.show_activity(format!("{label}: {done} of {} episodes", args.episodes));
        let sides = play(&mut seats, args, &report, &|| interrupt.is_requested())?;
        results.push((label, sides.context("the match was interrupted")?));
    }
    drop(progress_line);
    if args.json {
        let games: Vec<Value> = results.iter().map(|(game, sides)| summary(game, sides)).collect();
        let report = json!({"first": args.first, "second": args.second, "seed": args.seed, "greedy": args.greedy,
            "repeat_action_probability": f64::from(args.sticky), "games": games});
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    print(args, &results, out)
}

/// Returns the modes that names select, or those for two players on which the agents were trained.
fn modes(names: &[String], contestants: &[Contestant; 2]) -> Result<Vec<GameMode>> {
    if names.is_empty() {
        let mut modes = contestants[0].modes();
        if modes.is_empty() {
            modes = contestants[1].modes();
        }
        ensure!(
            !modes.is_empty(),
            "neither agent was trained on a game of two players: choose one, such as --games pong"
        );
        return Ok(modes);
    }
    let for_two = |name: &String| match GameMode::of_spelling(name) {
        Some(mode) if mode.players == 1 => format!("{}@{PLAYERS}p", mode.game.id),
        _ => name.clone(),
    };
    let names: Vec<String> = names.iter().map(for_two).collect();
    let modes = selection::game_modes(names.iter().map(String::as_str))?;
    match modes.iter().find(|mode| mode.players != PLAYERS) {
        Some(mode) => bail!("{} is not possible: a match is a game of two players", mode.id()),
        None => Ok(modes),
    }
}

/// Returns the number of frames of a step, which must be equal for both contestants.
fn frame_skip(args: &MatchArgs, contestants: &[Contestant; 2]) -> Result<u32> {
    match contestants.each_ref().map(Contestant::frame_skip) {
        [Some(first), Some(second)] if first != second => bail!(
            "{} takes steps of {first} frames, but {} of {second}: they cannot play together",
            args.first,
            args.second
        ),
        [first, second] => Ok(first.or(second).unwrap_or(FRAME_SKIP)),
    }
}

/// Plays the episodes of a game. Returns the record of the first contestant as each player; nothing if `stop` returns
/// true before the end.
fn play(
    seats: &mut [Seat],
    args: &MatchArgs,
    report: &dyn Fn(usize),
    stop: &dyn Fn() -> bool,
) -> Result<Option<[Record; PLAYERS]>> {
    let count = seats[0].view.num_shared();
    let mut left = shares(count, args.episodes);
    let mut records = [Record::default(), Record::default()];
    for seat in seats.iter_mut() {
        let seeds: Vec<Option<u64>> =
            (0..count as u64).map(|game| Some(args.seed.wrapping_add(game))).collect();
        seat.view.reset(ResetSeeds::Each(&seeds))?;
    }
    // The side of each contestant in each game.
    let sides = [0, 1]
        .map(|first| (0..count).map(|game| game * PLAYERS + (game + first) % PLAYERS).collect::<Vec<_>>());
    while left.iter().any(|&left| left > 0) {
        if stop() {
            return Ok(None);
        }
        let mut actions = vec![0; count * PLAYERS];
        for (seat, sides) in seats.iter_mut().zip(&sides) {
            for (&side, action) in sides.iter().zip(seat.act(sides)?) {
                actions[side] = action;
            }
        }
        for seat in seats.iter_mut() {
            seat.view.step(Actions::Discrete(&actions))?;
        }
        ensure!(
            seats[0].view.batch().raw_rewards == seats[1].view.batch().raw_rewards,
            "two emulations of the same game differ"
        );
        for game in 0..count {
            let ended = sides.each_ref().map(|sides| seats[0].view.batch().episodes[sides[game]]);
            let [Some(first), Some(second)] = ended else { continue };
            if left[game] == 0 {
                continue;
            }
            left[game] -= 1;
            records[game % PLAYERS].scores.push([first.total_reward, second.total_reward]);
            report(args.episodes - left.iter().sum::<usize>());
            if left[game] == 0 {
                seats.iter_mut().try_for_each(|seat| seat.view.limit_steps(game, Some(0)))?;
            }
        }
    }
    Ok(Some(records))
}

/// Returns the record of all episodes.
fn all(sides: &[Record; PLAYERS]) -> Record {
    Record { scores: sides.iter().flat_map(|record| record.scores.clone()).collect() }
}

fn summary(game: &str, sides: &[Record; PLAYERS]) -> Value {
    let record = all(sides);
    let [wins, draws, losses] = record.counts();
    json!({
        "game": game,
        "episodes": record.scores.len(),
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "win_rate": record.win_rate(),
        "interval": record.interval(),
        "mean_scores": record.means(),
        "as_first_player": sides[0].scores,
        "as_second_player": sides[1].scores,
    })
}

fn print(args: &MatchArgs, results: &[(String, [Record; PLAYERS])], out: &mut impl Write) -> Result<()> {
    writeln!(out, "{} against {}", args.first, args.second)?;
    let mut rows = Vec::new();
    for (game, sides) in results {
        rows.push(row(game.clone(), &all(sides)));
        for (player, record) in (1..).zip(sides).filter(|(_, record)| !record.scores.is_empty()) {
            rows.push(row(format!("  as player {player}"), record));
        }
    }
    table::print(&["game", "episodes", "won", "drawn", "lost", "win rate", "95 %", "mean scores"], &rows, out)
}

fn row(name: String, record: &Record) -> Vec<String> {
    let [wins, draws, losses] = record.counts();
    let [low, high] = record.interval().map(|bound| 100.0 * bound);
    let [own, other] = record.means();
    vec![
        name,
        record.scores.len().to_string(),
        wins.to_string(),
        draws.to_string(),
        losses.to_string(),
        format!("{:.1} %", 100.0 * record.win_rate()),
        format!("{low:.1} to {high:.1}"),
        format!("{own:.1} : {other:.1}"),
    ]
}
