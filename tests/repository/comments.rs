//! The width of comments, which neither `rustfmt` nor the formatter of Python limits.

use std::fs;
use std::path::Path;

use crate::contents::{ROOT, tracked_files};

/// The largest number of columns of a line that is a comment.
const COLUMNS: usize = 120;

#[test]
fn comments_fit_into_120_columns() {
    let mut wide = Vec::new();
    for path in tracked_files() {
        let Some(marker) = comment_marker(&path) else { continue };
        // A deleted file is listed until the deletion is committed.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let name = path.strip_prefix(ROOT).expect("a file of the repository").display().to_string();
        wide.extend(wide_comments(&text, marker).into_iter().map(|line| format!("{name}:{line}")));
    }
    assert!(wide.is_empty(), "wrap these comments at {COLUMNS} columns:\n{}", wide.join("\n"));
}

/// Returns what comments of a file begin with, if it is a program.
fn comment_marker(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "rs" => Some("//"),
        "py" => Some("#"),
        _ => None,
    }
}

/// Returns the numbers of the lines with too wide a comment, from 1.
fn wide_comments(text: &str, marker: &str) -> Vec<usize> {
    let lines = (1..).zip(text.lines());
    let wide =
        lines.filter(|(_, line)| line.trim_start().starts_with(marker) && line.chars().count() > COLUMNS);
    wide.map(|(number, _)| number).collect()
}

#[test]
fn only_wide_comments_are_found() {
    let [fitting, wide, code] = ["/".repeat(COLUMNS), "/".repeat(COLUMNS + 1), "x".repeat(COLUMNS + 1)];
    assert_eq!(wide_comments(&format!("{fitting}\n{code}\n    {wide}\n{wide}"), "//"), [3, 4]);
}
