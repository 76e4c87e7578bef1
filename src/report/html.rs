//! Elements of the page, and its number and time formats.

use super::group::Group;

/// A table whose cells are HTML.
#[derive(Default)]
pub(super) struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The number of columns, from the first one, that are aligned left.
    left: usize,
}

impl Table {
    /// Creates a table with `left` left-aligned columns.
    pub(super) fn new<T: Into<String>>(headings: impl IntoIterator<Item = T>, left: usize) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), rows: Vec::new(), left }
    }

    pub(super) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table in an element that scrolls if the window is narrower.
    pub(super) fn html(&self) -> String {
        let rows: String = self.rows.iter().map(|row| self.row("td", row)).collect();
        format!(
            "<div class=\"wide\"><table>\n<thead>{}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
            self.row("th", &self.headings).trim_end()
        )
    }

    /// Returns a row of cells in elements with the given tag.
    fn row(&self, tag: &str, cells: &[String]) -> String {
        let cells = cells.iter().enumerate().map(|(column, text)| {
            let class = if column < self.left { " class=\"left\"" } else { "" };
            format!("<{tag}{class}>{text}</{tag}>")
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    }
}

/// Returns the colour and label of a group.
pub(super) fn name(index: usize, group: &Group) -> String {
    format!("<span class=\"name\">{}{}</span>", key(index), escaped(&group.label))
}

/// Returns a box in the colour of a group.
fn key(index: usize) -> String {
    format!("<span class=\"key\" style=\"background: var(--curve-{index})\"></span>")
}

/// Returns text that is not broken into lines.
pub(super) fn unbroken(text: &str) -> String {
    format!("<span class=\"unbroken\">{text}</span>")
}

/// Formats a score or a count: one decimal below a hundred, none and thousands separators above, a dash for `None`.
pub(super) fn format_number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    if value.abs() < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if value < 0.0 { format!("-{grouped}") } else { grouped }
}

/// Formats a duration by its two largest units: `1 h 16 min`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Formats seconds since 1970 as a date and time in UTC.
pub(super) fn date(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // The years of a file may be billions.
    let (mut year, mut days) = (1970 + 400 * (days / DAYS_OF_400_YEARS), days % DAYS_OF_400_YEARS);
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let mut month = 1;
    for length in [31, days_of(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02}", days + 1, time / 3600, time / 60 % 60)
}

/// The period of the calendar.
const DAYS_OF_400_YEARS: u64 = 146_097;

fn days_of(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    365 + u64::from(is_leap)
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_decimals_only_below_a_hundred() {
        let shown = [0.04, -18.26, 99.94, 100.4, -999.6, 12_345.6, 3_778_458.33]
            .map(|value| format_number(Some(value)));
        assert_eq!(shown, ["0.0", "-18.3", "99.9", "100", "-1,000", "12,346", "3,778,458"]);
        assert_eq!(format_number(None), "-");
    }

    #[test]
    fn durations_have_two_units() {
        let shown = [8.4, 277.0, 4_585.9, 180_000.0].map(duration);
        assert_eq!(shown, ["8 s", "4 min 37 s", "1 h 16 min", "2 d 2 h"]);
    }

    #[test]
    fn dates_are_those_of_the_gregorian_calendar() {
        let shown =
            [0, 951_782_399, 951_868_800, 1_767_225_600, 1_795_334_033, 253_402_300_800, u64::MAX].map(date);
        let expected = [
            "1970-01-01 00:00",
            "2000-02-28 23:59",
            "2000-03-01 00:00",
            "2026-01-01 00:00",
            "2026-11-22 07:53",
            "10000-01-01 00:00",
            "584554051223-11-09 07:00",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn names_cannot_contain_elements() {
        assert_eq!(escaped("<b title=\"x\">&"), "&lt;b title=&quot;x&quot;&gt;&amp;");
    }
}
