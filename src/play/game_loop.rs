use std::time::{Duration, Instant};

use ale::RgbImage;
use anyhow::Result;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::widgets::Paragraph;

use super::command::Command;
use super::joystick::{Controller, HeldButtons};
use super::panel::{self, Status};
use super::speaker::Speaker;
use crate::interrupt::Interrupt;
use crate::show::Session;
use crate::terminal::{Terminal, picture};

/// The minimum time between two drawn frames, for the sake of slow connections.
const DRAW_INTERVAL: Duration = Duration::from_millis(30);
/// The time for which an episode that the agent finished stays on the screen.
const GAME_OVER: Duration = Duration::from_secs(2);

/// Reads keys, steps the game at a fixed rate and draws it.
pub(super) struct GameLoop {
    session: Session,
    buttons: HeldButtons,
    controller: Controller,
    is_paused: bool,
    speaker: Option<Speaker>,
}

impl GameLoop {
    /// Creates a loop in which `controller` has the joystick first.
    pub(super) fn new(
        session: Session,
        controller: Controller,
        reports_releases: bool,
        speaker: Option<Speaker>,
    ) -> Self {
        let buttons = HeldButtons::new(reports_releases);
        Self { session, buttons, controller, is_paused: false, speaker }
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Plays, one step per `period`, until the player quits or a signal arrives. Returns the best score of a complete
    /// episode, if there is one.
    pub(super) fn run(
        &mut self,
        mut terminal: Terminal,
        period: Duration,
        interrupt: &Interrupt,
    ) -> Result<Option<f64>> {
        let mut best: Option<f64> = None;
        let (mut next, mut drawn) = (Instant::now() + period, None);
        let mut over_since: Option<Instant> = None;
        while !interrupt.is_requested() {
            if !self.handle_events(&terminal, next)? {
                break;
            }
            self.step(Instant::now())?;
            if self.session.is_over() {
                best = Some(best.map_or(self.session.score(), |best| best.max(self.session.score())));
            }
            let now = Instant::now();
            over_since = self.session.is_over().then(|| over_since.unwrap_or(now));
            if self.controller == Controller::Agent
                && over_since.is_some_and(|since| now - since >= GAME_OVER)
            {
                self.session.restart()?;
            }
            if drawn.is_none_or(|drawn| now - drawn >= DRAW_INTERVAL) {
                drawn = Some(now);
                let (screen, status) = (self.session.screen()?, self.status()?);
                terminal.draw(|frame| self.draw(frame, &screen, &status))?;
            }
            next += period;
            // The game does not catch up after the machine was suspended.
            if next + GAME_OVER < now {
                next = now;
            }
        }
        Ok(best)
    }

    /// Executes commands until `deadline`. Returns false if the player quits.
    fn handle_events(&mut self, terminal: &Terminal, deadline: Instant) -> Result<bool> {
        loop {
            let event = terminal.event(deadline.saturating_duration_since(Instant::now()))?;
            let command = event.as_ref().and_then(Command::from_event);
            if let Some(command) = command
                && !self.execute(command, Instant::now())?
            {
                return Ok(false);
            }
            if Instant::now() >= deadline {
                return Ok(true);
            }
        }
    }

    /// Executes a command. Returns false if it quits the game.
    fn execute(&mut self, command: Command, now: Instant) -> Result<bool> {
        match command {
            Command::Press(button) => self.buttons.press(button, now),
            Command::Release(button) => self.buttons.release(button),
            Command::ReleaseAll => self.buttons.release_all(),
            Command::Pause => self.is_paused = !self.is_paused,
            Command::Restart => self.session.restart()?,
            Command::SwitchController if self.session.is_shared() => {
                self.controller = match self.controller {
                    Controller::Human => Controller::Agent,
                    Controller::Agent => Controller::Human,
                };
            }
            Command::SwitchController => {}
            Command::Quit => return Ok(false),
        }
        Ok(true)
    }

    /// Takes a step, unless the game is paused or over.
    fn step(&mut self, now: Instant) -> Result<()> {
        if self.is_paused || self.session.is_over() {
            return Ok(());
        }
        match self.controller {
            Controller::Human => self.session.press(self.buttons.action(now))?,
            Controller::Agent => self.session.act()?,
        }
        if let Some(speaker) = &self.speaker {
            speaker.play(self.session.sound());
        }
        Ok(())
    }

    fn status(&self) -> Result<Status<'_>> {
        Ok(Status::new(&self.session, self.controller, self.is_paused, self.session.reading()?))
    }

    /// Draws the screen, with the panel beside it or, in a narrow terminal, a line below it.
    fn draw(&self, frame: &mut Frame<'_>, screen: &RgbImage, status: &Status<'_>) {
        let ratio = self.session.description().aspect_ratio.unwrap_or([screen.width, screen.height]);
        let area = frame.area();
        let is_wide = area.width >= 2 * panel::WIDTH;
        let room = if is_wide {
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(panel::WIDTH + 1)])
        } else {
            Layout::vertical([Constraint::Fill(1), Constraint::Length(1)])
        };
        let [room, below] = room.areas(area);
        let shown = picture::fit(screen, ratio, room);
        picture::draw(screen, shown, frame.buffer_mut());
        if is_wide {
            let [_, panel] =
                Layout::horizontal([Constraint::Length(shown.width + 1), Constraint::Fill(1)]).areas(area);
            frame.render_widget(Paragraph::new(status.lines()), panel);
        } else {
            frame.render_widget(status.line(), below);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ale::{AtariEnv, AtariOptions, PoweredGame};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Cell;

    use super::super::joystick::Button;
    use super::*;
    use crate::show;

    fn harvest() -> GameLoop {
        let rom = ale::roms::RomStore::locate(None).unwrap().read("harvest").unwrap();
        let options =
            AtariOptions { frameskip: 1, noop_max: 0, full_action_space: true, ..AtariOptions::default() };
        let powered = PoweredGame::new(ale::game("harvest").unwrap(), Arc::clone(&rom)).unwrap();
        let env = AtariEnv::new(&powered, options, 0).unwrap();
        GameLoop::new(show::session_without_agent(env, 0).unwrap(), Controller::Human, true, None)
    }

    #[test]
    fn commands_move_pause_restart_and_quit() {
        let mut game = harvest();
        let now = Instant::now();
        let before = game.session.screen().unwrap();
        assert!(game.execute(Command::Press(Button::Right), now).unwrap());
        for _ in 0..30 {
            game.step(now).unwrap();
        }
        let moved = game.session.screen().unwrap();
        assert_eq!(game.session.action(), "right");
        assert_ne!(moved, before);

        assert!(game.execute(Command::Pause, now).unwrap());
        game.step(now).unwrap();
        assert_eq!(game.session.screen().unwrap(), moved, "a paused game stands still");
        assert!(game.execute(Command::SwitchController, now).unwrap());
        assert_eq!(game.controller, Controller::Human, "there is no agent");
        for command in [Command::Restart, Command::ReleaseAll] {
            assert!(game.execute(command, now).unwrap());
        }
        assert_eq!((game.session.score(), game.buttons.action(now).to_string()), (0.0, "NOOP".to_owned()));
        assert!(!game.execute(Command::Quit, now).unwrap());
    }

    /// Returns the rows of a terminal of this size.
    fn drawn(game: &GameLoop, columns: u16, rows: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let (screen, status) = (game.session.screen().unwrap(), game.status().unwrap());
        let frame = terminal.draw(|frame| game.draw(frame, &screen, &status)).unwrap();
        let cells: Vec<&str> = frame.buffer.content.iter().map(Cell::symbol).collect();
        cells.chunks(usize::from(columns).max(1)).map(<[&str]>::concat).collect()
    }

    #[test]
    fn the_drawing_fits_terminals_of_any_size() {
        let game = harvest();
        assert!(drawn(&game, 100, 30).iter().any(|row| row.contains("joystick")));
        let narrow = drawn(&game, 60, 20);
        assert!(narrow[19].starts_with("0 you play") && narrow[0].contains('▄'), "{narrow:?}");
        for (columns, rows) in [(1, 1), (3, 2), (64, 1), (400, 120)] {
            drawn(&game, columns, rows);
        }
    }
}
