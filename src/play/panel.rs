use super::grid::{Grid, Rgb};
use super::joystick::Controller;
use crate::learner::Reading;
use crate::show::{Session, score_digits};

/// Columns of the panel beside the frame.
pub(super) const WIDTH: usize = 32;

const PLAIN: Rgb = [200; 3];
const DIM: Rgb = [120; 3];
const BRIGHT: Rgb = [255, 200, 60];
/// Columns of a bar.
const BAR: usize = 12;

/// The contents of the panel.
pub(super) struct Status<'a> {
    title: &'a str,
    score: f64,
    lives: i32,
    action: &'a str,
    controller: Controller,
    /// True if there is a joystick.
    has_joystick: bool,
    /// True if a person and an agent can take turns.
    is_shared: bool,
    is_paused: bool,
    is_over: bool,
    /// The names of the agent's options.
    options: &'a [String],
    /// The indices of the options that the last action consists of.
    chosen: &'a [usize],
    /// The agent's reading of the current observation.
    reading: Option<Reading>,
}

impl<'a> Status<'a> {
    pub(super) fn new(
        session: &'a Session,
        controller: Controller,
        is_paused: bool,
        reading: Option<Reading>,
    ) -> Self {
        let description = session.description();
        Self {
            title: &description.title,
            score: session.score(),
            lives: session.lives(),
            action: session.action(),
            controller,
            has_joystick: description.has_joystick,
            is_shared: session.is_shared(),
            is_paused,
            is_over: session.is_over(),
            options: &description.options,
            chosen: session.chosen(),
            reading,
        }
    }

    fn state(&self) -> &'static str {
        match (self.is_over, self.is_paused, self.controller) {
            (true, ..) => "game over, r to restart",
            (_, true, _) => "paused",
            (_, _, Controller::Human) => "you play",
            (_, _, Controller::Agent) => "the agent plays",
        }
    }

    /// Returns the status as one line, for terminals without room for the panel.
    pub(super) fn line(&self) -> String {
        let value = self
            .reading
            .as_ref()
            .map_or_else(String::new, |reading| format!(" value {}", reading.value_digits()));
        format!(
            "{} {} {}{value} | {}p r{} q",
            score_digits(self.score),
            self.state(),
            self.action,
            if self.has_joystick { "arrows space " } else { "" },
            if self.is_shared { " tab" } else { "" }
        )
    }

    /// Draws the panel, starting at this column.
    pub(super) fn draw(&self, column: usize, grid: &mut Grid) {
        for (row, (text, colour)) in self.lines().iter().enumerate() {
            grid.write(column, row, text, *colour);
        }
    }

    fn lines(&self) -> Vec<(String, Rgb)> {
        let mut lines = vec![
            (self.title.to_owned(), BRIGHT),
            (format!("score   {}", score_digits(self.score)), PLAIN),
            (format!("action  {}", self.action), PLAIN),
            (self.state().to_owned(), BRIGHT),
            (String::new(), PLAIN),
        ];
        if self.lives > 0 {
            lines.insert(2, (format!("lives   {}", self.lives), PLAIN));
        }
        let keys = [
            ("arrows, wasd", "joystick", self.has_joystick),
            ("space", "fire", self.has_joystick),
            ("p", "pause", true),
            ("r", "restart", true),
            ("tab", "switch player", self.is_shared),
            ("q, esc", "quit", true),
        ];
        let keys = keys.iter().filter(|(.., is_used)| *is_used);
        lines.extend(keys.map(|(key, meaning, _)| (format!("{key:13} {meaning}"), DIM)));
        if let Some(reading) = &self.reading {
            lines.push((String::new(), PLAIN));
            lines.push((format!("agent's value {}", reading.value_digits()), PLAIN));
            lines.extend(bars(self.options, reading, self.chosen));
        }
        lines
    }
}

/// Returns a bar for each option of the agent: its probability, or its value relative to the lowest and the highest.
fn bars(options: &[String], reading: &Reading, chosen: &[usize]) -> Vec<(String, Rgb)> {
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
        lines.push((format!("{name:13.13}{}{text}", bar(share)), colour));
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

    fn status(options: &[String], reading: Option<Reading>) -> Status<'_> {
        Status {
            title: "Harvest",
            score: 12.0,
            lives: 0,
            action: "fire",
            controller: Controller::Agent,
            has_joystick: true,
            is_shared: reading.is_some(),
            is_paused: false,
            is_over: false,
            options,
            chosen: &[1],
            reading,
        }
    }

    fn drawn(status: &Status<'_>) -> Vec<String> {
        let mut grid = Grid::new(WIDTH, 16);
        status.draw(0, &mut grid);
        (0..16).map(|row| grid.row(row).trim_end().to_owned()).collect()
    }

    #[test]
    fn shows_the_score_the_keys_and_the_reading_of_the_agent() {
        let options = ["noop", "fire"].map(str::to_owned);
        let reading = Reading::Policy { probabilities: vec![0.25, 0.75], value: 1.5 };
        let rows = drawn(&status(&options, Some(reading)));
        assert_eq!(rows[..4], ["Harvest", "score   12", "action  fire", "the agent plays"]);
        assert!(rows.contains(&"tab           switch player".to_owned()), "{rows:?}");
        assert!(rows.contains(&"agent's value 1.50".to_owned()), "{rows:?}");
        assert!(rows.contains(&"noop         ███           25 %".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         █████████     75 %".to_owned()), "{rows:?}");

        let rows = drawn(&status(&options, Some(Reading::Values(vec![-1.0, 3.0]))));
        assert!(rows.contains(&"agent's value 3.00".to_owned()), "{rows:?}");
        assert!(rows.contains(&"noop                      -1.00".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         ████████████  3.00".to_owned()), "{rows:?}");
    }

    #[test]
    fn hides_the_agent_panel_without_an_agent() {
        let mut alone = status(&[], None);
        alone.controller = Controller::Human;
        assert!(!drawn(&alone).iter().any(|row| row.contains("switch") || row.contains("agent")));
        assert_eq!(alone.line(), "12 you play fire | arrows space p r q");
        alone.is_paused = true;
        assert!(alone.line().contains("paused"));
        alone.is_over = true;
        assert!(alone.line().contains("game over"));
    }

    #[test]
    fn the_panel_of_a_spectator_has_no_joystick() {
        let options = ["0", "1"].map(str::to_owned);
        let reading = Reading::Policy { probabilities: vec![0.25, 0.75], value: 1.5 };
        let watched = Status {
            has_joystick: false,
            is_shared: false,
            score: -0.125,
            ..status(&options, Some(reading))
        };
        let rows = drawn(&watched);
        assert!(rows.contains(&"score   -0.12".to_owned()), "{rows:?}");
        assert!(rows.contains(&"1            █████████     75 %".to_owned()), "{rows:?}");
        assert!(
            !rows.iter().any(|row| ["joystick", "fire ", "switch"].iter().any(|word| row.contains(word)))
        );
        assert_eq!(watched.line(), "-0.12 the agent plays fire value 1.50 | p r q");
        assert_eq!(bars(&options, &Reading::Values(vec![1.0, 2.0]), &[1])[1].1, BRIGHT);
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!(bar(0.0).trim(), "");
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(1.0 / 24.0).trim(), "▌");
    }
}
