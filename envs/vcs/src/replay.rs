//! Undrawn screens. The state at the start of an undrawn frame is kept, and the frame is replayed from it if its screen
//! is needed.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::cart::CartridgeState;
use crate::controllers::Inputs;
use crate::cpu::Cpu;
use crate::machine::{Machine, RAM};
use crate::riot::Riot;
use crate::tia::Tia;

/// The state of a console at the start of a frame, without the screens: enough to replay the frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FrameStart {
    cpu: Cpu,
    cycles: u32,
    open_bus: u8,
    #[serde(with = "BigArray")]
    ram: [u8; RAM],
    riot: Riot,
    tia: Tia,
    cartridge: CartridgeState,
    inputs: Inputs,
}

impl FrameStart {
    /// Captures the current state.
    pub(crate) fn capture(cpu: &Cpu, machine: &mut Machine) -> Self {
        Self {
            cpu: cpu.clone(),
            cycles: machine.cycles,
            open_bus: machine.open_bus,
            ram: machine.ram,
            riot: machine.riot.clone(),
            tia: machine.tia.clone_without_screens(),
            cartridge: machine.cartridge.state(),
            inputs: machine.inputs,
        }
    }

    /// Returns true if latches were unknown when the frame began.
    pub(crate) fn has_unknown_latches(&self) -> bool {
        self.tia.unknown_latches() != 0
    }

    /// Sets all latches of the start, which are then known.
    pub(crate) fn set_latches(&mut self, latches: u16) {
        self.tia.set_latches(latches);
    }

    /// Returns the same start for a console in which the frame is drawn on the screen `screen`.
    pub(crate) fn for_screen(&self, screen: usize) -> Self {
        let mut start = self.clone();
        start.tia.set_current_screen(1 - screen);
        start
    }

    /// Returns true if a deserialised start is valid for this machine, and its frame is drawn on the screen `screen`.
    pub(crate) fn fits(&self, machine: &Machine, screen: usize) -> bool {
        self.tia.current_screen() == 1 - screen
            && !self.tia.is_unfinished()
            && machine.tia.accepts(&self.tia)
            && Riot::accepts(&self.riot)
            && machine.cartridge.accepts_state(&self.cartridge)
    }

    /// Returns a copy of a deserialised start, with the state that is not serialised.
    pub(crate) fn refreshed(&self) -> Self {
        let mut start = self.clone();
        start.tia.refresh();
        start
    }

    pub(crate) fn restore(&self, cpu: &mut Cpu, machine: &mut Machine) {
        cpu.clone_from(&self.cpu);
        machine.cycles = self.cycles;
        machine.open_bus = self.open_bus;
        machine.ram = self.ram;
        machine.riot.clone_from(&self.riot);
        machine.tia.restore_all_but_screens(&self.tia);
        machine.cartridge.restore(&self.cartridge);
        machine.inputs = self.inputs;
    }
}

/// The contents of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// Nothing yet: the frame was not drawn. True if it covers the screen.
    Undrawn(bool),
    /// The frame, which covers the screen.
    Drawn,
    /// Other contents, which a replay of the frame would not draw.
    Other,
}

/// The last frame that was begun on a screen.
#[derive(Clone, Debug)]
struct Replay {
    start: FrameStart,
    shown: Shown,
}

impl Replay {
    fn is_undrawn(&self) -> bool {
        matches!(self.shown, Shown::Undrawn(_))
    }
}

/// The last frame of each of the two screens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replays([Option<Replay>; 2]);

impl Replays {
    /// Returns true if any screen is undrawn.
    pub(crate) fn has_undrawn(&self) -> bool {
        self.0.iter().flatten().any(Replay::is_undrawn)
    }

    /// Returns the start of the last frame that was begun on a screen.
    pub(crate) fn start(&self, screen: usize) -> Option<&FrameStart> {
        self.0[screen].as_ref().map(|replay| &replay.start)
    }

    /// Returns the start of the frame on a screen if the frame covers the screen, so that a replay draws all of it.
    pub(crate) fn covering_start(&self, screen: usize) -> Option<&FrameStart> {
        let replay = self.0[screen].as_ref()?;
        matches!(replay.shown, Shown::Undrawn(true) | Shown::Drawn).then_some(&replay.start)
    }

    /// Records that the screen is undrawn. `covers` is true if the frame covers it.
    pub(crate) fn set_undrawn(&mut self, screen: usize, start: FrameStart, covers: bool) {
        self.0[screen] = Some(Replay { start, shown: Shown::Undrawn(covers) });
    }

    /// Records that the screen is drawn and that the frame covers it.
    pub(crate) fn set_drawn(&mut self, screen: usize, start: FrameStart) {
        self.0[screen] = Some(Replay { start, shown: Shown::Drawn });
    }

    /// Records that the screen holds something that cannot be replayed.
    pub(crate) fn clear(&mut self, screen: usize) {
        self.0[screen] = None;
    }

    /// Returns the start of the frame that draws the screen if it is undrawn. The screen is then `Shown::Other`.
    pub(crate) fn take_undrawn(&mut self, screen: usize) -> Option<FrameStart> {
        let replay = self.0[screen].as_mut().filter(|replay| replay.is_undrawn())?;
        replay.shown = Shown::Other;
        Some(replay.start.clone())
    }

    /// Marks a drawn screen as undrawn. Returns false if its frame cannot be replayed.
    pub(crate) fn free(&mut self, screen: usize) -> bool {
        let drawn = self.0[screen].as_mut().filter(|replay| replay.shown == Shown::Drawn);
        drawn.map(|replay| replay.shown = Shown::Undrawn(true)).is_some()
    }
}
