//! Saved states, which need little memory: they hold the starts of the frames on the screens instead of pixels.

use std::iter;

use serde::{Deserialize, Serialize};

use super::{Console, ForeignSnapshot};
use crate::machine::Machine;
use crate::replay::FrameStart;

/// The two screens of a [saved](Console::save) console, the current one first.
///
/// Most programs draw the whole screen in every frame. Others leave some of it as it was two frames ago, so a state
/// that lacks its screens would not continue with the same pixels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedScreens([SavedScreen; 2]);

/// A screen of a saved console.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum SavedScreen {
    /// The start of a frame that covers the screen.
    Frame(Box<FrameStart>),
    /// The lengths and palette bytes of runs of equal pixels.
    Runs(Vec<(u16, u8)>),
}

impl SavedScreen {
    fn runs(pixels: &[u8]) -> Self {
        let runs = pixels.chunk_by(|a, b| a == b);
        Self::Runs(runs.map(|run| (run.len() as u16, run[0])).collect())
    }

    /// Returns true if a deserialised screen can be the screen `screen` of this machine.
    fn fits(&self, machine: &Machine, screen: usize) -> bool {
        match self {
            Self::Frame(start) => start.fits(machine, screen),
            Self::Runs(runs) => {
                let lengths = runs.iter().map(|&(length, _)| usize::from(length));
                lengths.sum::<usize>() == machine.tia.screen_len()
            }
        }
    }
}

impl Console {
    /// Saves the state: a copy without screens, an eighth of a console's memory, and the screens in a compact form. The
    /// copy cannot run.
    pub fn save(&mut self) -> (Self, SavedScreens) {
        // The copy does not have the frames from which to compute unknown latches later.
        self.compute_latches();
        let current = self.machine.tia.current_screen();
        let screens = [(current, 0), (1 - current, 1)].map(|(screen, saved)| self.save_screen(screen, saved));
        let replays = std::mem::take(&mut self.replays);
        let pixels = self.machine.tia.take_screens();
        let former = self.former.take();
        let mut copy = self.clone();
        copy.machine.tia.set_current_screen(0);
        self.former = former;
        self.machine.tia.put_screens(pixels);
        self.replays = replays;
        (copy, SavedScreens(screens))
    }

    /// Saves a screen, which is to be restored as the screen `saved`.
    fn save_screen(&mut self, screen: usize, saved: usize) -> SavedScreen {
        if self.replays.covering_start(screen).is_none() {
            self.draw(screen);
        }
        match self.replays.covering_start(screen) {
            Some(start) => SavedScreen::Frame(Box::new(start.for_screen(saved))),
            None => SavedScreen::runs(self.machine.tia.screen_pixels(screen)),
        }
    }

    /// Restores a saved state, but shows the screens from before until the second frame. Errors are those of
    /// [`restore`](Self::restore).
    pub fn restore_saved(&mut self, state: Self, screens: &SavedScreens) -> Result<(), ForeignSnapshot> {
        if !self.accepts(&state) || !self.accepts_screens(screens) {
            return Err(ForeignSnapshot);
        }
        let former = self.take_former_screens();
        self.adopt(state);
        self.former = Some(former);
        // A damaged state may hold screens of any size.
        drop(self.machine.tia.take_screens());
        for (screen, saved) in screens.0.iter().enumerate() {
            self.restore_screen(screen, saved);
        }
        Ok(())
    }

    fn accepts_screens(&self, screens: &SavedScreens) -> bool {
        screens.0.iter().enumerate().all(|(screen, saved)| saved.fits(&self.machine, screen))
    }

    fn restore_screen(&mut self, screen: usize, saved: &SavedScreen) {
        match saved {
            SavedScreen::Frame(start) => self.replays.set_undrawn(screen, start.refreshed(), true),
            SavedScreen::Runs(runs) => {
                let pixels = runs.iter().flat_map(|&(length, byte)| iter::repeat_n(byte, length.into()));
                self.machine.tia.set_screen_pixels(screen, pixels.collect());
                self.replays.clear(screen);
            }
        }
    }
}
