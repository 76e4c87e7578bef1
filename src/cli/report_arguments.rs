use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Runs that differ only in their seed, or in their single game, are combined: curves get a band from the \
lowest to the highest run, and scores \
get confidence intervals. Other runs are shown side by side, labelled with their algorithm and the few keys in which \
they differ, or with the name in NAME=RUN. The page has no external resources, follows the light or dark mode of the \
system and can be printed.

Examples:
  ale-train report checkpoints/RUN
  ale-train report checkpoints --out all.html
  ale-train report base=checkpoints/SWEEP tuned=checkpoints/pong__ppo__* --out pong.html
  ale-train report checkpoints/pong__ppo__* --out pong.svg
  ale-train report checkpoints --out scores.csv
  ale-train report checkpoints/RUN --videos
  ale-train report checkpoints --format md")]
pub(crate) struct ReportArgs {
    /// Run directories, directories that contain runs (such as that of a sweep), or glob patterns; the runs may still
    /// be training. NAME=RUN gives the runs a name
    #[arg(value_name = "RUN", required = true, add = complete::runs())]
    pub(crate) runs: Vec<PathBuf>,
    /// File to write: .html; .md, .csv or .json for the scores alone; .svg or .png for the curves alone
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Show the newest agent of each setting in each game: GIFs of at most 300 steps, together at most 24 MiB
    #[arg(long)]
    pub(crate) videos: bool,
    /// Print the scores alone to standard output instead
    #[arg(long, value_name = "FORMAT", conflicts_with = "out")]
    pub(crate) format: Option<ScoreFormat>,
}

/// A format of the scores alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScoreFormat {
    /// A Markdown table for papers.
    #[value(name = "md")]
    Markdown,
    /// A line for each game and setting.
    Csv,
    /// All scores and statistics.
    Json,
}
