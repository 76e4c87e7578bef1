//! The sound of the TIA: two equal channels, each with three registers.
//!
//! # Hardware
//!
//! Both channels are clocked twice per scanline, at about 31.4 kHz. `AUDFx` divides this clock by 1 to 32. Each
//! remaining clock can step two shift registers:
//!
//! ```text
//!              +------------------+          +----------------------------+
//!   clock ---> | 5 bits: noise of |  -----> | 4 bits, whose oldest one is | ---> level x AUDVx
//!   / AUDFx+1  | 31 clocks        |  clock, | the level of the channel    |
//!              +------------------+  input  +-----------------------------+
//! ```
//!
//! `AUDCx` selects the [clock](Clock) of the four bits and their [input](Input). The Stella Programmer's Guide names
//! the sixteen results, such as "5 bit poly -> div 2". The output is the sum of both channels.
//!
//! # Samples
//!
//! ale-py generates samples after a frame, from the last values of the registers in that frame. A reset of the console
//! affects neither the registers nor the state of the channels.

use std::mem::offset_of;

use serde::{Deserialize, Serialize};

use super::registers::{AUDC0, AUDF0, AUDV0};

/// The number of registers: AUDC0, AUDC1, AUDF0, AUDF1, AUDV0 and AUDV1, at adjacent addresses.
const REGISTERS: usize = 6;
const CHANNELS: usize = 2;

/// The last bytes that the program has written to the sound registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoundRegisters([u8; REGISTERS]);

impl SoundRegisters {
    /// Returns the offset of the register at an address of the TIA, AUDC0 to AUDV1.
    pub(super) fn offset(address: u16) -> usize {
        offset_of!(Self, 0) + usize::from(address - AUDC0)
    }

    /// Writes the register at an address of the TIA, AUDC0 to AUDV1.
    pub(super) fn write(&mut self, address: u16, value: u8) {
        self.0[usize::from(address - AUDC0)] = value;
    }

    /// Returns the control, the divisor of the clock less 1, and the volume of a channel.
    fn of_channel(self, channel: usize) -> [u8; 3] {
        let read = |first: u16, bits: u8| self.0[usize::from(first - AUDC0) + channel] & bits;
        [read(AUDC0, 0x0F), read(AUDF0, 0x1F), read(AUDV0, 0x0F)]
    }
}

/// The generator of samples. Create a silent one with `default`.
///
/// ```
/// use vcs::{SoundGenerator, SoundRegisters};
///
/// let mut samples = [0; 512];
/// SoundGenerator::default().generate(SoundRegisters::default(), &mut samples);
/// assert_eq!(samples, [SoundGenerator::SILENCE; 512]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoundGenerator([Channel; CHANNELS]);

impl SoundGenerator {
    /// The sample of silence.
    pub const SILENCE: u8 = 128;
    /// The increase of a sample for each step of the volume. The loudest sample is 248.
    const STEP: u8 = 4;

    /// Continues the sound: writes one sample for each clock of the channels.
    pub fn generate(&mut self, registers: SoundRegisters, samples: &mut [u8]) {
        samples.fill(Self::SILENCE);
        for (index, channel) in self.0.iter_mut().enumerate() {
            let [control, divisor, volume] = registers.of_channel(index);
            let mode = MODES[usize::from(control)];
            for sample in &mut *samples {
                channel.clock(mode, divisor);
                if channel.is_high() {
                    *sample += Self::STEP * volume;
                }
            }
        }
    }
}

/// The clocks that step the four bits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// Every clock.
    Every,
    /// Two of 31 clocks, at distances of 13 and 18: those that leave `x1000` in the five bits.
    TwoOf31,
    /// The clocks that leave a 1 at the end of the five bits.
    Noise,
}

/// The new bit of the four bits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Always 1: a constant level, which programs vary by the volume.
    One,
    /// Noise of 15 steps: the sum of the two oldest bits, modulo 2.
    Noise4,
    /// The inverse of the newest bit, which divides by 2.
    Half,
    /// The bit that the five bits have shifted out.
    Noise5,
    /// The oldest of the five bits.
    LastOfNoise5,
    /// Like `Noise5`, but the five bits and the four bits form one register of nine bits: noise of 511 steps.
    Noise9,
    /// A pattern of six steps; the older bits are inverted as they move.
    Sixth,
}

/// What `AUDCx` selects.
type Mode = (Clock, Input);

const MODES: [Mode; 16] = {
    use Clock::{Every, Noise, TwoOf31};
    use Input::{Half, LastOfNoise5, Noise4, Noise5, Noise9, One, Sixth};
    [
        (Every, One),
        (Every, Noise4),
        (TwoOf31, Noise4),
        (Noise, Noise4),
        (Every, Half),
        (Every, Half),
        (TwoOf31, Half),
        (Noise, Half),
        (Every, Noise9),
        (Every, Noise5),
        (TwoOf31, LastOfNoise5),
        (Every, One),
        (Every, Sixth),
        (Every, Sixth),
        (TwoOf31, Sixth),
        (Noise, Sixth),
    ]
};

/// The state of a channel. Bit 0 of the shift registers is the newest one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Channel {
    /// Clocks since the last one that was not divided away.
    divided: u8,
    four: u8,
    five: u8,
}

impl Default for Channel {
    fn default() -> Self {
        Self { divided: 0, four: 1, five: 1 }
    }
}

impl Channel {
    fn is_high(&self) -> bool {
        self.four & 0b1000 != 0
    }

    fn clock(&mut self, mode: Mode, divisor: u8) {
        if self.divided < divisor {
            self.divided += 1;
        } else {
            self.divided = 0;
            self.step(mode);
        }
    }

    fn step(&mut self, (clock, input): Mode) {
        let shifted_out = self.five >> 4;
        if clock != Clock::Every || matches!(input, Input::Noise5 | Input::Noise9) {
            self.step_five(input == Input::Noise9);
        }
        let is_clocked = match clock {
            Clock::Every => true,
            Clock::TwoOf31 => self.five & 0b1111 == 0b1000,
            Clock::Noise => self.five >> 4 == 1,
        };
        if is_clocked {
            self.step_four(input, shifted_out);
        }
    }

    /// Steps the five bits. A register of zeros, which would never change, takes a 1.
    fn step_five(&mut self, with_four: bool) {
        let (other, is_zero) = if with_four {
            (self.four >> 3, self.five | self.four == 0)
        } else {
            (self.five >> 2 & 1, self.five == 0)
        };
        let new = self.five >> 4 ^ other | u8::from(is_zero);
        self.five = self.five << 1 & 0b1_1111 | new;
    }

    fn step_four(&mut self, input: Input, shifted_out: u8) {
        let four = self.four;
        let new = match input {
            Input::One => 1,
            Input::Noise4 => four >> 3 ^ four >> 2 & 1 | u8::from(four == 0),
            Input::Half => !four & 1,
            Input::Noise5 | Input::Noise9 => shifted_out,
            Input::LastOfNoise5 => self.five >> 4,
            Input::Sixth => u8::from(four & 0b0100 == 0 && four & 0b0011 != 0),
        };
        let moved = if input == Input::Sixth { !four } else { four };
        self.four = moved << 1 & 0b1110 | new;
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::{AUDC0, AUDC1, AUDF0, AUDF1, AUDV0, AUDV1};
    use super::{SoundGenerator, SoundRegisters};

    /// The clocks of a test: at least two periods of each mode after `START`.
    const CLOCKS: usize = 4096;
    /// By then each mode has left the states in which no sound remains.
    const START: usize = 1024;

    fn registers(values: &[(u16, u8)]) -> SoundRegisters {
        let mut registers = SoundRegisters::default();
        for &(address, value) in values {
            registers.write(address, value);
        }
        registers
    }

    fn samples(values: &[(u16, u8)]) -> Vec<u8> {
        let mut samples = vec![0; CLOCKS];
        SoundGenerator::default().generate(registers(values), &mut samples);
        samples
    }

    /// Returns the levels of channel 0.
    fn levels(control: u8, divisor: u8) -> Vec<bool> {
        let values = [(AUDC0, control), (AUDF0, divisor), (AUDV0, 1)];
        samples(&values)[START..].iter().map(|&sample| sample > SoundGenerator::SILENCE).collect()
    }

    fn period(levels: &[bool]) -> usize {
        (1..levels.len()).find(|&period| levels[period..] == levels[..levels.len() - period]).unwrap()
    }

    /// Returns the lengths of runs of equal levels, without the first and the last one, sorted.
    fn run_lengths(levels: &[bool]) -> Vec<usize> {
        let mut lengths: Vec<usize> = levels.chunk_by(|a, b| a == b).map(<[bool]>::len).collect();
        lengths.pop();
        lengths.remove(0);
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// The Stella Programmer's Guide lists the sounds by `AUDCx`. The periods follow from its names: "4 bit poly" has
    /// 15 steps, "5 bit poly" 31, "9 bit poly" 511.
    #[test]
    fn periods_are_those_of_the_programmers_guide() {
        let expected = [
            (0x0, "set to 1", 1),
            (0x1, "4 bit poly", 15),
            (0x2, "div 15 -> 4 bit poly", 31 * 15),
            (0x3, "5 bit poly -> 4 bit poly", 31 * 15),
            (0x4, "div 2: pure tone", 2),
            (0x5, "div 2: pure tone", 2),
            (0x6, "div 31: pure tone", 31),
            (0x7, "5 bit poly -> div 2", 31),
            (0x8, "9 bit poly (white noise)", 511),
            (0x9, "5 bit poly", 31),
            (0xA, "div 31: pure tone", 31),
            (0xB, "set last 4 bits to 1", 1),
            (0xC, "div 6: pure tone", 6),
            (0xD, "div 6: pure tone", 6),
            (0xE, "div 93: pure tone", 93),
            (0xF, "5 bit poly div 6", 93),
        ];
        for (control, name, clocks) in expected {
            assert_eq!(period(&levels(control, 0)), clocks, "{control:X}: {name}");
        }
    }

    /// Pure tones are square waves. Those of 31 clocks are high for 13 or 18 of them.
    #[test]
    fn pure_tones_are_square_waves() {
        for (control, expected) in [(0x4, &[1][..]), (0x6, &[13, 18]), (0xA, &[13, 18]), (0xC, &[3])] {
            assert_eq!(run_lengths(&levels(control, 0)), expected, "{control:X}");
        }
    }

    /// A maximal shift register of n bits has one more 1 than zeros in its 2^n - 1 steps.
    #[test]
    fn noise_is_that_of_maximal_shift_registers() {
        for (control, steps) in [(0x1, 15), (0x9, 31), (0x8, 511)] {
            let ones = levels(control, 0)[..steps].iter().filter(|&&high| high).count();
            assert_eq!(ones, steps / 2 + 1, "{control:X}");
        }
    }

    #[test]
    fn the_frequency_divides_the_clock() {
        for divisor in [1, 2, 9, 31] {
            let clocks = usize::from(divisor) + 1;
            assert_eq!(run_lengths(&levels(0x4, divisor)), [clocks]);
            assert_eq!(period(&levels(0x1, divisor)), 15 * clocks);
        }
        // A divisor below the number of clocks that have passed takes effect at once.
        let mut generator = SoundGenerator::default();
        let mut samples = [0; 32];
        generator.generate(registers(&[(AUDC0, 0x4), (AUDF0, 31), (AUDV0, 1)]), &mut samples[..20]);
        generator.generate(registers(&[(AUDC0, 0x4), (AUDF0, 3), (AUDV0, 1)]), &mut samples);
        let highs: Vec<usize> = (1..32).filter(|&at| samples[at] != samples[at - 1]).collect();
        assert_eq!(highs, [8, 12, 16, 20, 24, 28]);
    }

    #[test]
    fn volumes_are_added() {
        for (volumes, expected) in [([0, 0], 128), ([15, 0], 188), ([0, 7], 156), ([15, 15], 248)] {
            let [first, second] = volumes;
            assert_eq!(samples(&[(AUDV0, first), (AUDV1, second)])[START..], [expected; CLOCKS - START]);
        }
    }

    #[test]
    fn channels_are_equal_and_independent() {
        let first = samples(&[(AUDC0, 0x8), (AUDF0, 2), (AUDV0, 5)]);
        let second = samples(&[(AUDC1, 0x8), (AUDF1, 2), (AUDV1, 5)]);
        assert_eq!(first, second);
        let tone = samples(&[(AUDC1, 0x4), (AUDF1, 5), (AUDV1, 9)]);
        let both = samples(&[(AUDC0, 0x8), (AUDF0, 2), (AUDV0, 5), (AUDC1, 0x4), (AUDF1, 5), (AUDV1, 9)]);
        let sums: Vec<u8> = first.iter().zip(&tone).map(|(a, b)| a + (b - SoundGenerator::SILENCE)).collect();
        assert_eq!(both, sums);
    }

    #[test]
    fn unused_bits_of_registers_have_no_effect() {
        let plain = samples(&[(AUDC0, 0x3), (AUDF0, 0x12), (AUDV0, 0x4)]);
        assert_eq!(samples(&[(AUDC0, 0xF3), (AUDF0, 0xF2), (AUDV0, 0xF4)]), plain);
    }

    #[test]
    fn the_sound_continues_across_calls() {
        let values = [(AUDC0, 0x7), (AUDF0, 4), (AUDV0, 3), (AUDC1, 0x8), (AUDF1, 1), (AUDV1, 8)];
        let whole = samples(&values);
        let mut parts = vec![0; CLOCKS];
        let mut generator = SoundGenerator::default();
        for part in parts.chunks_mut(100) {
            generator.generate(registers(&values), part);
        }
        assert_eq!(parts, whole);
    }
}
