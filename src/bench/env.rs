//! `ale-train bench env`: a vector environment with the standard preprocessing and random actions.

use std::io::Write;

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;
use vector::PoolOptions;

use super::format::{print_json, rate};
use super::random_play::{Pace, RandomPlay, ids};
use crate::cli::{BenchEnvArgs, Global};
use crate::environments::GameWithRom;
use crate::output::counted;
use crate::statistics::Percentiles;
use crate::table;
use crate::telemetry::{Printer, ProgressLine};

/// The speed of the environments of one game, or of all games together.
#[derive(Serialize)]
struct Row {
    game: String,
    steps_per_second: f64,
    frames_per_second: f64,
    latency_us: Percentiles,
}

impl Row {
    fn new(game: &str, pace: &Pace) -> Self {
        Self {
            game: game.to_owned(),
            steps_per_second: pace.steps_per_second,
            frames_per_second: pace.frames_per_second(),
            latency_us: pace.latency_us,
        }
    }

    fn cells(&self) -> Vec<String> {
        let Percentiles { p50, p95, p99 } = self.latency_us;
        let values = [self.steps_per_second, self.frames_per_second, p50, p95, p99];
        std::iter::once(self.game.clone()).chain(values.map(rate)).collect()
    }
}

/// Measures all games together and each alone, and prints the results.
pub(crate) fn run(args: &BenchEnvArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    let duration = args.subject.duration();
    let num_envs = args.size.num_envs;
    let batch_size = args.batch_size.unwrap_or(0);
    let num_threads = args.size.num_threads();
    let games = args.subject.games(global)?;
    let of_each: Vec<(GameWithRom, usize)> = games.iter().map(|game| (game.clone(), num_envs)).collect();
    let total = num_envs * games.len();
    ensure!(
        batch_size <= total,
        "--batch-size {batch_size} is not possible: it must be in 1..={total}, the number of environments"
    );
    let num_threads = num_threads.min(total);
    let pool = PoolOptions { batch_size, num_threads, ..PoolOptions::default() };

    let progress_line = ProgressLine::of_activity(Printer::new(global.quiet));
    let status = progress_line.status();
    status.show_activity(format!("measuring {}", counted(games.len(), "game")));
    let pace = RandomPlay::warmed_up(&of_each, pool)?.measure(duration)?;
    let together = Row::new(&format!("{} games together", games.len()), &pace);
    let mut per_game = Vec::new();
    for (number, game) in (1..).zip(&of_each) {
        let name = game.0.game.id;
        status.show_activity(format!("measuring {name}, game {number} of {}", games.len()));
        per_game.push(if games.len() == 1 {
            Row::new(name, &pace)
        } else {
            // The batch size for all games may exceed the number of environments of one game.
            let pool = PoolOptions { batch_size: batch_size.min(num_envs), ..pool };
            let pace = RandomPlay::warmed_up(std::slice::from_ref(game), pool)?.measure(duration)?;
            Row::new(name, &pace)
        });
    }
    drop(progress_line);
    if args.subject.json {
        let report = json!({
            "games": ids(&games),
            "num_envs": total,
            "num_envs_per_game": num_envs,
            "num_threads": num_threads,
            "batch_size": if batch_size == 0 { total } else { batch_size },
            "seconds": duration.as_secs_f64(),
            "steps_per_second": together.steps_per_second,
            "frames_per_second": together.frames_per_second,
            "latency_us": together.latency_us,
            "per_game": per_game,
        });
        return print_json(&report, out);
    }
    if games.len() > 1 {
        per_game.push(together);
    }
    let rows: Vec<_> = per_game.iter().map(Row::cells).collect();
    table::print(&["game", "steps/s", "frames/s", "p50 us", "p95 us", "p99 us"], &rows, out)?;
    writeln!(out, "{} per game, {}", counted(num_envs, "environment"), counted(num_threads, "thread"))?;
    Ok(())
}
