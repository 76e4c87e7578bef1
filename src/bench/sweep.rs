//! `ale-train bench env --sweep`: throughput and latency as the number of ROMs grows.

use std::io::Write;
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use serde::Serialize;
use serde_json::json;
use vector::PoolOptions;

use super::plot;
use super::random_play::{Pace, RandomPlay, ids, round_robin};
use super::statistics::Estimate;
use super::{print_json, rate};
use crate::canvas::PlotFile;
use crate::cli::{BenchEnvArgs, Global};
use crate::output::notice;
use crate::table;

/// Most ROMs of a sweep: each takes some 100 KB, in every point of the sweep.
const MOST_ROMS: usize = 65_536;

/// The numbers of ROMs of a sweep: the ends, and the powers of two between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SweepRange {
    first: usize,
    last: usize,
}

impl FromStr for SweepRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let ends =
            text.split_once("..").and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        let (first, last) = ends.context("it must be two numbers of ROMs, as 1..256")?;
        ensure!(
            1 <= first && first <= last && last <= MOST_ROMS,
            "it must begin at 1 or more and must not end before it, nor after {MOST_ROMS}"
        );
        Ok(Self { first, last })
    }
}

impl SweepRange {
    fn points(self) -> Vec<usize> {
        let Self { first, last } = self;
        let powers = (0..usize::BITS).map(|bit| 1 << bit).filter(|power| (first..=last).contains(power));
        let mut points: Vec<usize> = powers.chain([first, last]).collect();
        points.sort_unstable();
        points.dedup();
        points
    }
}

/// What was measured with a number of ROMs.
#[derive(Serialize)]
pub(super) struct Point {
    pub(super) num_roms: usize,
    /// How many of the ROMs are different.
    unique_games: usize,
    pub(super) frames_per_second: Estimate,
    /// The median of each run.
    pub(super) latency_us: Estimate,
}

impl Point {
    fn cells(&self) -> Vec<String> {
        let half = |estimate: Estimate| rate(estimate.high - estimate.mean);
        let Self { num_roms, unique_games, frames_per_second, latency_us } = self;
        vec![
            num_roms.to_string(),
            unique_games.to_string(),
            rate(frames_per_second.mean),
            half(*frames_per_second),
            rate(latency_us.mean),
            half(*latency_us),
        ]
    }
}

/// Measures, prints and draws.
pub(super) fn run(
    args: &BenchEnvArgs,
    range: SweepRange,
    global: &Global,
    out: &mut impl Write,
) -> Result<()> {
    let (duration, runs) = (args.subject.duration()?, args.runs);
    ensure!(runs >= 2, "--runs {runs} is not possible: a confidence interval takes 2 or more");
    let num_threads = args.crew.num_threads()?;
    let games = args.subject.games(global)?;
    let file = args.plot.as_deref().map(PlotFile::new).transpose()?;
    let mut points = Vec::new();
    for num_roms in range.points() {
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
    if let Some(file) = &file {
        plot::draw(&points, &title(games.len(), num_threads, runs), file)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_has_both_ends_and_the_powers_of_two() {
        let points = |text: &str| text.parse::<SweepRange>().unwrap().points();
        assert_eq!(points("1..256"), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(points("3..20"), [3, 4, 8, 16, 20]);
        assert_eq!(points("5..5"), [5]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "7", "0..4", "8..2", "1..x", "1..1000000", "-1..3"] {
            assert!(text.parse::<SweepRange>().is_err(), "{text}");
        }
    }
}
