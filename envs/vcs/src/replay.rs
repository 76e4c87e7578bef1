//! Undrawn screens. The state at the start of an undrawn frame is kept, and the frame is replayed from it if its screen
//! is needed.

use crate::cart::CartridgeState;
use crate::controllers::Inputs;
use crate::cpu::Cpu;
use crate::machine::{Machine, RAM};
use crate::riot::Riot;
use crate::tia::Tia;

/// The state of a console at the start of a frame, without the screens: enough to replay the frame.
#[derive(Clone, Debug)]
pub(crate) struct FrameStart {
    cpu: Cpu,
    cycles: u32,
    open_bus: u8,
    ram: [u8; RAM],
    riot: Riot,
    tia: Tia,
    cartridge: CartridgeState,
    inputs: Inputs,
}

impl FrameStart {
    pub(crate) fn of(cpu: &Cpu, machine: &mut Machine) -> Self {
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

    /// Returns true if latches were open when the frame began.
    pub(crate) fn has_open_latches(&self) -> bool {
        self.tia.open_latches() != 0
    }

    /// Sets all latches of the start.
    pub(crate) fn settle_latches(&mut self, latches: u16) {
        self.tia.settle_latches(latches);
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
    /// Nothing yet: the frame covers the screen but was not drawn.
    Undrawn,
    /// The frame.
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

/// The last frame of each of the two screens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replays([Option<Replay>; 2]);

impl Replays {
    /// Returns true if any screen is undrawn.
    pub(crate) fn has_undrawn(&self) -> bool {
        self.0.iter().flatten().any(|replay| replay.shown == Shown::Undrawn)
    }

    /// Returns the start of the last frame that was begun on a screen.
    pub(crate) fn start(&self, screen: usize) -> Option<&FrameStart> {
        self.0[screen].as_ref().map(|replay| &replay.start)
    }

    /// Records that the screen is undrawn and that the frame covers it.
    pub(crate) fn set_undrawn(&mut self, screen: usize, start: FrameStart) {
        self.0[screen] = Some(Replay { start, shown: Shown::Undrawn });
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
        let replay = self.0[screen].as_mut().filter(|replay| replay.shown == Shown::Undrawn)?;
        replay.shown = Shown::Other;
        Some(replay.start.clone())
    }

    /// Marks a drawn screen as undrawn. Returns false if its frame cannot be replayed.
    pub(crate) fn free(&mut self, screen: usize) -> bool {
        let drawn = self.0[screen].as_mut().filter(|replay| replay.shown == Shown::Drawn);
        drawn.map(|replay| replay.shown = Shown::Undrawn).is_some()
    }
}
