use ale::Action;

use super::canvas::{Canvas, Rgb};
use super::session::Session;
use crate::learner::Reading;

/// Columns of the panel beside the picture.
pub(super) const WIDTH: usize = 32;

const PLAIN: Rgb = [200; 3];
const DIM: Rgb = [120; 3];
const BRIGHT: Rgb = [255, 200, 60];
/// Columns of a bar.
const BAR: usize = 12;

/// Who moves the joystick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hand {
    Person,
    Agent,
}

/// What the words say.
pub(super) struct Status {
    pub(super) title: &'static str,
    pub(super) score: f64,
    pub(super) lives: i32,
    pub(super) action: Action,
    pub(super) hand: Hand,
    pub(super) has_agent: bool,
    pub(super) is_paused: bool,
    pub(super) is_over: bool,
    pub(super) reading: Option<(Vec<Action>, Reading)>,
}

impl Status {
    pub(super) fn of(
        session: &Session,
        hand: Hand,
        is_paused: bool,
        reading: Option<(Vec<Action>, Reading)>,
    ) -> Self {
        Self {
            title: session.game().title,
            score: session.score(),
            lives: session.lives(),
            action: session.action(),
            hand,
            has_agent: session.has_agent(),
            is_paused,
            is_over: session.is_over(),
            reading,
        }
    }

    fn what_happens(&self) -> &'static str {
        match (self.is_over, self.is_paused, self.hand) {
            (true, ..) => "the game is over: r",
            (_, true, _) => "paused",
            (_, _, Hand::Person) => "you play",
            (_, _, Hand::Agent) => "the agent plays",
        }
    }

    /// In one line, for terminals without room for more.
    pub(super) fn line(&self) -> String {
        let value = self
            .reading
            .as_ref()
            .map_or_else(String::new, |(_, reading)| format!(" value {}", reading.value_digits()));
        format!(
            "{} {} {}{value} | arrows space p r{} q",
            self.score,
            self.what_happens(),
            self.action.to_string().to_lowercase(),
            if self.has_agent { " tab" } else { "" }
        )
    }

    /// Draws all of it beside the picture.
    pub(super) fn draw(&self, column: usize, canvas: &mut Canvas) {
        for (row, (text, ink)) in self.lines().iter().enumerate() {
            canvas.write(column, row, text, *ink);
        }
    }

    fn lines(&self) -> Vec<(String, Rgb)> {
        let mut lines = vec![
            (self.title.to_owned(), BRIGHT),
            (format!("score   {}", self.score), PLAIN),
            (format!("action  {}", self.action.to_string().to_lowercase()), PLAIN),
            (self.what_happens().to_owned(), BRIGHT),
            (String::new(), PLAIN),
        ];
        if self.lives > 0 {
            lines.insert(2, (format!("lives   {}", self.lives), PLAIN));
        }
        let keys = [
            ("arrows, wasd", "joystick"),
            ("space", "fire"),
            ("p", "pause"),
            ("r", "begin anew"),
            ("tab", "hand over"),
            ("q, esc", "quit"),
        ];
        let keys = keys.iter().filter(|(key, _)| self.has_agent || *key != "tab");
        lines.extend(keys.map(|(key, meaning)| (format!("{key:13} {meaning}"), DIM)));
        if let Some((actions, reading)) = &self.reading {
            lines.push((String::new(), PLAIN));
            lines.push((format!("the agent's value {}", reading.value_digits()), PLAIN));
            lines.extend(bars(actions, reading, self.action));
        }
        lines
    }
}

/// A bar for each action: its probability, or where its value lies between the lowest and the highest.
fn bars(actions: &[Action], reading: &Reading, taken: Action) -> Vec<(String, Rgb)> {
    let (numbers, low, high) = match reading {
        Reading::Policy { probabilities, .. } => (probabilities, 0.0, 1.0),
        Reading::Values(values) => {
            let end = |pick: fn(f32, f32) -> f32| values.iter().copied().reduce(pick).unwrap_or(0.0);
            (values, end(f32::min), end(f32::max))
        }
    };
    let line = |(action, &number): (&Action, &f32)| {
        let share = if high > low { (number - low) / (high - low) } else { 0.0 };
        let number = match reading {
            Reading::Policy { .. } => format!("{:4.0} %", 100.0 * number),
            Reading::Values(_) => format!("{number:6.2}"),
        };
        let name = action.to_string().to_lowercase();
        let ink = if *action == taken { BRIGHT } else { PLAIN };
        (format!("{name:13.13}{}{number}", bar(share)), ink)
    };
    actions.iter().zip(numbers).map(line).collect()
}

/// A share in eighths of a column.
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
            hand: Hand::Agent,
            has_agent: reading.is_some(),
            is_paused: false,
            is_over: false,
            reading,
        }
    }

    fn drawn(status: &Status) -> Vec<String> {
        let mut canvas = Canvas::new(WIDTH, 16);
        status.draw(0, &mut canvas);
        (0..16).map(|row| canvas.row(row).trim_end().to_owned()).collect()
    }

    #[test]
    fn the_panel_shows_score_keys_and_what_the_agent_thinks() {
        let actions = vec![Action::NOOP, Action::FIRE];
        let reading = Reading::Policy { probabilities: vec![0.25, 0.75], value: 1.5 };
        let rows = drawn(&status(Some((actions.clone(), reading))));
        assert_eq!(rows[..4], ["Harvest", "score   12", "action  fire", "the agent plays"]);
        assert!(rows.contains(&"tab           hand over".to_owned()), "{rows:?}");
        assert!(rows.contains(&"the agent's value 1.50".to_owned()), "{rows:?}");
        assert!(rows.contains(&"noop         ███           25 %".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         █████████     75 %".to_owned()), "{rows:?}");

        let rows = drawn(&status(Some((actions, Reading::Values(vec![-1.0, 3.0])))));
        assert!(rows.contains(&"the agent's value 3.00".to_owned()), "{rows:?}");
        assert!(rows.contains(&"noop                      -1.00".to_owned()), "{rows:?}");
        assert!(rows.contains(&"fire         ████████████  3.00".to_owned()), "{rows:?}");
    }

    #[test]
    fn without_an_agent_there_is_nobody_to_hand_over_to() {
        let mut alone = status(None);
        alone.hand = Hand::Person;
        assert!(!drawn(&alone).iter().any(|row| row.contains("hand over") || row.contains("agent")));
        assert_eq!(alone.line(), "12 you play fire | arrows space p r q");
        alone.is_paused = true;
        assert!(alone.line().contains("paused"));
        alone.is_over = true;
        assert!(alone.line().contains("the game is over"));
    }

    #[test]
    fn bars_have_eighths() {
        assert_eq!(bar(0.0).trim(), "");
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(1.0 / 24.0).trim(), "▌");
    }
}
