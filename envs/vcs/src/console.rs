//! The console: power-up, and access to its state.

mod former;
mod frames;
#[cfg(test)]
mod latch_tests;
mod latches;
mod options;
mod saved;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cart::Cartridge;
use crate::controllers::Inputs;
use crate::cpu::Cpu;
use crate::latches_read::LatchesRead;
use crate::machine::{Machine, RAM};
use crate::mt19937::Mt19937;
use crate::replay::Replays;
use crate::riot::Riot;
use crate::tia::{LINE, SoundRegisters, Tia};
#[cfg(not(target_family = "wasm"))]
use crate::translate::Translation;
#[cfg(target_family = "wasm")]
use crate::untranslated::Translation;
pub use former::FormerScreens;
use options::geometry;
pub use options::{ConsoleOptions, TvFormat};
pub use saved::SavedScreens;

/// Seed of the generator that fills RAM at power-up.
pub const SYSTEM_SEED: u32 = 4753849;

/// Error for a snapshot that does not fit the console.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the snapshot belongs to another game or is damaged")]
pub struct ForeignSnapshot;

/// An Atari 2600 with a cartridge: the complete mutable state, plus shared references to the ROM image and
/// its native code.
///
/// Cloning forks the machine. Serialising it gives a snapshot; call [`draw_screens`](Self::draw_screens)
/// first if [`has_undrawn_screens`](Self::has_undrawn_screens) returns true, since the snapshot does not hold
/// the data to draw them later. A deserialised console lacks the cartridge's image: it can only be
/// [restored](Self::restore) to another console. Running any other never fails.
///
/// # Examples
///
/// ```
/// use vcs::{Cartridge, Console, ConsoleOptions, TvFormat};
///
/// // A program that turns the screen yellow: it ends a frame with VSYNC, waits for 256 lines, and repeats.
/// let program = [
///     0xA9, 0x1E, 0x85, 0x09, // LDA #$1E, STA COLUBK
///     0xA9, 0x02, 0x85, 0x00, 0x85, 0x02, 0x85, 0x02, // LDA #2, STA VSYNC, STA WSYNC, STA WSYNC
///     0xA9, 0x00, 0x85, 0x00, 0xA2, 0x00, // LDA #0, STA VSYNC, LDX #0
///     0x85, 0x02, 0xCA, 0xD0, 0xFB, // STA WSYNC, DEX, BNE to the STA
///     0x4C, 0x04, 0xF0, // JMP $F004
/// ];
/// let mut rom = vec![0xEA; 4096];
/// rom[..program.len()].copy_from_slice(&program);
/// rom[0xFFC..0xFFE].copy_from_slice(&[0x00, 0xF0]); // The reset vector.
///
/// let options = ConsoleOptions { tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() };
/// let mut console = Console::new(Cartridge::detect(rom.into())?, &options);
/// for _ in 0..3 {
///     console.run_frame();
/// }
/// assert_eq!(console.screen().len(), console.height() * 160);
/// assert!(console.screen().iter().all(|&pixel| pixel == 0x1E));
///
/// // A clone runs on independently.
/// let mut fork = console.clone();
/// fork.run_frame();
/// assert!(fork.screen() == console.screen());
/// # Ok::<(), vcs::CartridgeError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Console {
    cpu: Cpu,
    machine: Machine,
    random: Mt19937,
    tv: TvFormat,
    /// The native code of the program, shared with all clones. `None` if all code is interpreted.
    #[serde(skip)]
    translation: Option<Arc<Translation>>,
    /// The last frames of the two screens.
    #[serde(skip)]
    replays: Replays,
    /// The screens from before a restored state, while they are shown.
    #[serde(skip)]
    former: Option<FormerScreens>,
    #[serde(skip)]
    latches_read: LatchesRead,
}

impl Console {
    /// Powers on a console: fills RAM with random bytes, detects the television system and resets.
    pub fn new(cartridge: Cartridge, options: &ConsoleOptions) -> Self {
        let translation = Translation::new(&cartridge, options.execution).map(Arc::new);
        Self::power_on(cartridge, translation, options, SYSTEM_SEED)
    }

    /// Powers on another console with a copy of the cartridge. Its generator has another seed than that of
    /// [`new`](Self::new). Both share the native code.
    #[must_use]
    pub fn power_on_with_seed(&self, options: &ConsoleOptions, seed: u32) -> Self {
        Self::power_on(self.machine.cartridge.clone(), self.translation.clone(), options, seed)
    }

    fn power_on(
        cartridge: Cartridge,
        translation: Option<Arc<Translation>>,
        options: &ConsoleOptions,
        seed: u32,
    ) -> Self {
        let mut random = Mt19937::new(seed);
        let ram = std::array::from_fn(|_| random.next_u32() as u8);
        let mut riot = Riot::default();
        riot.reset(timer_start(&mut random));
        let machine = Machine {
            cycles: 0,
            open_bus: 0,
            ram,
            riot,
            tia: Tia::new(geometry(options, options.tv.unwrap_or_default())),
            cartridge,
            wiring: options.wiring,
            inputs: Inputs::default(),
            pins_set_from: Default::default(),
        };
        let mut console = Self {
            cpu: Cpu::default(),
            machine,
            random,
            tv: TvFormat::Ntsc,
            translation,
            replays: Replays::default(),
            former: None,
            latches_read: LatchesRead::default(),
        };
        console.tv = options.tv.unwrap_or_else(|| console.detect_tv());
        console.machine.tia.set_geometry(geometry(options, console.tv));
        console.reset();
        console
    }

    /// Runs 60 frames and counts those of the second half that are longer than 285 lines. Returns PAL if at
    /// least half of them are.
    fn detect_tv(&mut self) -> TvFormat {
        const FRAMES: usize = 60;
        const WARM_UP: usize = 30;
        const LONG: i32 = 285;
        self.reset();
        let mut long_frames = 0;
        for frame in 0..FRAMES {
            self.run_frame();
            let lines = self.machine.clock().wrapping_sub(self.machine.tia.frame_start()) / LINE;
            if frame >= WARM_UP && lines > LONG {
                long_frames += 1;
            }
        }
        if long_frames >= WARM_UP / 2 { TvFormat::Pal } else { TvFormat::Ntsc }
    }

    /// Resets every chip except for the sound. RAM keeps its contents, and the timer starts at a new random value.
    pub fn reset(&mut self) {
        self.replays = Replays::default();
        self.former = None;
        restart(&mut self.cpu, &mut self.machine, &mut self.random);
    }

    /// Like [`reset`](Self::reset), but draws random numbers from another generator.
    pub fn reset_with(&mut self, random: &mut Mt19937) {
        self.replays = Replays::default();
        self.former = None;
        restart(&mut self.cpu, &mut self.machine, random);
    }

    /// Returns the 128 bytes of RAM. Byte `i` is at address `$80 + i`.
    pub fn ram(&self) -> &[u8; RAM] {
        &self.machine.ram
    }

    /// Returns the 128 bytes of RAM, to change them.
    pub fn ram_mut(&mut self) -> &mut [u8; RAM] {
        &mut self.machine.ram
    }

    /// Leaves a byte on the bus, like a read of memory from outside.
    pub fn drive_bus(&mut self, byte: u8) {
        self.machine.open_bus = byte;
    }

    /// Leaves the last byte of RAM on the bus, like a read of all of RAM from outside.
    pub fn read_out_ram(&mut self) {
        self.drive_bus(self.machine.ram[RAM - 1]);
    }

    /// Returns the byte that the CPU would read from the cartridge at `address`, without side effects.
    pub fn peek_cartridge(&self, address: u16) -> u8 {
        self.machine.cartridge.peek(address)
    }

    /// Returns the screen: `height() * 160` palette bytes, row by row. Its contents are unspecified after
    /// [`run_frame_undrawn`](Self::run_frame_undrawn), and it may be empty after [`free_screens`](Self::free_screens),
    /// until [`draw_screen`](Self::draw_screen) is called.
    pub fn screen(&self) -> &[u8] {
        self.former.as_ref().map_or_else(|| self.machine.tia.screen(), FormerScreens::current)
    }

    /// Returns the other screen. It shows the previous frame, provided that both were drawn and that the last call of
    /// [`run_frame`](Self::run_frame) did not continue a frame that was cut off.
    pub fn previous_screen(&self) -> &[u8] {
        self.former.as_ref().map_or_else(|| self.machine.tia.previous_screen(), FormerScreens::previous)
    }

    /// Returns true if the last frame was cut off before its end.
    pub fn is_within_frame(&self) -> bool {
        self.machine.tia.is_unfinished()
    }

    /// Returns the number of rows of the screen.
    pub fn height(&self) -> usize {
        self.machine.tia.height()
    }

    /// Returns the television system that was detected or chosen.
    pub fn tv(&self) -> TvFormat {
        self.tv
    }

    /// Returns the number of regions of the program that have been compiled to native code, by this console and all its
    /// clones.
    pub fn compiled_regions(&self) -> usize {
        self.translation.as_ref().map_or(0, |translation| translation.compiled_regions())
    }

    /// The number of CPU cycles executed by native code, in this console and all its clones.
    #[cfg(test)]
    pub(crate) fn natively_executed(&self) -> u64 {
        self.translation.as_ref().map_or(0, |translation| translation.executed())
    }

    /// Advances the time while the CPU does nothing.
    #[cfg(test)]
    pub(crate) fn pass_time(&mut self, cycles: u32) {
        crate::cpu::Bus::tick(&mut self.machine, cycles);
    }

    /// Returns the last values that the program has written to the sound registers. They are not part of a snapshot,
    /// and restoring one does not change them.
    pub fn sound_registers(&self) -> SoundRegisters {
        self.machine.tia.sound()
    }

    /// Sets the sound registers.
    pub fn set_sound_registers(&mut self, registers: SoundRegisters) {
        self.machine.tia.set_sound(registers);
    }

    /// Returns the CPU's registers.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// Returns the cartridge.
    pub fn cartridge(&self) -> &Cartridge {
        &self.machine.cartridge
    }

    /// Sets the state of controllers and switches, which lasts until the next call.
    pub fn set_inputs(&mut self, inputs: Inputs) {
        self.machine.inputs = inputs;
    }

    /// Puts the console into a state that [`restore`](Self::restore) refuses: drawing player 0 panics.
    #[cfg(feature = "testing")]
    pub fn damage(&mut self) {
        self.machine.tia.damage();
    }

    /// Restores a deserialised state and keeps this console's ROM image. A state that is damaged, or that belongs to
    /// a console with another bank switching scheme, wiring or picture, is an error and leaves the console unchanged. A
    /// state does not identify the image: the caller must know that it belongs to the same game.
    pub fn restore(&mut self, state: Self) -> Result<(), ForeignSnapshot> {
        if !self.accepts(&state) || !state.machine.tia.has_screens() {
            return Err(ForeignSnapshot);
        }
        self.adopt(state);
        Ok(())
    }

    /// Returns true if a deserialised state is valid for this console, apart from the screens.
    fn accepts(&self, state: &Self) -> bool {
        let (mine, theirs) = (&self.machine, &state.machine);
        self.tv == state.tv
            && mine.tia.accepts(&theirs.tia)
            && Riot::accepts(&theirs.riot)
            && mine.cartridge.accepts(&theirs.cartridge)
            && mine.wiring == theirs.wiring
    }

    /// Continues with a state that this console [accepts](Self::accepts).
    fn adopt(&mut self, mut state: Self) {
        state.machine.cartridge.attach(&self.machine.cartridge);
        state.machine.tia.refresh();
        state.machine.tia.set_sound(self.sound_registers());
        state.translation.clone_from(&self.translation);
        state.latches_read = self.latches_read;
        *self = state;
    }
}

/// Resets the chips except for the sound.
fn restart(cpu: &mut Cpu, machine: &mut Machine, random: &mut Mt19937) {
    machine.rebase();
    machine.riot.reset(timer_start(random));
    machine.tia.reset(machine.clock());
    machine.cartridge.reset(random);
    cpu.reset(machine);
}

/// Draws the timer's value after a reset, which differs from reset to reset.
fn timer_start(random: &mut Mt19937) -> u8 {
    25 + (random.next_u32() % 75) as u8
}

#[cfg(test)]
mod tests {
    use super::{Console, ConsoleOptions, ForeignSnapshot, TvFormat};
    use crate::cpu::Bus;
    use crate::tia::registers::WSYNC;
    use crate::{Cartridge, Execution};

    fn console() -> Console {
        let mut rom = vec![0xEA; 4096];
        // LDA $F3FF,X, JMP $F000.
        rom[..6].copy_from_slice(&[0xBD, 0xFF, 0xF3, 0x4C, 0x00, 0xF0]);
        rom[0xFFC..0xFFE].copy_from_slice(&[0x00, 0xF0]);
        let cartridge = Cartridge::detect(rom.into()).expect("the image has 4 KB");
        let (tv, execution) = (Some(TvFormat::Ntsc), Execution::Eager);
        Console::new(cartridge, &ConsoleOptions { tv, execution, ..ConsoleOptions::default() })
    }

    /// Otherwise native code would read and run code beyond the end of the image.
    #[test]
    fn a_state_whose_bank_ends_beyond_the_image_is_refused() {
        let mut console = console();
        let mut damaged = console.clone();
        damaged.machine.cartridge.window[0] = 3072;
        assert_eq!(console.restore(damaged.clone()), Err(ForeignSnapshot));
        damaged.run_frame();
        assert_eq!(damaged.compiled_regions(), 0, "code of a unit that is not in the image");
        console.run_frame();
        assert!(console.restore(console.clone()).is_ok());
    }

    #[test]
    fn the_time_may_wrap_while_waiting_for_the_next_line() {
        let mut console = console();
        let machine = &mut console.machine;
        machine.cycles = u32::MAX - 5;
        machine.write(WSYNC, 0);
        assert_eq!(machine.cycles, 0);
    }
}
