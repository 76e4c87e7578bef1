use ale::Action;

use super::grid::{Grid, Rgb};
use super::session::{Controller, Session};
use crate::learner::Reading;

/// Columns of the panel beside the frame.
pub(super) const WIDTH: usize = 32;

const PLAIN: Rgb = [200; 3];
const DIM: Rgb = [120; 3];
const BRIGHT: Rgb = [255, 200, 60];
/// Columns of a bar.
const BAR: usize = 12;

/// The contents of the panel.
pub(super) struct Status {
    pub(super) title: &'static str,
    pub(super) score: f64,
    pub(super) lives: i32,
    pub(super) action: Action,
    pub(super) controller: Controller,
    pub(super) has_agent: bool,
    pub(super) is_paused: bool,
    pub(super) is_over: bool,
    /// The agent's actions and its reading of the current observation.
    pub(super) reading: Option<(Vec<Action>, Reading)>,
}

impl Status {
    pub(super) fn new(
        session: &Session,
        controller: Controller,
        is_paused: bool,
        reading: Option<(Vec<Action>, Reading)>,
    ) -> Self {
        Self {
            title: session.game().title,
            score: session.score(),
            lives: session.lives(),
            action: session.action(),
            controller,
            has_agent: session.has_agent(),
            is_paused,
            is_over: session.is_over(),
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
            .map_or_else(String::new, |(_, reading)| format!(" value {}", reading.value_digits()));
        format!(
            "{} {} {}{value} | arrows space p r{} q",
            self.score,
            self.state(),
            self.action.to_string().to_lowercase(),
            if self.has_agent { " tab" } else { "" }
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
            (format!("score   {}", self.score), PLAIN),
            (format!("action  {}", self.action.to_string().to_lowercase()), PLAIN),
            (self.state().to_owned(), BRIGHT),
            (String::new(), PLAIN),
        ];
        if self.lives > 0 {
            lines.insert(2, (format!("lives   {}", self.lives), PLAIN));
        }
        let keys = [
            ("arrows, wasd", "joystick"),
            ("space", "fire"),
            ("p", "pause"),
            ("r", "restart"),
            ("tab", "switch player"),
            ("q, esc", "quit"),
        ];
        let keys = keys.iter().filter(|(key, _)| self.has_agent || *key != "tab");
        lines.extend(keys.map(|(key, meaning)| (format!("{key:13} {meaning}"), DIM)));
        if let Some((actions, reading)) = &self.reading {
            lines.push((String::new(), PLAIN));
            lines.push((format!("agent's value {}", reading.value_digits()), PLAIN));
            lines.extend(bars(actions, reading, self.action));
        }
        lines
    }
}

/// Returns a bar for each action: its probability, or its value relative to the lowest and the highest.
fn bars(actions: &[Action], reading: &Reading, taken: Action) -> Vec<(String, Rgb)> {
    let (values, low, high) = match reading {
        Reading::Policy { probabilities, .. } => (probabilities, 0.0, 1.0),
        Reading::Values(values) => {
            let extreme = |pick: fn(f32, f32) -> f32| values.iter().copied().reduce(pick).unwrap_or(0.0);
            (values, extreme(f32::min), extreme(f32::max))
        }
    };
    let mut lines = Vec::new();
    for (action, &value) in actions.iter().zip(values) {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        let text = match reading {
            Reading::Policy { .. } => format!("{:4.0} %", 100.0 * value),
            Reading::Values(_) => format!("{value:6.2}"),
        };
        let name = action.to_string().to_lowercase();
        let colour = if *action == taken { BRIGHT } else { PLAIN };
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

    fn status(reading: Option<(Vec<Action>, Reading)>) -> Status {
        Status {
            title: "Harvest",
            score: 12.0,
            lives: 0,
            action: Action::FIRE,
            controller: Controller::Agent,
            has_agent: reading.is_some(),
            is_paused: false,
            is_over: false,
            reading,
        }
    }

    fn drawn(status: &Status) -> Vec<String> {
        let mut grid = Grid::new(WIDTH, 16);
        status.draw(0, &mut grid);
        (0..16).map(|row| grid.row(row).trim_end().to_owned()).collect()
    }

    #[test]
    fn shows_the_score_the_keys_and_the_reading_of_the_agent() {
        let actions = vec![Action::NOOP, Action::FIRE];
        let reading = Reading::Policy { probabilities: vec![0.25, 0.75], value: 1.5 };
        let rows = drawn(&status(Some((actions.clone(), reading))));
        assert_eq!(rows[..4], ["Harvest", "score   12", "action  fire", "the agent plays"]);
        assert!(rows.contains(&"tab           switch player".to_owned()), "{rows:?}");
        assert!(rows.contains(&"agent's value 1.50".to_owned()), "{rows:?}");
        assert!(rows.contains(&"noop         ███           25 %".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         █████████     75 %".to_owned()), "{rows:?}");

        let rows = drawn(&status(Some((actions, Reading::Values(vec![-1.0, 3.0])))));
        assert!(rows.contains(&"agent's value 3.00".to_owned()), "{rows:?}");
        assert!(rows.contains(&"noop                      -1.00".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         ████████████  3.00".to_owned()), "{rows:?}");
    }

    #[test]
    fn hides_the_agent_panel_without_an_agent() {
        let mut alone = status(None);
        alone.controller = Controller::Human;
        assert!(!drawn(&alone).iter().any(|row| row.contains("switch") || row.contains("agent")));
        assert_eq!(alone.line(), "12 you play fire | arrows space p r q");
        alone.is_paused = true;
        assert!(alone.line().contains("paused"));
        alone.is_over = true;
        assert!(alone.line().contains("game over"));
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!(bar(0.0).trim(), "");
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(1.0 / 24.0).trim(), "▌");
    }
}
