//! `ale-train man`: manual pages of all commands.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;
use tempfile::TempDir;

use crate::cli::{Cli, ManArgs};
use crate::durable;
use crate::files::{self, limit};
use crate::version;

/// Writes `ale-train.1` and one page for each command.
pub(crate) fn run(args: &ManArgs) -> Result<()> {
    let dir = &args.out;
    fs::create_dir_all(dir).with_context(|| format!("cannot create the directory {}", dir.display()))?;
    let cannot = || format!("cannot write manual pages to {}", dir.display());
    let pages = TempDir::new().with_context(cannot)?;
    // Not the processor of the machine that writes the pages.
    let command = Cli::command().long_version(version::BUILD);
    clap_mangen::generate_to(command, pages.path()).with_context(cannot)?;
    for page in fs::read_dir(pages.path()).with_context(cannot)? {
        let page = page.with_context(cannot)?;
        let text = files::read(&page.path(), limit::MANUAL_PAGE).with_context(cannot)?;
        durable::write(&dir.join(page.file_name()), &text)?;
    }
    Ok(())
}
