//! `ale-train bench env --sweep`: throughput and latency as the number of ROMs grows.

mod point;
mod scaling_plot;

use std::io::Write;

use anyhow::{Result, ensure};
use serde_json::json;
use vector::PoolOptions;

use super::format::print_json;
use super::random_play::{Pace, RandomPlay, ids, round_robin};
use crate::cli::RomCounts;
use crate::cli::{BenchEnvArgs, Global};
use crate::output::notice;
use crate::plot::PlotFile;
use crate::statistics::Estimate;
use crate::table;

use point::Point;

/// Measures every number of ROMs, prints the results and plots them.
pub(super) fn run(
    args: &BenchEnvArgs,
    counts: RomCounts,
    global: &Global,
    out: &mut impl Write,
) -> Result<()> {
    let (duration, runs) = (args.subject.duration(), args.runs);
    ensure!(runs >= 2, "--runs {runs} is not possible: a confidence interval needs 2 or more");
    let num_threads = args.size.num_threads();
    let games = args.subject.games(global)?;
    let file = args.plot.as_deref().map(PlotFile::new).transpose()?;
    let mut points = Vec::new();
    for num_roms in counts.iter() {
        if !global.quiet {
            notice(format_args!("{num_roms} ROMs"));
        }
        let pool = PoolOptions { num_threads, ..PoolOptions::default() };
        let mut play = RandomPlay::warmed_up(&round_robin(&games, num_roms), pool)?;
        let paces = (0..runs).map(|_| play.measure(duration)).collect::<Result<Vec<_>>>()?;
        let estimate = |values: Vec<f64>| Estimate::of(&values);
        points.push(Point {
            num_roms,
            unique_games: num_roms.min(games.len()),
            frames_per_second: estimate(paces.iter().map(Pace::frames_per_second).collect()),
            latency_us: estimate(paces.iter().map(|pace| pace.latency_us.p50).collect()),
        });
    }
    if let Some(file) = file {
        scaling_plot::draw(&points, &title(games.len(), num_threads, runs), file)?;
    }
    if args.subject.json {
        let report = json!({
            "games": ids(&games),
            "num_threads": num_threads,
            "runs": runs,
            "seconds": duration.as_secs_f64(),
            "points": points,
        });
        return print_json(&report, out);
    }
    let rows: Vec<_> = points.iter().map(Point::cells).collect();
    table::print(&["ROMs", "games", "frames/s", "+-", "latency us", "+-"], &rows, out)
}

fn title(games: usize, threads: usize, runs: usize) -> String {
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}, mean of {runs} runs, 95 % confidence", plural(games, "game"), plural(threads, "thread"))
}
