//! The machine: CPU, TIA, RIOT, cartridge and controllers on one bus.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cart::Cartridge;
use crate::controllers::{Inputs, Wiring};
use crate::cpu::Cpu;
use crate::machine::{Machine, RAM};
use crate::mt19937::Mt19937;
use crate::replay::{FrameStart, Replays};
use crate::riot::Riot;
use crate::tia::{Drawing, Geometry, LINE, Tia};
use crate::translate::{Execution, Translation};

/// The seed of the generator that fills RAM at power-up.
pub const SYSTEM_SEED: u32 = 4753849;
/// A request for a frame ends after this many instructions, whatever the program does.
const INSTRUCTIONS_PER_REQUEST: u32 = 25_000;

/// The television system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TvFormat {
    /// 262 lines, 60 Hz.
    #[default]
    #[serde(rename = "NTSC")]
    Ntsc,
    /// 312 lines, 50 Hz.
    #[serde(rename = "PAL")]
    Pal,
    /// 312 lines, 50 Hz, eight colours.
    #[serde(rename = "SECAM")]
    Secam,
}

/// How a console is built for a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleOptions {
    /// The controllers.
    pub wiring: Wiring,
    /// The first visible scanline.
    pub ystart: u16,
    /// Number of visible scanlines under NTSC; the default of 210 becomes 250 under the other systems.
    pub height: u16,
    /// Whether HMOVE blanks the first eight pixels of a line, as the chip does. Off for four games.
    pub hmove_blanks: bool,
    /// The television system; `None` finds it out by running 60 frames.
    pub tv: Option<TvFormat>,
    /// How code is executed; makes no difference to what the console does.
    #[serde(default)]
    pub execution: Execution,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self {
            wiring: Wiring::default(),
            ystart: 34,
            height: DEFAULT_HEIGHT,
            hmove_blanks: true,
            tv: None,
            execution: Execution::default(),
        }
    }
}

/// Visible lines where the game does not say otherwise.
const DEFAULT_HEIGHT: u16 = 210;
const DEFAULT_HEIGHT_50_HZ: u16 = 250;

/// A snapshot that does not fit the console.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the snapshot belongs to another game or is damaged")]
pub struct ForeignSnapshot;

/// One Atari 2600 with a cartridge: all of its state, and nothing that does not change but the shared ROM image.
///
/// Cloning forks the machine; serialising it is the snapshot, for which no picture may be
/// [hidden](Self::run_frame_undrawn). Running cannot fail.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Console {
    cpu: Cpu,
    machine: Machine,
    random: Mt19937,
    tv: TvFormat,
    /// The native code of the cartridge's program, shared by all clones; `None` if everything is interpreted.
    #[serde(skip)]
    translation: Option<Arc<Translation>>,
    /// Where the pictures come from.
    #[serde(skip)]
    replays: Replays,
}

impl Console {
    /// Powers a console on: random RAM, detection of the television system, reset.
    pub fn new(cartridge: Cartridge, options: &ConsoleOptions) -> Self {
        let mut random = Mt19937::new(SYSTEM_SEED);
        let ram = std::array::from_fn(|_| random.next_u32() as u8);
        let mut riot = Riot::default();
        riot.reset(timer_start(&mut random));
        let translation = Translation::new(&cartridge, options.execution).map(Arc::new);
        let machine = Machine {
            cycles: 0,
            open_bus: 0,
            ram,
            riot,
            tia: Tia::new(geometry(options, options.tv.unwrap_or_default())),
            cartridge,
            wiring: options.wiring,
            inputs: Inputs::default(),
        };
        let mut console = Self {
            cpu: Cpu::default(),
            machine,
            random,
            tv: TvFormat::Ntsc,
            translation,
            replays: Replays::default(),
        };
        console.tv = options.tv.unwrap_or_else(|| console.detect_tv());
        console.machine.tia.set_geometry(geometry(options, console.tv));
        console.reset();
        console
    }

    /// Runs 60 frames; a game whose later ones are mostly longer than 285 lines was made for PAL.
    fn detect_tv(&mut self) -> TvFormat {
        const FRAMES: usize = 60;
        const SETTLED: usize = 30;
        const LONG: i32 = 285;
        self.reset();
        let mut long_frames = 0;
        for frame in 0..FRAMES {
            self.run_frame();
            let lines = self.machine.clock().wrapping_sub(self.machine.tia.frame_start()) / LINE;
            if frame >= SETTLED && lines > LONG {
                long_frames += 1;
            }
        }
        if long_frames >= SETTLED / 2 { TvFormat::Pal } else { TvFormat::Ntsc }
    }

    /// Resets every chip. RAM keeps its contents; the timer starts at another value each time.
    pub fn reset(&mut self) {
        self.replays = Replays::default();
        let machine = &mut self.machine;
        machine.rebase();
        machine.riot.reset(timer_start(&mut self.random));
        machine.tia.reset(machine.clock());
        machine.cartridge.reset(&mut self.random);
        self.cpu.reset(machine);
    }

    /// Runs until the program ends its frame, or for 25,000 instructions; a frame cut off like that goes on with the
    /// next request.
    pub fn run_frame(&mut self) {
        if !self.can_repeat() {
            self.draw_screens();
            self.request(Drawing::Spans);
            return self.replays.clear(self.machine.tia.current_screen());
        }
        let start = FrameStart::of(&self.cpu, &mut self.machine);
        self.request(Drawing::Lines);
        let screen = self.machine.tia.current_screen();
        let beneath = self.replays.take_undrawn(screen);
        if self.machine.tia.covers_screen() {
            self.replays.set_drawn(screen, start);
        } else {
            self.draw_over(beneath, &start);
        }
    }

    /// Like [`run_frame`](Self::run_frame), but the picture is not drawn: for frames that nobody looks at, such as the
    /// first ones of a frame skip. If one is wanted after all, [`draw_screen`](Self::draw_screen) makes it.
    pub fn run_frame_undrawn(&mut self) {
        if !self.can_repeat() {
            return self.run_frame();
        }
        let start = FrameStart::of(&self.cpu, &mut self.machine);
        self.request(Drawing::CollisionsOnly);
        let tia = &self.machine.tia;
        let screen = tia.current_screen();
        let beneath = self.replays.take_undrawn(screen);
        if tia.is_unfinished() || beneath.is_some() && !tia.covers_screen() {
            self.draw_over(beneath, &start);
        } else {
            self.replays.set_undrawn(screen, start);
        }
    }

    /// Whether the next frame can be run again from its beginning.
    fn can_repeat(&self) -> bool {
        !self.machine.tia.is_unfinished() && self.machine.cartridge.is_stateless()
    }

    /// Draws the picture of the last frame, if that is not there.
    pub fn draw_screen(&mut self) {
        self.draw(self.machine.tia.current_screen());
    }

    /// Draws all pictures that are not there: the last one, and the one before it, which a short frame would show again.
    pub fn draw_screens(&mut self) {
        for screen in [0, 1] {
            self.draw(screen);
        }
    }

    /// Draws a picture, if that is not there.
    fn draw(&mut self, screen: usize) {
        if let Some(start) = self.replays.take_undrawn(screen)
            && self.replay(&start)
        {
            self.replays.set_drawn(screen, start);
        }
    }

    /// Whether pictures are not there.
    pub fn has_undrawn_screens(&self) -> bool {
        self.replays.has_undrawn()
    }

    /// Gives up the memory of pictures, which is half of a console's. They count as [unseen](Self::run_frame_undrawn) then. Those
    /// that could not be drawn again are kept.
    pub fn free_screens(&mut self) {
        for screen in [0, 1] {
            if self.replays.free(screen) {
                self.machine.tia.free_screen(screen);
            }
        }
    }

    /// Draws the frame that began at `start`, and before it the one whose picture shows through where it drew nothing.
    fn draw_over(&mut self, beneath: Option<FrameStart>, start: &FrameStart) {
        if let Some(beneath) = beneath {
            self.replay(&beneath);
        }
        start.restore(&mut self.cpu, &mut self.machine);
        self.request(Drawing::Spans);
        self.replays.clear(self.machine.tia.current_screen());
    }

    /// Runs a former frame again, for its picture. Returns whether it has drawn all of that.
    fn replay(&mut self, start: &FrameStart) -> bool {
        let now = FrameStart::of(&self.cpu, &mut self.machine);
        start.restore(&mut self.cpu, &mut self.machine);
        self.request(Drawing::Spans);
        let covers = self.machine.tia.covers_screen();
        now.restore(&mut self.cpu, &mut self.machine);
        covers
    }

    /// A frame that is not drawn by pieces and is cut off within the picture has to be run again.
    fn request(&mut self, drawing: Drawing) {
        let machine = &mut self.machine;
        if machine.tia.is_unfinished() {
            machine.tia.resume_frame();
        } else {
            let phase = machine.tia.horizontal(machine.clock());
            machine.rebase();
            machine.tia.start_frame(phase, drawing);
        }
        match &self.translation {
            Some(translation) => translation.run(&mut self.cpu, machine, INSTRUCTIONS_PER_REQUEST),
            None => self.cpu.run(machine, INSTRUCTIONS_PER_REQUEST),
        }
        machine.tia.end_request(machine.clock(), drawing == Drawing::Spans);
    }

    /// The 128 bytes of RAM; byte `i` is at address `$80 + i`.
    pub fn ram(&self) -> &[u8; RAM] {
        &self.machine.ram
    }

    /// RAM, to be changed from outside.
    pub fn ram_mut(&mut self) -> &mut [u8; RAM] {
        &mut self.machine.ram
    }

    /// Leaves a byte on the bus, as one does who reads memory through it.
    pub fn drive_bus(&mut self, byte: u8) {
        self.machine.open_bus = byte;
    }

    /// What reading all of RAM through the bus leaves there: the last byte.
    pub fn read_out_ram(&mut self) {
        self.drive_bus(self.machine.ram[RAM - 1]);
    }

    /// What the CPU would read from the cartridge at `address`, without side effects.
    pub fn peek_cartridge(&self, address: u16) -> u8 {
        self.machine.cartridge.peek(address)
    }

    /// The picture: `height() * 160` palette bytes, row after row. After an [unseen](Self::run_frame_undrawn) frame, or when it
    /// was [forgotten](Self::free_screens), it is not there before [`draw_screen`](Self::draw_screen).
    pub fn screen(&self) -> &[u8] {
        self.machine.tia.screen()
    }

    /// The other picture: the one of the frame before, if both were drawn and the last one did not go on with a frame that
    /// was cut off.
    pub fn previous_screen(&self) -> &[u8] {
        self.machine.tia.previous_screen()
    }

    /// Whether the last request left its frame unfinished.
    pub fn is_within_frame(&self) -> bool {
        self.machine.tia.is_unfinished()
    }

    /// Number of rows of the picture.
    pub fn height(&self) -> usize {
        self.machine.tia.height()
    }

    /// The television system that was detected or chosen.
    pub fn tv(&self) -> TvFormat {
        self.tv
    }

    /// The number of pieces of code that have been compiled to native code, for this console and all its clones.
    pub fn compiled_regions(&self) -> usize {
        self.translation.as_ref().map_or(0, |translation| translation.compiled_regions())
    }

    /// The number of instructions that native code has executed, for this console and all its clones.
    #[cfg(test)]
    pub(crate) fn natively_executed(&self) -> u64 {
        self.translation.as_ref().map_or(0, |translation| translation.executed())
    }

    /// The registers of the CPU.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// The cartridge.
    pub fn cartridge(&self) -> &Cartridge {
        &self.machine.cartridge
    }

    /// What the players hold. It stays until the next call.
    pub fn set_inputs(&mut self, inputs: Inputs) {
        self.machine.inputs = inputs;
    }

    /// Puts in place a state that was serialised. The ROM image is this console's; a state of another game, or a
    /// damaged one, is refused and changes nothing.
    pub fn restore(&mut self, mut state: Self) -> Result<(), ForeignSnapshot> {
        let (mine, theirs) = (&self.machine, &mut state.machine);
        if self.tv != state.tv
            || !mine.tia.accepts(&theirs.tia)
            || !Riot::accepts(&theirs.riot)
            || !mine.cartridge.accepts(&theirs.cartridge)
            || mine.wiring != theirs.wiring
        {
            return Err(ForeignSnapshot);
        }
        theirs.cartridge.attach(&mine.cartridge);
        theirs.tia.refresh();
        state.translation.clone_from(&self.translation);
        *self = state;
        Ok(())
    }
}

/// The timer's value after a reset: a different one for every reset.
fn timer_start(random: &mut Mt19937) -> u8 {
    25 + (random.next_u32() % 75) as u8
}

fn geometry(options: &ConsoleOptions, tv: TvFormat) -> Geometry {
    const LAST_LINE: i32 = 290;
    const LAST_LINE_50_HZ: i32 = 342;
    let fifty_hertz = tv != TvFormat::Ntsc;
    let height =
        if fifty_hertz && options.height == DEFAULT_HEIGHT { DEFAULT_HEIGHT_50_HZ } else { options.height };
    Geometry {
        ystart: options.ystart.into(),
        height: height.into(),
        last_line: if fifty_hertz { LAST_LINE_50_HZ } else { LAST_LINE },
        hmove_blanks: options.hmove_blanks,
        colour_loss: tv == TvFormat::Pal,
    }
}
