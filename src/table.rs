//! Plain-text tables.

use std::io::Write;

use anyhow::Result;

/// Prints a table. The first column is left-aligned, the others are right-aligned.
pub(crate) fn print(headings: &[&str], rows: &[Vec<String>], out: &mut impl Write) -> Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    for row in std::iter::once(&headings).chain(rows) {
        write!(out, "{:width$}", row[0], width = widths[0])?;
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut out = Vec::new();
        print(&["game", "mean"], &[vec!["pong".into(), "-20.7".into()]], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "game   mean\npong  -20.7\n");
        let mut out = Vec::new();
        print(&["run", "n"], &[vec!["läuft".into(), "1".into()]], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "run    n\nläuft  1\n");
    }
}
