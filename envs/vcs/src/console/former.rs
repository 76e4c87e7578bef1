//! The first frame after a saved state is restored. As in ale-py 0.12.1, it is drawn over the screens from before:
//! where it draws nothing, they remain visible. Later frames do not show them.

use serde::{Deserialize, Serialize};

use super::latches::NO_LATCHES;
use super::{Console, ForeignSnapshot};
use crate::replay::FrameStart;
use crate::tia::{self, Drawing};

/// The screens from before a state was restored, which are shown until the second frame after it, instead of the
/// screens of the console.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FormerScreens {
    /// Palette bytes of the current and of the previous screen.
    screens: [Vec<u8>; 2],
    /// True if the first frame has been drawn over them.
    is_drawn_over: bool,
}

impl FormerScreens {
    /// Returns the screen.
    pub(super) fn current(&self) -> &[u8] {
        &self.screens[0]
    }

    /// Returns the previous screen.
    pub(super) fn previous(&self) -> &[u8] {
        &self.screens[1]
    }

    fn free(self) {
        for screen in self.screens {
            tia::free_pixels(screen);
        }
    }
}

impl Console {
    /// Returns the screens from before a restored state, which are shown until the second frame after it. They are not
    /// part of a snapshot of the console.
    pub fn former_screens(&self) -> Option<&FormerScreens> {
        self.former.as_ref()
    }

    /// Shows these screens until the second frame after they became [former screens](Self::former_screens).
    pub fn set_former_screens(&mut self, former: FormerScreens) -> Result<(), ForeignSnapshot> {
        if !self.machine.tia.fit(&former.screens) {
            return Err(ForeignSnapshot);
        }
        self.former = Some(former);
        Ok(())
    }

    /// Removes the screens that are shown, because a state is about to be restored.
    pub(super) fn take_former_screens(&mut self) -> FormerScreens {
        if let Some(former) = self.former.take() {
            return FormerScreens { is_drawn_over: false, ..former };
        }
        for screen in [0, 1] {
            self.draw(screen);
        }
        let mut screens = self.machine.tia.take_screens();
        screens.rotate_left(self.machine.tia.current_screen());
        FormerScreens { screens, is_drawn_over: false }
    }

    /// Runs the next frame. If it is the first one after a restored state, it is also drawn over the former screens.
    pub(super) fn run_under(&mut self, former: FormerScreens, run: impl FnOnce(&mut Self)) {
        if former.is_drawn_over {
            former.free();
            return run(self);
        }
        let start = FrameStart::capture(&self.cpu, &mut self.machine);
        let begins = !self.is_within_frame();
        run(self);
        if begins && self.machine.tia.covers_screen() {
            former.free();
        } else {
            self.former = Some(self.drawn_over(former, &start));
        }
    }

    /// Draws the frame that began at `start`, the last one, over former screens.
    fn drawn_over(&mut self, former: FormerScreens, start: &FrameStart) -> FormerScreens {
        let now = FrameStart::capture(&self.cpu, &mut self.machine);
        let console_screens = self.machine.tia.take_screens();
        start.restore(&mut self.cpu, &mut self.machine);
        let mut screens = former.screens;
        screens.rotate_right(self.machine.tia.current_screen());
        self.machine.tia.put_screens(screens);
        self.request(Drawing::Spans, NO_LATCHES);
        let mut screens = self.machine.tia.take_screens();
        screens.rotate_left(self.machine.tia.current_screen());
        self.machine.tia.put_screens(console_screens);
        now.restore(&mut self.cpu, &mut self.machine);
        FormerScreens { screens, is_drawn_over: true }
    }
}
