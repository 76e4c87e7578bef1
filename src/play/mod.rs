//! `ale-train play`: a person plays in the terminal, and may have an agent beside.

mod canvas;
mod input;
mod keys;
mod panel;
mod picture;
mod session;
mod terminal;

use std::io::Write;
use std::time::{Duration, Instant};

use ale::{AtariEnv, AtariOptions, PoweredGame};
use anyhow::{Context, Result, bail, ensure};

use crate::agent::TrainedAgent;
use crate::cli::{AgentArgs, Global, PlayArgs};
use crate::config::Games;
use crate::environments::{self, Builder, Overrides};
use crate::failure::AtWork;
use crate::interrupt::Interrupt;
use crate::selection;
use crate::telemetry::Printer;
use crate::threads::set_threads;

use canvas::Canvas;
use input::{Event, Key, Kind};
use keys::{Keys, Stick};
use panel::{Hand, Status};
use session::{Agent, Session};
use terminal::Terminal;

/// Frames of a television picture a second.
const FRAMES_PER_SECOND: f64 = 60.0;
/// Time between two pictures, at least: a line to a distant machine carries no more.
const PICTURE: Duration = Duration::from_millis(30);
/// How long a game that an agent has ended is looked at.
const LAST_LOOK: Duration = Duration::from_secs(2);
/// The game that is built in.
const BUILT_IN: &str = "harvest";

/// Plays until somebody quits.
pub(crate) fn run(args: &PlayArgs, global: &Global, out: &mut impl Write) -> Result<()> {
    if let Some(sticky) = args.sticky {
        ensure!((0.0..=1.0).contains(&sticky), "--sticky {sticky} is not possible: it must be in 0..=1");
    }
    let (session, frames_per_step) = match args.agent() {
        Some(agent) => beside_an_agent(&agent, args, global)?,
        None => (alone(args, global)?, 1),
    };
    let interrupt = Interrupt::to_be_asked(Printer::Quiet, "");
    let terminal = Terminal::take()?;
    let period = Duration::from_secs_f64(frames_per_step as f64 / FRAMES_PER_SECOND);
    let mut game = Game { keys: Keys::new(false), session, hand: Hand::Person, is_paused: false };
    let best = game.play(terminal, period, &interrupt).context(AtWork { doing: "the game broke off" })?;
    writeln!(out, "{}: score {}, best {best}", game.session.game().title, game.session.score())?;
    Ok(())
}

/// A game that is acted in sixty times a second.
fn alone(args: &PlayArgs, global: &Global) -> Result<Session> {
    let name = args.game.as_deref().unwrap_or(BUILT_IN);
    let games = selection::games([name])?;
    let [game] = games[..] else { bail!("'{name}' is {} games; one can be played", games.len()) };
    let options = AtariOptions {
        frameskip: 1,
        maxpool: false,
        noop_max: 0,
        use_fire_reset: false,
        max_num_frames_per_episode: u32::MAX,
        full_action_space: true,
        repeat_action_probability: args.sticky.unwrap_or(0.0),
        modes: args.mode.into_iter().collect(),
        difficulties: args.difficulty.into_iter().collect(),
        ..AtariOptions::default()
    };
    let (game, rom) = environments::with_roms(&[game], global)?.swap_remove(0);
    let env = AtariEnv::new(&PoweredGame::new(game, rom)?, options, args.seed)?;
    Ok(Session::new(env, None, args.seed))
}

/// A game as the agent of a checkpoint plays it, with the frames of its steps.
fn beside_an_agent(agent: &AgentArgs, args: &PlayArgs, global: &Global) -> Result<(Session, u64)> {
    let trained = TrainedAgent::open(&agent.checkpoint)?;
    let overrides = Overrides {
        games: Some(Games::Atari(vec![trained.game(args.game.as_deref())?])),
        repeat_action_probability: args.sticky,
        mode: args.mode,
        difficulty: args.difficulty,
        ..Overrides::default()
    };
    set_threads(trained.experiment.num_threads())?;
    let builder = Builder::new(&trained.experiment, &overrides, global)?;
    let player = trained.player(&builder, agent.greedy, args.seed)?;
    let codes = builder.atari_env(args.seed)?.action_codes().to_vec();
    let session = Session::new(builder.playable_env(args.seed)?, Some(Agent { player, codes }), args.seed);
    Ok((session, trained.experiment.frames_per_step()))
}

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Press(Stick),
    Release(Stick),
    Pause,
    Restart,
    HandOver,
    Quit,
}

/// What somebody wants who does this to a key, if it is anything.
fn wish(key: Key, kind: Kind) -> Option<Wish> {
    let stick = match key {
        Key::Up | Key::Letter('w') => Some(Stick::Up),
        Key::Down | Key::Letter('s') => Some(Stick::Down),
        Key::Left | Key::Letter('a') => Some(Stick::Left),
        Key::Right | Key::Letter('d') => Some(Stick::Right),
        Key::Letter(' ') => Some(Stick::Fire),
        _ => None,
    };
    match (kind, stick) {
        (Kind::Release, stick) => stick.map(Wish::Release),
        (_, Some(stick)) => Some(Wish::Press(stick)),
        // Held down, these would flicker.
        (Kind::Repeat, None) => None,
        (Kind::Press, None) => match key {
            Key::Letter('q') | Key::Escape | Key::Control('c') => Some(Wish::Quit),
            Key::Letter('p') => Some(Wish::Pause),
            Key::Letter('r') => Some(Wish::Restart),
            Key::Tab => Some(Wish::HandOver),
            _ => None,
        },
    }
}

/// A game and who plays it.
struct Game {
    session: Session,
    keys: Keys,
    hand: Hand,
    is_paused: bool,
}

impl Game {
    /// Plays, a step in each period, until somebody quits. Returns the best score.
    fn play(&mut self, mut terminal: Terminal, period: Duration, interrupt: &Interrupt) -> Result<f64> {
        let mut best = 0.0f64;
        let (mut next, mut shown) = (Instant::now() + period, None);
        let mut over_since: Option<Instant> = None;
        while !interrupt.is_requested() {
            loop {
                for event in terminal.events(next.saturating_duration_since(Instant::now()))? {
                    if !self.obey(event, Instant::now()) {
                        return Ok(best);
                    }
                }
                if Instant::now() >= next {
                    break;
                }
            }
            self.step(Instant::now())?;
            best = best.max(self.session.score());
            let now = Instant::now();
            over_since = self.session.is_over().then(|| over_since.unwrap_or(now));
            if self.hand == Hand::Agent && over_since.is_some_and(|since| now - since >= LAST_LOOK) {
                self.session.restart();
            }
            if shown.is_none_or(|shown| now - shown >= PICTURE) {
                shown = Some(now);
                let size = Terminal::size()?;
                terminal.show(size, self.drawn(size)?)?;
            }
            next += period;
            // After a pause of the machine nothing is made up for.
            if next + LAST_LOOK < now {
                next = now;
            }
        }
        Ok(best)
    }

    /// Does what an event asks for. Returns whether the game goes on.
    fn obey(&mut self, event: Event, now: Instant) -> bool {
        let wish = match event {
            Event::Key(key, kind) => wish(key, kind),
            Event::FocusLost => {
                self.keys.release_all();
                None
            }
            Event::HasReleases => {
                self.keys = Keys::new(true);
                None
            }
        };
        match wish {
            Some(Wish::Press(stick)) => self.keys.press(stick, now),
            Some(Wish::Release(stick)) => self.keys.release(stick),
            Some(Wish::Pause) => self.is_paused = !self.is_paused,
            Some(Wish::Restart) => self.session.restart(),
            Some(Wish::HandOver) if self.session.has_agent() => {
                self.hand = if self.hand == Hand::Person { Hand::Agent } else { Hand::Person };
            }
            Some(Wish::Quit) => return false,
            Some(Wish::HandOver) | None => {}
        }
        true
    }

    /// A step of the game, unless it rests.
    fn step(&mut self, now: Instant) -> Result<()> {
        if self.is_paused || self.session.is_over() {
            return Ok(());
        }
        let action = match self.hand {
            Hand::Person => self.keys.action(now),
            Hand::Agent => self.session.agent_action()?.unwrap_or_default(),
        };
        self.session.step(action)
    }

    /// What the terminal is to show.
    fn drawn(&self, (columns, rows): (usize, usize)) -> Result<Canvas> {
        let mut canvas = Canvas::new(columns, rows);
        let screen = self.session.screen();
        let status = Status::of(&self.session, self.hand, self.is_paused, self.session.reading()?);
        if columns >= 2 * panel::WIDTH {
            let (width, height) = picture::size(&screen, columns - panel::WIDTH - 1, rows);
            picture::draw(&screen, width, height, &mut canvas);
            status.draw(width + 1, &mut canvas);
        } else {
            let (width, height) = picture::size(&screen, columns, rows.saturating_sub(1));
            picture::draw(&screen, width, height, &mut canvas);
            canvas.write(0, rows.saturating_sub(1), &status.line(), [200; 3]);
        }
        Ok(canvas)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn harvest() -> Game {
        let args = PlayArgs::default();
        let rom = ale::roms::RomStore::locate(None).unwrap().read(BUILT_IN).unwrap();
        let options =
            AtariOptions { frameskip: 1, noop_max: 0, full_action_space: true, ..AtariOptions::default() };
        let powered = PoweredGame::new(ale::game(BUILT_IN).unwrap(), Arc::clone(&rom)).unwrap();
        let session = Session::new(AtariEnv::new(&powered, options, args.seed).unwrap(), None, args.seed);
        Game { session, keys: Keys::new(true), hand: Hand::Person, is_paused: false }
    }

    #[test]
    fn keys_mean_what_the_panel_says() {
        for (key, expected) in [
            (Key::Up, Wish::Press(Stick::Up)),
            (Key::Letter('d'), Wish::Press(Stick::Right)),
            (Key::Letter(' '), Wish::Press(Stick::Fire)),
            (Key::Letter('p'), Wish::Pause),
            (Key::Letter('r'), Wish::Restart),
            (Key::Tab, Wish::HandOver),
            (Key::Escape, Wish::Quit),
            (Key::Control('c'), Wish::Quit),
        ] {
            assert_eq!(wish(key, Kind::Press), Some(expected));
        }
        assert_eq!(wish(Key::Up, Kind::Repeat), Some(Wish::Press(Stick::Up)));
        assert_eq!(wish(Key::Up, Kind::Release), Some(Wish::Release(Stick::Up)));
        assert_eq!(wish(Key::Letter('p'), Kind::Repeat), None);
        assert_eq!(wish(Key::Letter('q'), Kind::Release), None);
        assert_eq!(wish(Key::Control('d'), Kind::Press), None);
    }

    #[test]
    fn the_built_in_game_is_played_paused_begun_anew_and_left() {
        let mut game = harvest();
        let now = Instant::now();
        let press = |key| Event::Key(key, Kind::Press);
        let before = game.session.screen();
        assert!(game.obey(press(Key::Right), now));
        for _ in 0..30 {
            game.step(now).unwrap();
        }
        let moved = game.session.screen();
        assert_eq!(game.session.action().to_string(), "RIGHT");
        assert_ne!(moved, before);

        assert!(game.obey(press(Key::Letter('p')), now));
        game.step(now).unwrap();
        assert_eq!(game.session.screen(), moved, "a pause is a pause");
        // There is nobody to hand over to.
        assert!(game.obey(press(Key::Tab), now));
        assert_eq!(game.hand, Hand::Person);
        assert!(game.obey(press(Key::Letter('r')), now) && game.obey(Event::FocusLost, now));
        assert_eq!((game.session.score(), game.keys.action(now).to_string()), (0.0, "NOOP".to_owned()));
        assert!(!game.obey(press(Key::Letter('q')), now));
    }

    #[test]
    fn picture_and_words_fit_terminals_of_any_size() {
        let game = harvest();
        let wide = game.drawn((100, 30)).unwrap();
        assert!((0..30).map(|row| wide.row(row)).any(|row| row.contains("joystick")));
        let narrow = game.drawn((60, 20)).unwrap();
        assert!(narrow.row(19).starts_with("0 you play"), "{}", narrow.row(19));
        for size in [(0, 0), (1, 1), (3, 2), (64, 1), (400, 120)] {
            game.drawn(size).unwrap();
        }
    }
}
