//! Programs that act at a given cycle of a given scanline.

use std::path::PathBuf;
use std::{env, fs};

use ale::{Action, Ale, AleSettings, PoweredGame, game};
use vcs::{Cartridge, Console, ConsoleOptions, registers};

/// The game whose name and rules the programs use, as in `verify.py`: a joystick game of 4 KB without mode selection.
const HOST: &str = "venture";
const SIZE: usize = 4096;
const ORIGIN: u16 = 0xF000;

/// Pixels in a row.
pub(crate) const WIDTH: usize = 160;
/// The scanline of the first row.
pub(crate) const YSTART: usize = 34;

const LDA_IMMEDIATE: u8 = 0xA9;
const LDA_ABSOLUTE: u8 = 0xAD;
const STA_ZERO_PAGE: u8 = 0x85;
const STA_ABSOLUTE: u8 = 0x8D;
const BIT_ZERO_PAGE: u8 = 0x24;
const NOP: u8 = 0xEA;
const JMP: u8 = 0x4C;

/// An action of a frame on a scanline.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// Writes a value to a register at the cycle.
    Write { line: u32, cycle: u32, register: u16, value: u8 },
    /// Writes the accumulator to a register at the cycle.
    Strobe { line: u32, cycle: u32, register: u16 },
    /// Reads at the cycle and stores the byte in RAM.
    Read { line: u32, cycle: u32, address: u16, to: u8 },
    /// Any other code, with its duration in cycles.
    Code { line: u32, bytes: &'a [u8], cycles: u32 },
}

pub(crate) fn write(line: u32, cycle: u32, register: u16, value: u8) -> Event<'static> {
    Event::Write { line, cycle, register, value }
}

pub(crate) fn strobe(line: u32, cycle: u32, register: u16) -> Event<'static> {
    Event::Strobe { line, cycle, register }
}

pub(crate) fn read(line: u32, cycle: u32, address: u16, to: u8) -> Event<'static> {
    Event::Read { line, cycle, address, to }
}

pub(crate) fn code(line: u32, bytes: &[u8], cycles: u32) -> Event<'_> {
    Event::Code { line, bytes, cycles }
}

/// A program that repeats some frames forever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    code: Vec<u8>,
    /// The offset of the first frame.
    frames: Option<usize>,
}

impl Program {
    /// Returns a program that starts with these writes.
    pub(crate) fn new(setup: &[(u16, u8)]) -> Self {
        assert!(setup.len() < 14, "the setup must fit into one line");
        let mut program = Self::default();
        for &(register, value) in setup {
            program.code.extend([LDA_IMMEDIATE, value, STA_ZERO_PAGE, register as u8]);
        }
        program
    }

    /// Adds a frame of `lines` scanlines. It starts at cycle 5 of line 0, where VSYNC ended the previous one.
    pub(crate) fn frame(self, lines: u32, events: &[Event<'_>]) -> Self {
        self.cut_frame(lines, 5, events)
    }

    /// Adds a frame that ends at `cycle` of line `lines`.
    pub(crate) fn cut_frame(mut self, lines: u32, cycle: u32, events: &[Event<'_>]) -> Self {
        self.frames.get_or_insert(self.code.len());
        let mut beam = Beam { code: &mut self.code, line: 0, cycle: 8 };
        for event in events {
            beam.play(*event);
        }
        beam.play(write(lines - 2, 5, registers::VSYNC, 2));
        beam.play(write(lines, cycle, registers::VSYNC, 0));
        self
    }

    pub(crate) fn image(&self) -> Vec<u8> {
        let mut code = self.code.clone();
        if let Some(first) = self.frames {
            code.push(JMP);
            code.extend((ORIGIN + first as u16).to_le_bytes());
        }
        image(&code)
    }

    /// Returns the console right after power-up and detection of the television system.
    pub(crate) fn console(&self, options: &ConsoleOptions) -> Console {
        Console::new(Cartridge::detect(self.image().into()).expect("a cartridge"), options)
    }

    /// Returns the program as a game after loading, with its reset, and `acts` acts of NOOP.
    pub(crate) fn play(&self, name: &str, acts: u32) -> Ale {
        play(name, self.image(), acts)
    }
}

/// Returns an image of 4 KB that starts with this code.
pub(crate) fn image(code: &[u8]) -> Vec<u8> {
    let mut image = vec![NOP; SIZE];
    image[..code.len()].copy_from_slice(code);
    image[SIZE - 4..].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF0]);
    image
}

/// Runs an image with the host's rules. With `CHECKLIST_IMAGES=DIRECTORY` it writes the image and the result there, for
/// `verify.py` to compare with ale-py.
pub(crate) fn play(name: &str, image: Vec<u8>, acts: u32) -> Ale {
    let powered = PoweredGame::new(game(HOST).expect("a game"), image.clone().into()).expect("a cartridge");
    let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, 0).expect("good settings");
    for _ in 0..acts {
        ale.act(Action::NOOP, 1.0);
    }
    if let Some(directory) = env::var_os("CHECKLIST_IMAGES").map(PathBuf::from) {
        let (ram, screen) = (crc32fast::hash(ale.ram()), crc32fast::hash(ale.screen()));
        fs::write(directory.join(format!("{name}.bin")), image).expect("the directory can be written");
        fs::write(directory.join(format!("{name}.txt")), format!("{acts} {ram:08x} {screen:08x}"))
            .expect("the directory can be written");
    }
    ale
}

/// The position of the beam while a program is written.
struct Beam<'a> {
    code: &'a mut Vec<u8>,
    line: u32,
    cycle: u32,
}

impl Beam<'_> {
    fn play(&mut self, event: Event<'_>) {
        match event {
            Event::Write { line, cycle, register, value } => {
                self.go_to(line);
                let spare = self.spare(cycle, 5);
                self.wait(if spare == 1 { 0 } else { spare });
                self.code.extend([LDA_IMMEDIATE, value]);
                self.store(register, spare == 1);
                self.pass_to(cycle);
            }
            Event::Strobe { line, cycle, register } => {
                self.go_to(line);
                let spare = self.spare(cycle, 3);
                self.wait(if spare == 1 { 0 } else { spare });
                self.store(register, spare == 1);
                self.pass_to(cycle);
            }
            Event::Read { line, cycle, address, to } => {
                self.go_to(line);
                let spare = self.spare(cycle, 4);
                self.wait(spare);
                let [low, high] = address.to_le_bytes();
                self.code.extend([LDA_ABSOLUTE, low, high, STA_ZERO_PAGE, to]);
                self.pass_to(cycle + 3);
            }
            Event::Code { line, bytes, cycles } => {
                self.go_to(line);
                self.code.extend(bytes);
                self.pass_to(self.cycle + cycles);
            }
        }
    }

    fn go_to(&mut self, line: u32) {
        assert!(self.line <= line, "line {line} has passed");
        while self.line < line {
            self.code.extend([STA_ZERO_PAGE, registers::WSYNC as u8]);
            // A WSYNC written after the end of the line waits for the end of the next line.
            self.line += if self.cycle + 3 > 76 { 2 } else { 1 };
            self.cycle = 0;
        }
        assert_eq!(self.line, line, "a line was lost");
    }

    /// Returns the spare cycles before an instruction of `cost` cycles that ends at `cycle`.
    fn spare(&self, cycle: u32, cost: u32) -> u32 {
        cycle.checked_sub(self.cycle + cost).unwrap_or_else(|| panic!("no time for cycle {cycle}"))
    }

    fn wait(&mut self, mut cycles: u32) {
        assert_ne!(cycles, 1, "no instruction takes one cycle");
        if cycles % 2 == 1 {
            self.code.extend([BIT_ZERO_PAGE, 0x80]);
            cycles -= 3;
        }
        self.code.resize(self.code.len() + cycles as usize / 2, NOP);
    }

    fn store(&mut self, register: u16, a_cycle_longer: bool) {
        if a_cycle_longer {
            self.code.extend([STA_ABSOLUTE, register as u8, 0]);
        } else {
            self.code.extend([STA_ZERO_PAGE, register as u8]);
        }
    }

    fn pass_to(&mut self, cycle: u32) {
        self.line += cycle / 76;
        self.cycle = cycle % 76;
    }
}

/// Returns the row of the screen that shows a scanline.
pub(crate) fn row(screen: &[u8], line: usize) -> &[u8] {
    &screen[(line - YSTART) * WIDTH..][..WIDTH]
}

/// Returns the runs of equal colour in a row: the end and the colour of each.
pub(crate) fn runs(screen: &[u8], line: usize) -> Vec<(usize, u8)> {
    let mut end = 0;
    let runs = row(screen, line).chunk_by(|a, b| a == b).map(|run| {
        end += run.len();
        (end, run[0])
    });
    runs.collect()
}

/// Returns the pixels of a row that have this colour.
pub(crate) fn pixels(screen: &[u8], line: usize, colour: u8) -> Vec<usize> {
    (0..WIDTH).filter(|&x| row(screen, line)[x] == colour).collect()
}
