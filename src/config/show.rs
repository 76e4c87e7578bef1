//! `ale-train config`: the experiment that flags mean, or the page with every key.

use std::io::Write;

use anyhow::Result;

use super::{from_args, keys};
use crate::cli::ConfigArgs;

/// Prints what was asked for.
pub(crate) fn run(args: &ConfigArgs, out: &mut impl Write) -> Result<()> {
    if args.reference {
        write!(out, "{}", keys::reference())?;
        return Ok(());
    }
    let experiment = from_args(&args.experiment, None)?.resolve()?;
    write!(out, "{}", experiment.to_toml()?)?;
    Ok(())
}
