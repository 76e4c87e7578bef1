use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Needs the Python package of the service: pip install wandb, or pip install mlflow. The package decides where runs go: \
`wandb login` and WANDB_MODE, or MLFLOW_TRACKING_URI. A run that was sent before continues where it ended.

Examples:
  ale-train sync checkpoints/RUN --to wandb
  ale-train sync checkpoints/RUN --to mlflow --project pong --follow
  ale-train sync checkpoints/SWEEP/* --to mlflow --python .venv/bin/python")]
pub(crate) struct SyncArgs {
    /// Directories of runs
    #[arg(value_name = "RUN", required = true, add = complete::runs())]
    pub(crate) runs: Vec<PathBuf>,
    /// The service that shows the runs
    #[arg(long, value_enum, value_name = "SERVICE")]
    pub(crate) to: Service,
    /// The project of Weights & Biases, or the experiment of MLflow
    #[arg(long, value_name = "NAME", default_value = "ale-train")]
    pub(crate) project: String,
    /// Send what the run writes until it ends; takes one run
    #[arg(long)]
    pub(crate) follow: bool,
    /// Python with the package of the service [default: that of $VIRTUAL_ENV, or python3]
    #[arg(long, value_name = "FILE")]
    pub(crate) python: Option<PathBuf>,
    /// Print one JSON array with the records that were sent of each run, and where it is shown
    #[arg(long)]
    pub(crate) json: bool,
}

/// A service that shows the curves of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Service {
    /// Weights & Biases.
    Wandb,
    /// MLflow.
    Mlflow,
}

impl Service {
    /// Returns its name in Python and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wandb => "wandb",
            Self::Mlflow => "mlflow",
        }
    }
}
