//! A line of the plan of a run.

/// The width of labels with their indentation. Texts begin after it.
pub(super) const LABEL_WIDTH: usize = 16;

/// Returns a line with a label and a text. A line that continues the one before has an empty label.
pub(super) fn plan_line(label: &str, text: &str) -> String {
    format!("{:LABEL_WIDTH$}{text}", format!("  {label}"))
}
