//! Activision's display processor chip (DPC), made for Pitfall II: eight data fetchers, a random register and
//! music.

use serde::{Deserialize, Serialize};

/// The offset of the display data in the image.
pub(super) const DISPLAY_OFFSET: usize = 8192;
/// Size of the display data in bytes.
const DISPLAY: u16 = 2048;
/// The first fetcher that can play music.
const FIRST_MUSIC: usize = 5;
/// Frequencies of the music oscillator and of the CPU in hertz.
const MUSIC_HZ: f64 = 15750.0;
const CPU_HZ: f64 = 1193191.66666667;
/// The bits of a counter's upper byte.
const COUNTER_HIGH: u16 = 0x700;
/// The bit of a write to [`SET_COUNTER_HIGH`] that switches a fetcher to music.
const MUSIC_MODE: u8 = 0x10;

/// Outputs of the fetchers, by bits 3 to 5 of the address of a read. The output [`RANDOM`] of the fetchers from 4 on is
/// the amplitude of the music.
const RANDOM: u16 = 0;
const DATA: u16 = 1;
const MASKED_DATA: u16 = 2;
const FLAG: u16 = 7;

/// Inputs of the fetchers, by bits 3 to 5 of the address of a write.
const SET_TOP: u16 = 0;
const SET_BOTTOM: u16 = 1;
const SET_COUNTER_LOW: u16 = 2;
const SET_COUNTER_HIGH: u16 = 3;
const RESET_RANDOM: u16 = 6;

/// A data fetcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Fetcher {
    /// Counts down through the display data.
    counter: u16,
    /// The counter's lower byte at which the flag is set. In music mode, also the period of the counter.
    top: u8,
    /// The counter's lower byte at which the flag is cleared.
    bottom: u8,
    /// A mask of the data: 0 or 0xFF. In music mode, the fetcher's square wave.
    flag: u8,
    /// True if the music oscillator clocks the counter instead of reads. Only the last three fetchers can do so.
    music: bool,
}

/// The state of the chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dpc {
    fetchers: [Fetcher; 8],
    /// A shift register of eight bits.
    random: u8,
    /// The CPU cycle of the last update of the music.
    music_at: u32,
    /// The fraction of a music clock that has passed since the last whole one.
    music_fraction: f64,
}

impl Default for Dpc {
    fn default() -> Self {
        Self { fetchers: [Fetcher::default(); 8], random: 1, music_at: 0, music_fraction: 0.0 }
    }
}

impl Dpc {
    /// Resets the music clock. A console reset affects nothing else.
    pub(super) fn reset(&mut self) {
        self.music_at = 0;
        self.music_fraction = 0.0;
    }

    /// Moves all times back by `cycles`.
    pub(super) fn rebase(&mut self, cycles: u32) {
        self.music_at = self.music_at.wrapping_sub(cycles);
    }

    /// Clocks the random register if the address is one of the chip's registers or in the last 64 bytes of
    /// the window. Opcode fetches count too.
    pub(super) fn clock_if_selected(&mut self, address: u16) {
        if matches!(address & 0xFFF, 0x000..=0x07F | 0xFC0..) {
            self.clock_random();
        }
    }

    /// Shifts the random register, with feedback from bits 3, 4, 5 and 7.
    fn clock_random(&mut self) {
        let bits = self.random;
        let feedback = !(bits >> 7 ^ bits >> 5 ^ bits >> 4 ^ bits >> 3) & 1;
        self.random = bits << 1 | feedback;
    }

    /// Reads $x000-$x03F at CPU cycle `now`: bits 0-2 select the fetcher, bits 3-5 its output.
    pub(super) fn read(&mut self, address: u16, display: &[u8], now: u32) -> u8 {
        let index = usize::from(address & 7);
        let fetcher = &mut self.fetchers[index];
        let low = fetcher.counter as u8;
        if low == fetcher.top {
            fetcher.flag = 0xFF;
        } else if low == fetcher.bottom {
            fetcher.flag = 0;
        }
        let (counter, flag) = (fetcher.counter, fetcher.flag);
        let data = || display[usize::from(DISPLAY - 1 - counter % DISPLAY)];
        let value = match address >> 3 & 7 {
            RANDOM if index < 4 => self.random,
            RANDOM => {
                self.advance_music(now);
                self.amplitude()
            }
            DATA => data(),
            MASKED_DATA => data() & flag,
            FLAG => flag,
            _ => 0,
        };
        let fetcher = &mut self.fetchers[index];
        if index < FIRST_MUSIC || !fetcher.music {
            fetcher.counter = fetcher.counter.wrapping_sub(1) & (DISPLAY - 1);
        }
        value
    }

    /// Writes to the cartridge. Every write clocks the random register; $x040-$x07F are the chip's registers.
    pub(super) fn write(&mut self, address: u16, value: u8) {
        self.clock_random();
        if !matches!(address & 0xFFF, 0x040..=0x07F) {
            return;
        }
        let index = usize::from(address & 7);
        let fetcher = &mut self.fetchers[index];
        match address >> 3 & 7 {
            SET_TOP => {
                fetcher.top = value;
                fetcher.flag = 0;
            }
            SET_BOTTOM => fetcher.bottom = value,
            SET_COUNTER_LOW => {
                let low = if index >= FIRST_MUSIC && fetcher.music { fetcher.top } else { value };
                fetcher.counter = fetcher.counter & COUNTER_HIGH | u16::from(low);
            }
            SET_COUNTER_HIGH => {
                fetcher.counter = u16::from(value & 7) << 8 | fetcher.counter & 0xFF;
                if index >= FIRST_MUSIC {
                    fetcher.music = value & MUSIC_MODE != 0;
                }
            }
            RESET_RANDOM => self.random = 1,
            _ => {}
        }
    }

    /// Clocks the counters of the fetchers that play music up to the CPU cycle `now`.
    fn advance_music(&mut self, now: u32) {
        let cycles = now.wrapping_sub(self.music_at) as i32;
        self.music_at = now;
        let clocks = MUSIC_HZ * f64::from(cycles) / CPU_HZ + self.music_fraction;
        let whole = clocks as i32;
        self.music_fraction = clocks - f64::from(whole);
        if whole <= 0 {
            return;
        }
        for fetcher in self.fetchers[FIRST_MUSIC..].iter_mut().filter(|fetcher| fetcher.music) {
            let period = i32::from(fetcher.top) + 1;
            let mut low = i32::from(fetcher.counter as u8);
            if fetcher.top == 0 {
                low = 0;
            } else {
                low -= whole % period;
                if low < 0 {
                    low += period;
                }
            }
            if low <= i32::from(fetcher.bottom) {
                fetcher.flag = 0;
            } else if low <= i32::from(fetcher.top) {
                fetcher.flag = 0xFF;
            }
            fetcher.counter = fetcher.counter & COUNTER_HIGH | low as u16 & 0xFF;
        }
    }

    /// Returns the amplitude of the music: the output of the chip's mixer for the square waves that are high.
    fn amplitude(&self) -> u8 {
        /// Amplitudes by the set of waves that are high, one bit each.
        const MIXER: [u8; 8] = [0, 4, 5, 9, 6, 10, 11, 15];
        let mut high = 0;
        for (wave, fetcher) in self.fetchers[FIRST_MUSIC..].iter().enumerate() {
            high |= usize::from(fetcher.music && fetcher.flag != 0) << wave;
        }
        MIXER[high]
    }
}
