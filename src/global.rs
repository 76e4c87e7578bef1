// Documentation comments are help texts, which show backticks verbatim.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::Args;

const GLOBAL: &str = "Global options";

/// The flags of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Directory of ROMs [default: $ALE_TRAIN_ROMS, else ale-train/roms in the user's data directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) rom_dir: Option<PathBuf>,
    /// Disable downloads
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) offline: bool,
    /// Print results, warnings and errors only
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
}
