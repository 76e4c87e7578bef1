//! A session with the emulator that is fully determined by a byte string: the ROM image, the settings, the actions, and
//! the damage to snapshots and saved states. No byte string may make it panic or hang.

use ale::{Action, Ale, AleSettings, PoweredGame, SavedState, game};
use vcs::{
    Cartridge, Console, ConsoleOptions, Controller, Inputs, Joystick, Paddle, Scheme, Switches, TvFormat,
    Wiring,
};

/// The maximum number of operations in a session.
const MAX_STEPS: usize = 24;

/// Games with different cartridges, controllers and legal actions, and the sizes of their images. Excludes games that
/// search for a mode, which takes a long time with the image of another game.
const GAMES: [(&str, usize); 10] = [
    ("boxing", 2048),
    ("venture", 4096),
    ("phoenix", 8192),
    ("elevator_action", 8192),
    ("road_runner", 16384),
    ("darkchambers", 16384),
    ("montezuma_revenge", 8192),
    ("robotank", 8192),
    ("pitfall2", 10495),
    ("kaboom", 2048),
];

const SCHEMES: [(Scheme, usize); 17] = [
    (Scheme::Rom2K, 2048),
    (Scheme::Rom4K, 4096),
    (Scheme::F8, 8192),
    (Scheme::F8Sc, 8192),
    (Scheme::F6, 16384),
    (Scheme::F6Sc, 16384),
    (Scheme::F4, 32768),
    (Scheme::F4Sc, 32768),
    (Scheme::Fa, 12288),
    (Scheme::Tigervision, 8192),
    (Scheme::Cv, 2048),
    (Scheme::E7, 16384),
    (Scheme::Ua, 8192),
    (Scheme::Econobanking, 8192),
    (Scheme::E0, 8192),
    (Scheme::Fe, 8192),
    (Scheme::Dpc, 10495),
];

/// Runs the session that the bytes describe.
pub(crate) fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    match bytes.next() % 8 {
        // An arbitrary file with the detected scheme.
        0 => _ = Cartridge::detect(data.into()).map(|cartridge| console_session(cartridge, &mut bytes)),
        1..4 => {
            let (scheme, size) = bytes.one_of(&SCHEMES);
            let image = bytes.image(size);
            if let Ok(cartridge) = Cartridge::new(image.into(), scheme) {
                console_session(cartridge, &mut bytes);
            }
        }
        _ => game_session(&mut bytes),
    }
}

fn console_session(cartridge: Cartridge, bytes: &mut Bytes<'_>) {
    const CONTROLLERS: [Controller; 3] = [Controller::Joystick, Controller::Paddles, Controller::None];
    let flags = bytes.next();
    let options = ConsoleOptions {
        wiring: Wiring {
            left: bytes.one_of(&CONTROLLERS),
            right: bytes.one_of(&CONTROLLERS),
            swap_ports: flags & 1 != 0,
            swap_paddles: flags & 2 != 0,
        },
        hmove_blanks: flags & 4 != 0,
        tv: bytes.one_of(&[None, Some(TvFormat::Ntsc), Some(TvFormat::Pal), Some(TvFormat::Secam)]),
        ..ConsoleOptions::default()
    };
    let mut console = Console::new(cartridge, &options);
    let mut snapshot = postcard::to_stdvec(&console).expect("the state can be serialized");
    for _ in 0..MAX_STEPS {
        match bytes.next() % 8 {
            0 => console.reset(),
            1 => snapshot = postcard::to_stdvec(&console).expect("the state can be serialized"),
            kind @ 2..4 => {
                let bytes = if kind == 2 { snapshot.clone() } else { bytes.damaged(&snapshot) };
                if let Ok(state) = postcard::from_bytes(&bytes) {
                    let restored = console.restore(state);
                    assert!(kind == 3 || restored.is_ok(), "an undamaged snapshot is rejected");
                }
            }
            4 => console.ram_mut()[usize::from(bytes.next() % 128)] = bytes.next(),
            _ => {
                console.set_inputs(bytes.inputs());
                console.run_frame();
            }
        }
        if bytes.0.is_empty() {
            break;
        }
    }
}

fn game_session(bytes: &mut Bytes<'_>) {
    let (id, size) = bytes.one_of(&GAMES);
    let game = game(id).expect("a game of the table");
    let image = bytes.image(size);
    let Ok(powered) = PoweredGame::new(game, image.into()) else { return };
    let players = bytes.one_of(&game.players());
    let modes = game.modes_for(players).expect("a number of players of the game");
    let settings = AleSettings {
        repeat_action_probability: f32::from(bytes.next()) / 255.0,
        frame_skip: u32::from(bytes.next() % 6),
        max_num_frames_per_episode: u32::from(bytes.next()),
        truncate_on_loss_of_life: bytes.next().is_multiple_of(2),
        color_averaging: bytes.next().is_multiple_of(2),
        sound: bytes.next().is_multiple_of(2),
        recording: false,
        paddle_min: Some(i32::from(bytes.next()) << 24),
        paddle_max: Some(i32::from(bytes.next()) << 24),
        players,
        mode: Some(bytes.one_of(modes)),
        difficulty: Some(bytes.one_of(game.difficulties)),
    };
    let Ok(mut ale) = Ale::new(&powered, settings, bytes.next().into()) else { return };
    let mut snapshot = ale.snapshot();
    let mut saved = ale.save_state(true);
    for _ in 0..MAX_STEPS {
        match bytes.next() % 16 {
            0 => ale.reset_game(),
            1 => snapshot = ale.snapshot(),
            2 => ale.restore(&snapshot).expect("an undamaged snapshot"),
            3 => _ = ale.restore(&bytes.damaged(&snapshot)),
            4 => _ = ale.restore(bytes.0),
            5 => saved = ale.save_state(true),
            6 => ale.restore_state(&saved).expect("an undamaged state"),
            7 => {
                if let Ok(state) = SavedState::from_bytes(&bytes.damaged(&saved.to_bytes())) {
                    _ = ale.restore_state(&state);
                }
            }
            _ => {
                let action = Action::new(bytes.next() % 18).unwrap_or_default();
                let strength = f32::from_bits(u32::from(bytes.next()) << 24);
                ale.act(action, strength);
            }
        }
        if bytes.0.is_empty() {
            break;
        }
    }
}

/// The remaining bytes, followed by zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.next()) % choices.len()]
    }

    /// Returns an image that repeats up to 255 of the bytes with some noise in the repetitions.
    fn image(&mut self, size: usize) -> Vec<u8> {
        let length = usize::from(self.next()).clamp(1, self.0.len().max(1));
        let noise = self.next();
        let program: Vec<u8> = (0..length).map(|_| self.next()).collect();
        let mut image: Vec<u8> = program.iter().copied().cycle().take(size).collect();
        for (index, byte) in image.iter_mut().enumerate().skip(length) {
            *byte ^= (index as u8).wrapping_mul(noise) & noise;
        }
        // The vectors of every bank point to its start.
        for end in (2048..=size).step_by(2048) {
            image[end - 4..end].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF8]);
        }
        image
    }

    /// Returns a snapshot with some changes: flipped bits, maximal integers, insertions, removals, truncation.
    fn damaged(&mut self, snapshot: &[u8]) -> Vec<u8> {
        const EXTREME: [u8; 5] = [0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
        let mut damaged = snapshot.to_vec();
        for _ in 0..=self.next() % 3 {
            let (kind, value) = (self.next(), self.next());
            let at = usize::from(u16::from_le_bytes([self.next(), self.next()]));
            // Frame buffers and random generators are most of a snapshot; everything else is at its beginning.
            let end = if kind & 0x80 == 0 { damaged.len() } else { damaged.len().min(400) };
            let at = at % end.max(1);
            match kind % 6 {
                0 => damaged.truncate(at),
                1 => damaged.insert(at, value),
                2 => _ = damaged.splice(at..(at + 1).min(damaged.len()), EXTREME),
                3 => _ = damaged.splice(at..(at + usize::from(value % 8)).min(damaged.len()), []),
                _ => damaged.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= value),
            }
        }
        damaged
    }

    fn joystick(&mut self) -> Joystick {
        let held = self.next();
        let [up, down, left, right, fire] = std::array::from_fn(|bit| held >> bit & 1 != 0);
        Joystick { up, down, left, right, fire }
    }

    fn paddle(&mut self) -> Paddle {
        Paddle {
            resistance: i32::from_le_bytes([self.next(), self.next(), self.next(), self.next()]),
            fire: self.next() & 1 != 0,
        }
    }

    fn inputs(&mut self) -> Inputs {
        let joysticks = [self.joystick(), self.joystick()];
        let paddles = std::array::from_fn(|_| self.paddle());
        let held = self.next();
        let switches = Switches {
            reset: held & 1 != 0,
            select: held & 2 != 0,
            left_difficulty_a: held & 4 != 0,
            right_difficulty_a: held & 8 != 0,
        };
        Inputs { joysticks, paddles, switches }
    }
}
