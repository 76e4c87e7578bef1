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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Fetcher {
    /// Counts down through the display data.
    counter: u16,
    top: u8,
    bottom: u8,
    flag: u8,
    music: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dpc {
    fetchers: [Fetcher; 8],
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

    fn clock_random(&mut self) {
        let r = self.random;
        let new = !(r >> 7 ^ r >> 5 ^ r >> 4 ^ r >> 3) & 1;
        self.random = r << 1 | new;
    }

    /// Reads $x000-$x03F: bits 0-2 select the fetcher, bits 3-5 its output.
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
        let shown = || display[usize::from(DISPLAY - 1 - counter % DISPLAY)];
        let value = match address >> 3 & 7 {
            0 if index < 4 => self.random,
            0 => {
                self.advance_music(now);
                self.amplitude()
            }
            1 => shown(),
            2 => shown() & flag,
            7 => flag,
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
            0 => {
                fetcher.top = value;
                fetcher.flag = 0;
            }
            1 => fetcher.bottom = value,
            2 => {
                let low = if index >= FIRST_MUSIC && fetcher.music { fetcher.top } else { value };
                fetcher.counter = fetcher.counter & 0x700 | u16::from(low);
            }
            3 => {
                fetcher.counter = u16::from(value & 7) << 8 | fetcher.counter & 0xFF;
                if index >= FIRST_MUSIC {
                    fetcher.music = value & 0x10 != 0;
                }
            }
            6 => self.random = 1,
            _ => {}
        }
    }

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
            fetcher.counter = fetcher.counter & 0x700 | low as u16 & 0xFF;
        }
    }

    /// Returns the sum of the square waves that are high, weighted by the chip's mixer.
    fn amplitude(&self) -> u8 {
        const MIXER: [u8; 8] = [0, 4, 5, 9, 6, 10, 11, 15];
        let high = |fetcher: &Fetcher| fetcher.music && fetcher.flag != 0;
        let bits = (0..3).filter(|&k| high(&self.fetchers[FIRST_MUSIC + k])).map(|k| 1 << k).sum::<usize>();
        MIXER[bits]
    }
}
