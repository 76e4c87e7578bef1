use std::path::PathBuf;

use clap::Args;

use super::{complete, number};

#[derive(Debug, Args)]
#[command(after_help = "\
Serves a page with the curves of runs, and with the newest agent of a run as it plays. Only programs on this computer \
can open it. Runs are only read, and may still be training.

Examples:
  ale-train watch
  ale-train watch checkpoints/RUN
  ale-train watch checkpoints --port 8080
  ale-train watch --terminal")]
pub(crate) struct WatchArgs {
    /// Directory of a run, or of several, which is searched with its subdirectories [default: checkpoints]
    #[arg(value_name = "RUN", add = complete::runs())]
    pub(crate) runs: Option<PathBuf>,
    /// Port of the page; if it is busy, the next free one
    #[arg(long, value_name = "PORT", default_value_t = 8757, value_parser = number::port)]
    pub(crate) port: u16,
    /// Show the runs in the terminal instead of a browser
    #[arg(long, conflicts_with = "port")]
    pub(crate) terminal: bool,
}
