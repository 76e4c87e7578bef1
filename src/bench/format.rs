use std::io::Write;

use anyhow::Result;

pub(super) fn print_json(report: &serde_json::Value, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}", serde_json::to_string_pretty(report)?)?;
    Ok(())
}

/// Formats a rate for a table, with a decimal only below 100.
pub(super) fn rate(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
