//! Compares the fast TIA with the one that draws dot by dot.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::collision::{self, Objects};
use super::dots::Dots;
use super::registers::{
    COLUBK, COLUP0, COLUP1, COLUPF, CTRLPF, ENABL, ENAM0, ENAM1, GRP0, GRP1, HMBL, HMM0, HMOVE, HMP0, NUSIZ0,
    NUSIZ1, PF0, PF1, PF2, RESBL, RESM0, RESM1, RESMP0, RESMP1, RESP0, RESP1, VBLANK, VSYNC,
};
use super::{Beam, Drawing, Geometry, Tia};
use crate::controllers::{Inputs, Wiring};

/// The chips under test on a common clock: the fast one, drawing by spans, by lines and without painting, and the slow
/// one.
struct Bench {
    fast: Tia,
    lines: Tia,
    unpainted: Tia,
    slow: Dots,
    now: u32,
    /// The earliest cycle of the next access: some cycles after a write that the chips drawing by lines have
    /// skipped.
    free: u32,
    /// Numbers of comparisons of the chip that draws by lines, and of the one that does not paint.
    compared: [usize; 2],
}

impl Bench {
    fn new(geometry: Geometry) -> Self {
        let mut bench = Self {
            fast: Tia::new(geometry),
            lines: Tia::new(geometry),
            unpainted: Tia::new(geometry),
            slow: Dots::new(geometry),
            now: 0,
            free: 0,
            compared: [0; 2],
        };
        bench.reset();
        bench
    }

    fn clock(&self) -> i32 {
        (self.now as i32).wrapping_mul(3)
    }

    fn rebase(&mut self) {
        self.fast.rebase(self.now);
        self.slow.rebase(self.now);
        (self.now, self.free) = (0, 0);
    }

    fn reset(&mut self) {
        self.rebase();
        self.fast.reset(self.clock());
        self.slow.reset(self.clock());
    }

    fn begin_request(&mut self) {
        assert_eq!(self.fast.is_unfinished(), self.slow.is_unfinished());
        assert!(self.fast.accepts(&self.fast), "a valid state is refused: {:?}", self.fast.beam);
        let begins = !self.fast.is_unfinished();
        let phase = self.fast.horizontal(self.clock());
        if begins {
            self.rebase();
        }
        // A chip continues by lines after drawing by spans, and the other way round.
        self.lines.clone_from(&self.fast);
        self.unpainted.clone_from(&self.fast);
        if begins {
            self.fast.start_frame(phase, Drawing::Spans, 0);
            self.lines.start_frame(phase, Drawing::Lines, 0);
            self.unpainted.start_frame(phase, Drawing::CollisionsOnly, 0);
            self.slow.start_frame(phase);
        }
    }

    fn write(&mut self, register: u16, value: u8) {
        self.now = self.now.max(self.free);
        self.fast.write(register, value, self.now);
        for chip in [&mut self.lines, &mut self.unpainted] {
            if chip.is_settled(register, value) {
                self.free = self.now + 3;
            } else {
                chip.write(register, value, self.now);
            }
        }
        self.slow.write(register, value, self.now);
    }

    fn read(&mut self, register: u16) {
        self.now = self.now.max(self.free);
        let slow = self.slow.read(register, self.now);
        for chip in [&mut self.fast, &mut self.lines, &mut self.unpainted] {
            let fast = chip.read(register, self.now, 0, Wiring::default(), &Inputs::default());
            assert_eq!(fast, slow, "collision register {register}, drawn by {:?}", chip.drawing);
        }
    }

    fn switch_objects_off(&mut self) {
        for register in [GRP0, GRP1, GRP0, GRP1, ENAM0, ENAM1, ENABL, PF0, PF1, PF2, VBLANK] {
            self.write(register, 0);
        }
    }

    fn end_request(&mut self) {
        self.fast.end_request(self.clock(), true);
        self.slow.end_request(self.clock());
        self.compare("spans", &self.fast);
        // A frame that began with an earlier request is drawn by spans.
        if self.lines.drawing == Drawing::Lines {
            let mut chip = self.lines.clone();
            chip.end_request(self.clock(), false);
            if chip.covers_screen() {
                self.compare("lines", &chip);
                self.compared[0] += 1;
                self.fast = chip;
            }
        }
        if self.unpainted.drawing == Drawing::CollisionsOnly {
            let mut chip = self.unpainted.clone();
            chip.end_request(self.clock(), false);
            chip.screens.clone_from(&self.fast.screens);
            if chip.covers_screen() {
                self.compare("collisions only", &chip);
                self.compared[1] += 1;
                self.fast = chip;
            }
        }
    }

    fn compare(&self, how: &str, chip: &Tia) {
        let differs = |(fast, slow): (&u8, &u8)| fast != slow;
        let pixel = chip.screen().iter().zip(self.slow.screen()).position(differs);
        let difference = pixel.map(|pixel| (pixel / 160, pixel % 160, chip.screen()[pixel]));
        assert_eq!(difference, None, "row, pixel and the fast chip's byte, drawn by {how}");
        let latches: [u8; 8] = std::array::from_fn(|r| collision::register(chip.collisions, r as u16));
        assert_eq!(&latches, self.slow.collisions(), "drawn by {how}");
    }

    /// Discards the derived state, like a snapshot.
    fn discard_derived_state(&mut self) {
        for chip in [&mut self.fast, &mut self.lines, &mut self.unpainted] {
            chip.objects = Objects::default();
            chip.active = 0;
            chip.refresh();
        }
    }
}

/// Registers that make objects visible. The short lists leave most objects off, as the reference's shortcuts
/// require.
const VISIBLE: [&[u16]; 6] = [
    &[
        GRP0, GRP1, NUSIZ0, NUSIZ1, ENAM0, ENAM1, ENABL, CTRLPF, PF0, PF2, RESP0, RESP1, RESM0, RESM1, RESBL,
        RESMP0, RESMP1, HMOVE, HMP0, HMM0, HMBL, VBLANK,
    ],
    &[GRP0, GRP1, NUSIZ0, NUSIZ1, RESP0, RESP0, RESP1, RESP1, HMOVE, HMP0],
    &[PF0, PF1, PF2, CTRLPF, HMOVE],
    &[GRP0, GRP1, NUSIZ0, RESP0, RESP1, PF1, CTRLPF],
    &[ENAM0, ENAM1, NUSIZ0, NUSIZ1, RESM0, RESM1, CTRLPF, ENABL],
    &[ENABL, RESBL, CTRLPF, PF1],
];

/// Sequences of writes whose timing matters, from the start of a line. Each comes with the cycles that pass before it.
const MOTIONS: [&[(u32, u16, u8)]; 7] = [
    &[(3, HMOVE, 0), (20, RESM0, 0)],
    &[(3, HMOVE, 0), (3, RESM1, 0)],
    &[(2, HMOVE, 0), (18, RESBL, 0)],
    &[(5, HMOVE, 0), (18, RESBL, 0)],
    &[(3, HMOVE, 0), (3, RESBL, 0)],
    &[(3, HMOVE, 0), (7, RESBL, 0)],
    // The Cosmic Ark motion.
    &[(0, HMM0, 0x70), (3, HMOVE, 0), (21, HMM0, 0x60)],
];

/// Parameters of random accesses to the chip, used for some frames.
struct Style {
    /// The most frequently written registers.
    registers: &'static [u16],
    /// The fraction of writes that go to them. The others go to any register.
    narrow: f64,
    /// The fraction of accesses that a motion follows.
    motions: f64,
    /// The maximum number of CPU cycles between two accesses.
    gap: u32,
    /// The fraction of accesses that are reads.
    reads: f64,
    /// The fraction of writes of VBLANK that turn blanking off.
    bright: f64,
    /// The fraction of accesses at the start of a line.
    at_line_start: f64,
    /// The maximum number of lines in a frame.
    lines: u32,
}

impl Style {
    fn new(random: &mut StdRng, height: i32) -> Self {
        let height = height as u32 + 60;
        Self {
            registers: VISIBLE.choose(random).unwrap(),
            narrow: *[0.7, 0.7, 1.0].choose(random).unwrap(),
            motions: *[0.0, 0.02].choose(random).unwrap(),
            gap: *[3, 6, 10, 20, 40, 80, 400].choose(random).unwrap(),
            reads: *[0.0, 0.05, 0.3].choose(random).unwrap(),
            bright: *[0.5, 0.95, 1.0].choose(random).unwrap(),
            at_line_start: *[0.0, 0.1, 0.4].choose(random).unwrap(),
            lines: *[height, height, 2 * height, 500].choose(random).unwrap(),
        }
    }
}

fn frame(bench: &mut Bench, random: &mut StdRng, style: &Style) {
    bench.begin_request();
    if random.random_bool(0.3) {
        bench.switch_objects_off();
    }
    let end = bench.now + random.random_range(1..=style.lines * 76);
    while bench.now < end && bench.fast.is_unfinished() {
        let shortest = if random.random_bool(0.9) { 3 } else { 0 };
        bench.now += random.random_range(shortest..=style.gap);
        if random.random_bool(style.at_line_start) {
            bench.now += bench.fast.cycles_to_next_line(bench.clock());
            bench.now += random.random_range(0..4) * random.random_range(0..10);
        }
        if random.random_bool(style.reads) {
            bench.read(random.random_range(0..8));
        } else if random.random_bool(style.narrow) {
            let register = *style.registers.choose(random).unwrap();
            bench.write(register, value(random, register, style));
        } else {
            let register = random.random_range(1..64);
            bench.write(register, value(random, register, style));
        }
        if random.random_bool(style.motions) {
            bench.now += bench.fast.cycles_to_next_line(bench.clock());
            for &(pause, register, value) in *MOTIONS.choose(random).unwrap() {
                bench.now += pause;
                bench.write(register, value);
            }
        }
    }
    // Some requests leave the frame unfinished.
    if random.random_bool(0.9) {
        bench.write(VSYNC, 2);
        bench.now += random.random_range(70..90);
        // Pixels drawn up to an access remain if the frame ends just after it.
        if random.random_bool(0.3) {
            let register = *style.registers.choose(random).unwrap();
            bench.write(register, value(random, register, style));
            bench.now += random.random_range(1..=3);
        }
        bench.write(VSYNC, 0);
    }
    bench.end_request();
}

fn value(random: &mut StdRng, register: u16, style: &Style) -> u8 {
    let value: u8 = random.random();
    match register {
        VBLANK if random.random_bool(style.bright) => value & !2,
        COLUP0..=COLUBK => value | 0x02,
        ENAM0 | ENAM1 | ENABL if random.random_bool(0.7) => value | 2,
        // Empty objects are worth testing too.
        GRP0 | GRP1 | PF0..=PF2 if random.random_bool(0.4) => 0,
        RESMP0 | RESMP1 if random.random_bool(0.7) => value & !2,
        _ => value,
    }
}

#[test]
fn equals_the_dot_by_dot_chip_on_random_programs() {
    const GAMES: usize = 500;
    const FRAMES: usize = 12;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut compared = [0; 2];
    for _ in 0..GAMES {
        let pal = random.random_bool(0.3);
        let geometry = Geometry {
            ystart: random.random_range(0..8),
            height: random.random_range(1..60),
            last_line: if pal { 100 } else { 80 },
            hmove_blanks: random.random_bool(0.8),
            colour_loss: pal,
        };
        let mut bench = Bench::new(geometry);
        let mut style = Style::new(&mut random, geometry.height);
        for _ in 0..FRAMES {
            if random.random_bool(0.3) {
                style = Style::new(&mut random, geometry.height);
            }
            if random.random_bool(0.1) {
                bench.reset();
            }
            if random.random_bool(0.1) {
                bench.discard_derived_state();
            }
            frame(&mut bench, &mut random, &style);
        }
        compared = std::array::from_fn(|drawing| compared[drawing] + bench.compared[drawing]);
    }
    println!("compared by lines, and collisions only: {compared:?}");
    // Frames that end within the screen or began with an earlier request are compared by spans only.
    assert!(compared.iter().all(|&compared| compared > GAMES * FRAMES / 4), "{compared:?}");
}

#[test]
fn hmove_does_not_blank_pixels_that_a_strobe_of_a_player_has_completed() {
    let geometry = Geometry { ystart: 0, height: 8, last_line: 80, hmove_blanks: true, colour_loss: false };
    let mut bench = Bench::new(geometry);
    bench.begin_request();
    // The player's last pixel is the first one of the line.
    for (cycle, register, value) in [
        (4, COLUP1, 0x44),
        (8, COLUBK, 0x66),
        (12, GRP1, 0xFF),
        (72, RESP1, 0),
        (2 * 76 + 20, RESP1, 0),
        (2 * 76 + 20, HMOVE, 0),
        (12 * 76, VSYNC, 2),
        (14 * 76, VSYNC, 0),
    ] {
        bench.now = cycle;
        bench.write(register, value);
    }
    let row = 2 * super::WIDTH;
    bench.end_request();
    assert_eq!(bench.fast.screen()[row..row + 9], [0x44, 0x66, 0x66, 0, 0, 0, 0, 0, 0x66]);
    assert_eq!(bench.compared, [1, 1]);
}

/// NUSIZ0 takes effect after eight colour clocks, so the frame ends a pixel after the last one that was drawn then. The
/// chip paints groups of four pixels, here up to pixel 23.
#[test]
fn a_frame_that_ends_just_after_a_span_shows_all_pixels_of_that_span() {
    let mut bench = Bench::new(Geometry { ystart: 0, ..GEOMETRY });
    bench.begin_request();
    for (cycle, register, value) in
        [(4, COLUBK, 0x66), (8, PF1, 0x80), (76, VSYNC, 2), (4 * 76 + 27, NUSIZ0, 0), (4 * 76 + 30, VSYNC, 0)]
    {
        bench.now = cycle;
        bench.write(register, value);
    }
    bench.end_request();
    let row = 4 * super::WIDTH;
    assert_eq!(bench.fast.screen()[row + 20..row + 26], [0x66, 0x66, 0x66, 0x66, 0, 0]);
}

/// The playfield's delay depends on the position in the line, not on the number of CPU cycles.
#[test]
fn the_playfield_changes_at_the_same_pixel_after_the_clock_has_wrapped() {
    let mut bench = Bench::new(Geometry { ystart: 0, ..GEOMETRY });
    bench.begin_request();
    bench.write(COLUBK, 0x66);
    bench.write(COLUPF, 0x44);
    bench.end_request();
    bench.begin_request();
    let wrap = u32::MAX / 3 + 1;
    for cycle in 40..44 {
        bench.now = wrap + (cycle - 39) * 76 + cycle;
        bench.write(PF2, 0xFF);
        bench.now += 30;
        bench.write(PF2, 0);
    }
    bench.end_request();
    assert!(bench.fast.screen().contains(&0x44));
}

const GEOMETRY: Geometry =
    Geometry { ystart: 2, height: 8, last_line: 80, hmove_blanks: true, colour_loss: false };

#[test]
fn times_that_do_not_fit_together_are_refused() {
    let mut bench = Bench::new(GEOMETRY);
    bench.begin_request();
    for cycle in [300, 500] {
        bench.now = cycle;
        bench.write(GRP0, cycle as u8);
    }
    bench.end_request();
    let chip = bench.fast;
    assert!(chip.accepts(&chip));
    let fields: [fn(&mut Beam) -> &mut i32; 7] = [
        |beam| &mut beam.frame_start,
        |beam| &mut beam.display_start,
        |beam| &mut beam.display_stop,
        |beam| &mut beam.drawn_to,
        |beam| &mut beam.clocks_left,
        |beam| &mut beam.pending_to,
        |beam| &mut beam.pending_before,
    ];
    for (index, field) in fields.into_iter().enumerate() {
        for value in [i32::MIN, i32::MAX] {
            let mut damaged = chip.clone();
            *field(&mut damaged.beam) = value;
            let is_harmless = index == 6 && value == i32::MIN;
            assert_eq!(chip.accepts(&damaged), is_harmless, "{:?}", damaged.beam);
        }
    }
    for row in [0, 2, usize::MAX] {
        let mut damaged = chip.clone();
        damaged.beam.row = row;
        assert!(!chip.accepts(&damaged), "{:?}", damaged.beam);
    }
}
