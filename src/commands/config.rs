//! `ale-train config`: prints the experiment that flags describe, or the reference of all keys.

use std::io::Write;

use anyhow::Result;

use crate::cli::ConfigArgs;
use crate::config;
use crate::telemetry::Printer;

/// Prints the experiment or the reference.
pub(crate) fn run(args: &ConfigArgs, out: &mut impl Write) -> Result<()> {
    if args.reference {
        return Ok(out.write_all(config::reference()?.as_bytes())?);
    }
    let config = config::from_layers(&args.experiment.layers(), None)?;
    let preset =
        config.preset.as_ref().map_or_else(String::new, |chosen| format!("# {}\n\n", chosen.sentence()));
    let experiment = config.resolve()?;
    experiment.warnings().iter().for_each(|line| Printer::Plain.warn(line));
    let absent = experiment.absent_keys()?.join(", ");
    Ok(write!(out, "{preset}{}\n# Keys without a value: {absent}\n", experiment.to_toml()?)?)
}
