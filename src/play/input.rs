/// Something that a terminal tells about its keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Key(Key, Kind),
    /// Another window has the keyboard now.
    FocusLost,
    /// The terminal tells when a key is let go.
    HasReleases,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    Left,
    Right,
    Tab,
    Escape,
    /// A letter, without regard to shift.
    Letter(char),
    /// The same with the control key.
    Control(char),
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Press,
    Repeat,
    Release,
}

const ESCAPE: u8 = 0x1B;

/// Reads what terminals send: plain bytes, the sequences of xterm, and those of kitty's keyboard protocol
/// (<https://sw.kovidgoyal.net/kitty/keyboard-protocol>). Everything else is passed over.
#[derive(Default)]
pub(super) struct Parser {
    /// The beginning of a sequence whose end has not come yet.
    rest: Vec<u8>,
}

impl Parser {
    /// The events in some bytes, and in what was left of those before.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let (mut events, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let Some((length, event)) = first(&bytes[at..]) else {
                self.rest = bytes[at..].to_vec();
                break;
            };
            events.extend(event);
            at += length;
        }
        events
    }
}

/// The event that bytes begin with, if these mean any, and how many they are. None if there must be more to come.
fn first(bytes: &[u8]) -> Option<(usize, Option<Event>)> {
    match bytes {
        // A lone escape may be the beginning of a sequence that comes in two parts, so that it means nothing by itself.
        [] | [ESCAPE] | [ESCAPE, b'O'] => None,
        [ESCAPE, b'O', end, ..] => Some((3, arrow(*end).map(|key| Event::Key(key, Kind::Press)))),
        [ESCAPE, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7E).contains(byte))?;
            Some((end + 3, sequence(&rest[..end], rest[end])))
        }
        [ESCAPE, ..] => Some((1, None)),
        [byte, ..] => Some((1, plain(*byte).map(|key| Event::Key(key, Kind::Press)))),
    }
}

fn plain(byte: u8) -> Option<Key> {
    match byte {
        b'\t' => Some(Key::Tab),
        1..=26 => Some(Key::Control((b'a' + byte - 1).into())),
        b' '..=b'~' => Some(Key::Letter(char::from(byte).to_ascii_lowercase())),
        _ => None,
    }
}

fn arrow(end: u8) -> Option<Key> {
    match end {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        _ => None,
    }
}

/// `ESC [ parameters end`. The parameters of a key are `code ; modifiers : kind`, of which any may be left out.
fn sequence(parameters: &[u8], end: u8) -> Option<Event> {
    if end == b'O' {
        return Some(Event::FocusLost);
    }
    let parameters = std::str::from_utf8(parameters).ok()?;
    if end == b'u' && parameters.starts_with('?') {
        // The flags of the protocol that are set now: 2 is for releases.
        return (parameters[1..].parse::<u8>().ok()? & 2 != 0).then_some(Event::HasReleases);
    }
    let mut parts = parameters.split(';');
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let code = number(parts.next().and_then(|code| code.split(':').next()));
    let mut modifiers = parts.next().unwrap_or_default().split(':');
    // One more than the sum of shift 1, alt 2, control 4 and others.
    let is_control = number(modifiers.next()).is_some_and(|modifiers| modifiers.wrapping_sub(1) & 4 != 0);
    let kind = match number(modifiers.next()) {
        Some(2) => Kind::Repeat,
        Some(3) => Kind::Release,
        _ => Kind::Press,
    };
    let key = match (end, code) {
        (b'u', Some(9)) => Key::Tab,
        (b'u', Some(27)) => Key::Escape,
        (b'u', Some(code)) => {
            let letter = char::from_u32(code)?.to_ascii_lowercase();
            if is_control { Key::Control(letter) } else { Key::Letter(letter) }
        }
        _ => arrow(end)?,
    };
    Some(Event::Key(key, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Event> {
        Parser::default().parse(bytes)
    }

    fn press(key: Key) -> Event {
        Event::Key(key, Kind::Press)
    }

    #[test]
    fn the_keys_of_xterm() {
        let expected = [Key::Up, Key::Left, Key::Letter('w'), Key::Letter(' '), Key::Tab, Key::Control('c')];
        assert_eq!(keys(b"\x1b[A\x1bODW \t\x03"), expected.map(press));
        assert_eq!(keys(b"\x1b[1;2C\x1b[O\x1b[I"), [press(Key::Right), Event::FocusLost]);
        // Alt with a letter, a function key, a letter beyond ASCII.
        assert_eq!(keys("\x1bq\x1b[15~é".as_bytes()), [press(Key::Letter('q'))]);
    }

    #[test]
    fn the_keys_of_kittys_protocol() {
        let of = |key, kind| Event::Key(key, kind);
        assert_eq!(keys(b"\x1b[?11u\x1b[?0u"), [Event::HasReleases]);
        assert_eq!(
            keys(b"\x1b[1;1:1D\x1b[1;1:2D\x1b[1;1:3D\x1b[97;;97u\x1b[65:97;2:3u\x1b[32;1:3u"),
            [
                of(Key::Left, Kind::Press),
                of(Key::Left, Kind::Repeat),
                of(Key::Left, Kind::Release),
                of(Key::Letter('a'), Kind::Press),
                of(Key::Letter('a'), Kind::Release),
                of(Key::Letter(' '), Kind::Release),
            ]
        );
        assert_eq!(keys(b"\x1b[99;5u\x1b[9u\x1b[27u"), [Key::Control('c'), Key::Tab, Key::Escape].map(press));
    }

    #[test]
    fn a_sequence_may_come_in_parts() {
        let whole = b"\x1b[1;1:3Da\x1bOA\x1b[?11u";
        for cut in 0..whole.len() {
            let mut parser = Parser::default();
            let mut events = parser.parse(&whole[..cut]);
            events.extend(parser.parse(&whole[cut..]));
            assert_eq!(events, keys(whole), "cut after {cut} bytes");
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        for bytes in [
            &b"\x1b[\xFF\xFEA"[..],
            b"\x1b[1;0u",
            b"\x1b[99999999999u",
            b"\x1b[;;;u",
            b"\x1b\x1b\x1b",
            b"\x1b[?u",
        ] {
            keys(bytes);
        }
    }
}
