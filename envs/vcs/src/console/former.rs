//! The first frame after a saved state is restored. As in ale-py 0.12.1, it is drawn on the *former screens*, those
//! from before the state was restored. Where it draws nothing, they remain visible. Later frames do not show them.
//!
//! The console's screens continue with the restored state meanwhile, so that later frames are drawn on them.

use serde::{Deserialize, Serialize};

use super::latches::SKIP_NONE;
use super::{Console, ForeignSnapshot};
use crate::replay::FrameStart;
use crate::tia::{self, Drawing};

/// The screens from before a state was restored, which are shown until the second frame after it, instead of the
/// screens of the console.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FormerScreens {
    /// Palette bytes of the current and of the previous screen.
    screens: [Vec<u8>; 2],
    /// True if the first frame after the restored state has been drawn on them.
    has_new_frame: bool,
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
            tia::give_screen(screen);
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

    /// Removes and returns the screens that are shown, because a state is about to be restored.
    pub(super) fn take_former_screens(&mut self) -> FormerScreens {
        if let Some(former) = self.former.take() {
            return FormerScreens { has_new_frame: false, ..former };
        }
        for screen in [0, 1] {
            self.draw(screen);
        }
        let mut screens = self.machine.tia.take_screens();
        screens.rotate_left(self.machine.tia.current_screen());
        FormerScreens { screens, has_new_frame: false }
    }

    /// Runs the next request with `run`. If it is the first one after a restored state, its frame is also drawn on the
    /// former screens, which the caller has taken from `self.former`. They are no longer needed, and freed, if the
    /// frame covers its screen, or if it is the second one.
    pub(super) fn run_with_former_screens(&mut self, former: FormerScreens, run: impl FnOnce(&mut Self)) {
        if former.has_new_frame {
            former.free();
            return run(self);
        }
        let start = FrameStart::capture(&self.cpu, &mut self.machine);
        let begins = !self.is_within_frame();
        run(self);
        if begins && self.machine.tia.covers_screen() {
            former.free();
        } else {
            self.former = Some(self.draw_on_former_screens(former, &start));
        }
    }

    /// Runs the last request again from its `start`, to draw it on the former screens, and then returns the console to
    /// its current state. Returns these screens.
    fn draw_on_former_screens(&mut self, former: FormerScreens, start: &FrameStart) -> FormerScreens {
        let now = FrameStart::capture(&self.cpu, &mut self.machine);
        let console_screens = self.machine.tia.take_screens();
        start.restore(&mut self.cpu, &mut self.machine);
        // The former screens begin with the current one, those of the chip with the one of index 0.
        let mut screens = former.screens;
        screens.rotate_right(self.machine.tia.current_screen());
        self.machine.tia.put_screens(screens);
        self.run_request(Drawing::Spans, SKIP_NONE);
        let mut screens = self.machine.tia.take_screens();
        screens.rotate_left(self.machine.tia.current_screen());
        self.machine.tia.put_screens(console_screens);
        now.restore(&mut self.cpu, &mut self.machine);
        FormerScreens { screens, has_new_frame: true }
    }
}
