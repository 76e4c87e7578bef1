use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::joystick::Button;

/// A request of the player, made with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Press(Button),
    Release(Button),
    /// Releases all buttons: another window has the keyboard, and key releases go there.
    ReleaseAll,
    Pause,
    Restart,
    /// Passes the joystick from the human to the agent, or back.
    SwitchController,
    Quit,
}

impl Command {
    /// Returns the command for an event of the terminal, if it has one.
    pub(super) fn from_event(event: &Event) -> Option<Self> {
        match event {
            Event::Key(key) => Self::from_key(key),
            Event::FocusLost => Some(Self::ReleaseAll),
            _ => None,
        }
    }

    fn from_key(key: &KeyEvent) -> Option<Self> {
        match (button(key.code), key.kind) {
            (Some(button), KeyEventKind::Release) => Some(Self::Release(button)),
            (Some(button), KeyEventKind::Press | KeyEventKind::Repeat) => Some(Self::Press(button)),
            // Repeats of a held key would toggle the pause.
            (None, KeyEventKind::Press) => match key.code {
                KeyCode::Esc => Some(Self::Quit),
                KeyCode::Tab => Some(Self::SwitchController),
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Self::Quit),
                KeyCode::Char(letter) => match letter.to_ascii_lowercase() {
                    'q' => Some(Self::Quit),
                    'p' => Some(Self::Pause),
                    'r' => Some(Self::Restart),
                    _ => None,
                },
                _ => None,
            },
            (None, _) => None,
        }
    }
}

/// Returns the part of the joystick that a key moves.
fn button(key: KeyCode) -> Option<Button> {
    match key {
        KeyCode::Up => Some(Button::Up),
        KeyCode::Down => Some(Button::Down),
        KeyCode::Left => Some(Button::Left),
        KeyCode::Right => Some(Button::Right),
        KeyCode::Char(letter) => match letter.to_ascii_lowercase() {
            'w' => Some(Button::Up),
            's' => Some(Button::Down),
            'a' => Some(Button::Left),
            'd' => Some(Button::Right),
            ' ' => Some(Button::Fire),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(code: KeyCode, modifiers: KeyModifiers, kind: KeyEventKind) -> Option<Command> {
        Command::from_event(&Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)))
    }

    #[test]
    fn keys_do_what_the_panel_says() {
        for (key, expected) in [
            (KeyCode::Up, Command::Press(Button::Up)),
            (KeyCode::Char('d'), Command::Press(Button::Right)),
            (KeyCode::Char('A'), Command::Press(Button::Left)),
            (KeyCode::Char(' '), Command::Press(Button::Fire)),
            (KeyCode::Char('p'), Command::Pause),
            (KeyCode::Char('r'), Command::Restart),
            (KeyCode::Tab, Command::SwitchController),
            (KeyCode::Esc, Command::Quit),
            (KeyCode::Char('q'), Command::Quit),
        ] {
            assert_eq!(command(key, KeyModifiers::NONE, KeyEventKind::Press), Some(expected));
        }
        let control = |letter| command(KeyCode::Char(letter), KeyModifiers::CONTROL, KeyEventKind::Press);
        assert_eq!((control('c'), control('z')), (Some(Command::Quit), None));
        assert_eq!(Command::from_event(&Event::FocusLost), Some(Command::ReleaseAll));
    }

    #[test]
    fn only_the_joystick_repeats_and_is_released() {
        let none = KeyModifiers::NONE;
        let up = Button::Up;
        assert_eq!(command(KeyCode::Up, none, KeyEventKind::Repeat), Some(Command::Press(up)));
        assert_eq!(command(KeyCode::Up, none, KeyEventKind::Release), Some(Command::Release(up)));
        assert_eq!(command(KeyCode::Char('p'), none, KeyEventKind::Repeat), None);
        assert_eq!(command(KeyCode::Char('q'), none, KeyEventKind::Release), None);
    }
}
