//! Plain-text tables.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use crate::output::one_line;

/// The width of a terminal that a table should fit.
const WIDTH: usize = 80;
/// The spaces between two columns, in a table that fits and in a wider one.
const GAPS: [usize; 2] = [2, 1];

/// Prints a table. The first column is left-aligned, the others are right-aligned. Headings take several lines if the table
/// would be wider than 80 columns. A row takes one line, whatever its cells contain.
pub(crate) fn print(headings: &[&str], rows: &[Vec<String>], out: &mut impl Write) -> Result<()> {
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let whole: Vec<Vec<&str>> = headings.iter().map(|&heading| vec![heading]).collect();
    let (headings, gap) = if total(&widths(&whole, &rows), GAPS[0]) <= WIDTH {
        (whole, GAPS[0])
    } else {
        let words: Vec<Vec<&str>> = headings.iter().map(|heading| words(heading)).collect();
        // A narrower gap is used only if it helps.
        let gap = GAPS.into_iter().find(|&gap| total(&widths(&words, &rows), gap) <= WIDTH);
        (words, gap.unwrap_or(GAPS[0]))
    };
    let widths = widths(&headings, &rows);
    let height = headings.iter().map(Vec::len).max().unwrap_or(0);
    // Short headings are on the last line.
    let line = |index: usize| -> Vec<&str> {
        let skipped = headings.iter().map(|heading| height - heading.len());
        let words = headings.iter().zip(skipped);
        words.map(|(words, skipped)| if index < skipped { "" } else { words[index - skipped] }).collect()
    };
    let rows = rows.iter().map(|row| row.iter().map(AsRef::as_ref).collect());
    for row in (0..height).map(line).chain(rows) {
        write!(out, "{:width$}", row[0], width = widths[0])?;
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(out, "{:gap$}{cell:>width$}", "")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the words of a heading, also split after hyphens.
fn words(heading: &str) -> Vec<&str> {
    heading.split(' ').flat_map(|word| word.split_inclusive('-')).collect()
}

/// Returns the width of each column.
fn widths(headings: &[Vec<&str>], rows: &[Vec<Cow<'_, str>>]) -> Vec<usize> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].as_ref()).chain(headings[column].iter().copied());
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..headings.len()).map(width).collect()
}

fn total(widths: &[usize], gap: usize) -> usize {
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
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

    #[test]
    fn a_line_break_in_a_name_does_not_split_its_row() {
        let mut out = Vec::new();
        print(&["run", "n"], &[vec!["a\nb\u{1b}[31m".into(), "1".into()]], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "run                 n\na\\u000ab\\u001b[31m  1\n");
    }

    #[test]
    fn headings_wrap_if_the_table_is_wider_than_a_terminal() {
        let headings = [
            "game",
            "episodes",
            "mean",
            "median",
            "std error",
            "human-normalised",
            "random player",
            "best possible",
        ];
        let row = |game: &str| -> Vec<String> {
            [game, "10", "19444.0", "19444.0", "1234.5", "-0.123", "12850.0", "-"].map(str::to_owned).to_vec()
        };
        let shown = |game: &str| {
            let mut out = Vec::new();
            print(&headings, &[row(game)], &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let expected = "                                     std      human-   random      best\n\
                        game  episodes     mean   median   error  normalised   player  possible\n\
                        pong        10  19444.0  19444.0  1234.5      -0.123  12850.0         -\n";
        assert_eq!(shown("pong"), expected);
        assert!(
            shown("montezuma_revenge").lines().all(|line| line.len() <= 80),
            "{}",
            shown("montezuma_revenge")
        );
    }
}
