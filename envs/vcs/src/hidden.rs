//! Frames whose pictures nobody has asked for: they are remembered by their beginnings, and run again if somebody does.

use crate::console::{Machine, RAM};
use crate::controllers::Inputs;
use crate::cpu::Cpu;
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
            tia: machine.tia.without_pictures(),
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
        machine.tia.restore_all_but_pictures(&self.tia);
        machine.cartridge.set_window(self.window);
        machine.inputs = self.inputs;
    }
}

/// For each of the two pictures the frame that should have drawn it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hidden([Option<FrameStart>; 2]);

impl Hidden {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    pub(crate) fn put(&mut self, picture: usize, start: FrameStart) {
        self.0[picture] = Some(start);
    }

    pub(crate) fn take(&mut self, picture: usize) -> Option<FrameStart> {
        self.0[picture].take()
    }
}
