//! Bars of an agent's options in a terminal.

use ratatui::text::Line;

use crate::learner::Reading;
use crate::terminal::{BRIGHT, PLAIN};

/// Columns of a bar.
const BAR: usize = 12;
/// Columns of a bar with the name of the option and its number.
pub(crate) const WIDTH: u16 = 32;

/// Returns a bar for each option of the agent: its probability, or its value relative to the lowest and the highest.
/// Those that the last action consists of are bright.
pub(crate) fn bars(options: &[String], reading: &Reading, chosen: &[usize]) -> Vec<Line<'static>> {
    let (values, low, high) = match reading {
        Reading::Policy { probabilities, .. } => (probabilities, 0.0, 1.0),
        Reading::Values(values) => {
            let extreme = |pick: fn(f32, f32) -> f32| values.iter().copied().reduce(pick).unwrap_or(0.0);
            (values, extreme(f32::min), extreme(f32::max))
        }
    };
    let mut lines = Vec::new();
    for (index, (name, &value)) in options.iter().zip(values).enumerate() {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        let text = match reading {
            Reading::Policy { .. } => format!("{:4.0} %", 100.0 * value),
            Reading::Values(_) => format!("{value:6.2}"),
        };
        let colour = if chosen.contains(&index) { BRIGHT } else { PLAIN };
        lines.push(Line::styled(format!("{name:13.13}{}{text}", bar(share)), colour));
    }
    lines
}

/// Returns a bar of `share` of [`BAR`] columns, in eighths of a column.
fn bar(share: f32) -> String {
    const PARTS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR) as f32).round() as usize;
    (0..BAR).map(|column| PARTS[eighths.saturating_sub(8 * column).min(8)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(reading: &Reading) -> Vec<String> {
        let options = ["noop", "fire"].map(str::to_owned);
        bars(&options, reading, &[1]).iter().map(Line::to_string).collect()
    }

    #[test]
    fn bars_show_probabilities_or_values_between_the_lowest_and_the_highest() {
        let policy = Reading::Policy { probabilities: vec![0.25, 0.75], value: 1.5 };
        assert_eq!(texts(&policy), ["noop         ███           25 %", "fire         █████████     75 %"]);
        let values = Reading::Values(vec![-1.0, 3.0]);
        assert_eq!(texts(&values), ["noop                      -1.00", "fire         ████████████  3.00"]);
        assert!(texts(&values).iter().all(|text| text.chars().count() <= WIDTH.into()));
        let options = ["0", "1"].map(str::to_owned);
        let colours = bars(&options, &policy, &[1]).into_iter().map(|line| line.style.fg);
        assert_eq!(colours.collect::<Vec<_>>(), [Some(PLAIN), Some(BRIGHT)]);
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!(bar(0.0).trim(), "");
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(1.0 / 24.0).trim(), "▌");
    }
}
