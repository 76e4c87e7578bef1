//! Plain-text tables.

use std::io::Write;

use anyhow::Result;

use crate::output::{WIDTH, one_line};

/// The text of a cell without a value.
pub(crate) const ABSENT: &str = "-";
/// The spaces between two columns.
const GAP: usize = 2;

/// Prints a table. The first column is left-aligned, the others are right-aligned. A row takes one line, whatever its
/// cells contain.
pub(crate) fn print(headings: &[&str], rows: &[Vec<String>], out: &mut impl Write) -> Result<()> {
    let rows = in_one_line(rows);
    let widths = widths(headings, &rows);
    print_row(headings, &widths, out)?;
    rows.iter().try_for_each(|row| print_row(row, &widths, out))
}

/// Prints a table of names with their values. If it is wider than 80 columns, it has the second, short headings. The
/// longest names are on lines of their own if it is still too wide.
pub(crate) fn print_narrow(
    headings: &[(&str, &str)],
    rows: &[Vec<String>],
    out: &mut impl Write,
) -> Result<()> {
    let rows = in_one_line(rows);
    let (long, short): (Vec<&str>, Vec<&str>) = headings.iter().copied().unzip();
    let headings = if total(&widths(&long, &rows)) <= WIDTH { long } else { short };
    let mut widths = widths(&headings, &rows);
    let values = total(&widths) - widths[0];
    widths[0] = widths[0].min(WIDTH.saturating_sub(values).max(headings[0].len()));
    print_row(&headings, &widths, out)?;
    for row in &rows {
        let mut row: Vec<&str> = row.iter().map(String::as_str).collect();
        if row[0].chars().count() > widths[0] {
            writeln!(out, "{}", row[0])?;
            row[0] = "";
        }
        print_row(&row, &widths, out)?;
    }
    Ok(())
}

/// Prints columns of equal length, each with a long and a short heading, as [`print_narrow`] does. Columns in which
/// every cell is [`ABSENT`] are left out.
pub(crate) fn print_present(columns: &[((&str, &str), Vec<String>)], out: &mut impl Write) -> Result<()> {
    let shown = columns.iter().filter(|(_, cells)| cells.iter().any(|cell| cell != ABSENT));
    let (headings, columns): (Vec<_>, Vec<&Vec<String>>) =
        shown.map(|(headings, cells)| (*headings, cells)).unzip();
    let count = columns.first().map_or(0, |cells| cells.len());
    let rows: Vec<Vec<String>> =
        (0..count).map(|row| columns.iter().map(|cells| cells[row].clone()).collect()).collect();
    print_narrow(&headings, &rows, out)
}

/// Returns rows whose cells contain no line breaks, nor other control characters.
fn in_one_line(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|cell| one_line(cell).into_owned()).collect()).collect()
}

fn print_row(row: &[impl AsRef<str>], widths: &[usize], out: &mut impl Write) -> Result<()> {
    write!(out, "{:width$}", row[0].as_ref(), width = widths[0])?;
    for (cell, width) in row.iter().zip(widths).skip(1) {
        write!(out, "{:GAP$}{:>width$}", "", cell.as_ref())?;
    }
    Ok(writeln!(out)?)
}

/// Returns the width of each column.
fn widths(headings: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    headings.iter().enumerate().map(|(column, heading)| width(column, heading, rows)).collect()
}

fn width(column: usize, heading: &str, rows: &[Vec<String>]) -> usize {
    let cells = rows.iter().map(|row| row[column].as_str()).chain([heading]);
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(print: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn a_line_break_in_a_name_does_not_split_its_row() {
        let table = printed(|out| print(&["run", "n"], &[row(&["a\nb\u{1b}[31m", "1"])], out));
        assert_eq!(table, "run                 n\na\\u000ab\\u001b[31m  1\n");
    }

    #[test]
    fn columns_are_aligned() {
        let table = printed(|out| print(&["game", "mean"], &[row(&["pong", "-20.7"])], out));
        assert_eq!(table, "game   mean\npong  -20.7\n");
        let table = printed(|out| print(&["run", "n"], &[row(&["läuft", "1"])], out));
        assert_eq!(table, "run    n\nläuft  1\n");
    }

    /// Prints a table whose row is named by `width` letters.
    fn narrow_table(width: usize) -> String {
        let headings = [("game", "game"), ("human-normalised", "normalised"), ("best possible", "best")];
        let row = row(&[&"x".repeat(width), "-0.123", "21.0"]);
        printed(|out| print_narrow(&headings, &[row], out))
    }

    #[test]
    fn headings_are_long_if_the_table_fits_a_terminal_and_never_take_several_lines() {
        // 80 columns: the name, 16 and 13 of the headings, and two gaps.
        assert_eq!(
            narrow_table(47).lines().next().unwrap(),
            format!("game{:43}  human-normalised  best possible", "")
        );
        assert_eq!(narrow_table(48).lines().next().unwrap(), format!("game{:44}  normalised  best", ""));
        for width in [4, 47, 48, 60] {
            let table = narrow_table(width);
            assert_eq!(table.lines().count(), 2);
            assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        }
    }

    #[test]
    fn names_that_do_not_fit_beside_their_values_are_on_lines_of_their_own() {
        let headings = [("game", "game"), ("random player", "random")];
        let long = "space_invaders".repeat(6);
        let rows = [row(&["pong", "-20.3"]), row(&[&long, "148.0"])];
        let table = printed(|out| print_narrow(&headings, &rows, out));
        let gap = " ".repeat(68);
        assert_eq!(table, format!("game{gap}  random\npong{gap}   -20.3\n{long}\n    {gap}   148.0\n"));
    }
}
