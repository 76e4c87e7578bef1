//! `ale-train man`: manual pages of all commands.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::cli::{Cli, ManArgs};

/// Writes `ale-train.1` and one page for each command.
pub(crate) fn run(args: &ManArgs) -> Result<()> {
    let dir = &args.out;
    fs::create_dir_all(dir).with_context(|| format!("cannot create the directory {}", dir.display()))?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("cannot write manual pages to {}", dir.display()))
}
