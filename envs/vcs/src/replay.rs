//! Frames whose pictures nobody has asked for, or nobody looks at any more: they are remembered by their beginnings, and run
//! again if somebody does.

use crate::controllers::Inputs;
use crate::cpu::Cpu;
use crate::machine::{Machine, RAM};
use crate::riot::Riot;
use crate::tia::Tia;

/// The state of a console at the beginning of a frame, but for pictures and for what a cartridge's electronics hold:
/// all that is needed to run the frame again.
#[derive(Clone, Debug)]
pub(crate) struct FrameStart {
    cpu: Cpu,
    cycles: u32,
    open_bus: u8,
    ram: [u8; RAM],
    riot: Riot,
    tia: Tia,
    window: [u32; 4],
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
            window: machine.cartridge.window,
            inputs: machine.inputs,
        }
    }

    pub(crate) fn restore(&self, cpu: &mut Cpu, machine: &mut Machine) {
        cpu.clone_from(&self.cpu);
        machine.cycles = self.cycles;
        machine.open_bus = self.open_bus;
        machine.ram = self.ram;
        machine.riot.clone_from(&self.riot);
        machine.tia.restore_all_but_screens(&self.tia);
        machine.cartridge.set_window(self.window);
        machine.inputs = self.inputs;
    }
}

/// A frame that can be run again, and whether its picture is there.
#[derive(Clone, Debug)]
struct Replay {
    start: FrameStart,
    drawn: bool,
}

/// For each of the two pictures the frame that drew all of it, or should have drawn it; none if that cannot be run again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replays([Option<Replay>; 2]);

impl Replays {
    /// Whether a picture is not there.
    pub(crate) fn has_undrawn(&self) -> bool {
        self.0.iter().flatten().any(|replay| !replay.drawn)
    }

    /// A picture is to be had from this frame only.
    pub(crate) fn set_undrawn(&mut self, screen: usize, start: FrameStart) {
        self.0[screen] = Some(Replay { start, drawn: false });
    }

    /// A picture was drawn by this frame, all of it.
    pub(crate) fn set_drawn(&mut self, screen: usize, start: FrameStart) {
        self.0[screen] = Some(Replay { start, drawn: true });
    }

    /// A picture has been drawn by something that cannot be run again.
    pub(crate) fn clear(&mut self, screen: usize) {
        self.0[screen] = None;
    }

    /// The frame that has to be run to have a picture.
    pub(crate) fn take_undrawn(&mut self, screen: usize) -> Option<FrameStart> {
        self.0[screen].take_if(|replay| !replay.drawn).map(|replay| replay.start)
    }

    /// Hides a picture that is there, if it can be had again. Returns whether.
    pub(crate) fn free(&mut self, screen: usize) -> bool {
        let drawn = self.0[screen].as_mut().filter(|replay| replay.drawn);
        drawn.map(|replay| replay.drawn = false).is_some()
    }
}
