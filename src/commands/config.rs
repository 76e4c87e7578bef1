//! `ale-train config`: prints the experiment that flags describe, or the reference of all keys.

use std::io::Write;

use anyhow::Result;

use crate::cli::ConfigArgs;
use crate::config;
use crate::telemetry::Printer;

/// Prints the experiment or the reference.
pub(crate) fn run(args: &ConfigArgs, out: &mut impl Write) -> Result<()> {
    let text = if args.reference {
        config::reference()?
    } else {
        let experiment = config::from_layers(&args.experiment.layers(), None)?.resolve()?;
        experiment.warnings().iter().for_each(|line| Printer::Plain.warn(line));
        experiment.to_toml()?
    };
    write!(out, "{text}")?;
    Ok(())
}
