use ratatui::text::Line;

use super::joystick::Controller;
use crate::learner::Reading;
use crate::show::{Session, bars, score_digits};
use crate::terminal::{BRIGHT, DIM, PLAIN};

/// Columns of the panel beside the screen.
pub(super) const WIDTH: u16 = bars::WIDTH;

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

    /// Returns the lines of the panel.
    pub(super) fn lines(&self) -> Vec<Line<'_>> {
        let mut lines = vec![
            Line::styled(self.title, BRIGHT),
            Line::styled(format!("score   {}", score_digits(self.score)), PLAIN),
            Line::styled(format!("action  {}", self.action), PLAIN),
            Line::styled(self.state(), BRIGHT),
            Line::default(),
        ];
        if self.lives > 0 {
            lines.insert(2, Line::styled(format!("lives   {}", self.lives), PLAIN));
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
        lines.extend(keys.map(|(key, meaning, _)| Line::styled(format!("{key:13} {meaning}"), DIM)));
        if let Some(reading) = &self.reading {
            lines.push(Line::default());
            lines.push(Line::styled(format!("agent's value {}", reading.value_digits()), PLAIN));
            lines.extend(bars::bars(self.options, reading, self.chosen));
        }
        lines
    }
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
        status.lines().iter().map(Line::to_string).collect()
    }

    #[test]
    fn shows_the_score_the_keys_and_the_reading_of_the_agent() {
        let options = ["noop", "fire"].map(str::to_owned);
        let reading = Reading::Policy { probabilities: vec![0.25, 0.75], value: 1.5 };
        let rows = drawn(&status(&options, Some(reading)));
        assert_eq!(rows[..4], ["Harvest", "score   12", "action  fire", "the agent plays"]);
        assert!(rows.contains(&"tab           switch player".to_owned()), "{rows:?}");
        assert!(rows.contains(&"agent's value 1.50".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         █████████     75 %".to_owned()), "{rows:?}");

        let rows = drawn(&status(&options, Some(Reading::Values(vec![-1.0, 3.0]))));
        assert!(rows.contains(&"agent's value 3.00".to_owned()), "{rows:?}");
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
    }
}
