//! From the console's screens to observations: colours, maximum of two frames, area resize, frame stack.
//!
//! Every step processes the whole screen in one pass over its rows. Consecutive equal rows are resized only once. A row
//! of the result is copied from the previous result if the rows that it covers are unchanged, which is true of three
//! quarters of the rows on average.

mod avx2;
mod avx512;
mod gather;
mod pool;
mod pooled;
mod resize;
mod scalar;
mod stack;

use serde::{Deserialize, Serialize};

use crate::palette::Palette;
use crate::screen::{SCREEN_WIDTH, rows};
use pool::Pool;
use pooled::{Frames, Pooled};
pub(crate) use resize::{Resizer, Size};
pub(crate) use stack::FrameStack;

/// The settings of the preprocessing.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessing {
    /// Rows of the console's screen.
    pub(crate) screen_height: usize,
    pub(crate) palette: &'static Palette,
    pub(crate) grayscale: bool,
    /// True to take the maximum of the last two frames: games flicker to show more objects than the hardware can.
    pub(crate) maxpool: bool,
    pub(crate) target: Size,
    pub(crate) stack_num: usize,
}

impl Preprocessing {
    /// Returns the number of bytes per pixel of the observation.
    pub(crate) fn channels(&self) -> usize {
        if self.grayscale { 1 } else { 3 }
    }
}

/// The preprocessing of one environment.
///
/// An observation is made from two frames: the *last* frame of a step and the *previous* one. They are pooled after the
/// conversion to greyscale or RGB and before the resize. As in ale-py, the pooled image replaces the last frame. A step
/// that ends before its last frame shows the pooled image of the step before, pooled with its own previous frame if the
/// step reached that frame.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessor {
    settings: Preprocessing,
    pooled: Pooled,
    /// The previous frame if the console has overwritten it, else empty.
    saved_previous: Vec<u8>,
    pool: Pool,
    resizer: Resizer,
    stack: FrameStack,
    /// True if the newest frame of the stack shows the pooled image.
    is_current: bool,
    /// Memory for a row of the pooled image.
    scratch: Box<[u8]>,
}

/// The state that is needed to continue exactly; everything else is derived from it.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreprocessorState {
    pooled: Vec<u8>,
    stack: Vec<u8>,
}

impl Preprocessor {
    /// Returns a preprocessor whose images are all black.
    pub(crate) fn new(settings: Preprocessing) -> Self {
        let source = Size { height: settings.screen_height, width: SCREEN_WIDTH };
        Self {
            pooled: Pooled::new(settings.screen_height, SCREEN_WIDTH * settings.channels()),
            saved_previous: Vec::new(),
            pool: Pool::new(settings.palette, settings.grayscale),
            resizer: Resizer::new(source, settings.target, settings.channels()),
            stack: FrameStack::new(
                settings.stack_num,
                settings.target.height * settings.target.width * settings.channels(),
            ),
            is_current: false,
            scratch: vec![0; SCREEN_WIDTH * settings.channels()].into(),
            settings,
        }
    }

    /// Starts an episode: clears the stack and pushes this screen, which has no previous frame.
    pub(crate) fn restart(&mut self, screen: &[u8]) {
        self.stack.clear();
        self.is_current = false;
        self.process(Some(screen), None);
    }

    /// Saves the previous frame of a step for the next call of [`process`](Self::process).
    pub(crate) fn save_previous(&mut self, screen: &[u8]) {
        self.saved_previous.extend_from_slice(screen);
    }

    /// Pushes a frame onto the stack, made from the screen bytes of the last and the previous frame of a step. A frame
    /// that the step did not reach is `None`.
    pub(crate) fn process(&mut self, last: Option<&[u8]>, previous: Option<&[u8]>) {
        let saved = std::mem::take(&mut self.saved_previous);
        let previous = if saved.is_empty() { previous } else { Some(&*saved) };
        let previous = previous.filter(|_| self.settings.maxpool);
        if last.is_none() && previous.is_none() {
            return self.stack.repeat_newest();
        }
        let previous = previous.map(rows);
        let (before, newest) = self.stack.push_after();
        let before = before.filter(|_| self.is_current);
        self.is_current = true;
        let Some(last) = last.map(rows) else {
            self.pooled.pool_again(&self.pool, previous.unwrap_or_default());
            return self.resizer.resize(&mut self.pooled, None, newest);
        };
        let mut frames = Frames {
            last,
            previous,
            pool: &self.pool,
            pooled: &mut self.pooled,
            scratch: &mut self.scratch,
            above_unchanged: false,
        };
        self.resizer.resize(&mut frames, before, newest);
    }

    /// Writes the observation: the frames of the stack, oldest first.
    pub(crate) fn observe(&self, observation: &mut [u8]) {
        self.stack.write(observation);
    }

    /// Returns the frames of the observation.
    pub(crate) fn stack_mut(&mut self) -> &mut FrameStack {
        &mut self.stack
    }

    pub(crate) fn state(&self) -> PreprocessorState {
        let mut stack = vec![0; self.stack.byte_len()];
        self.stack.write(&mut stack);
        PreprocessorState { pooled: self.pooled.pixels(), stack }
    }

    /// Returns true if a state comes from a preprocessor of the same sizes.
    pub(crate) fn fits(&self, state: &PreprocessorState) -> bool {
        state.pooled.len() == self.pooled.byte_len() && state.stack.len() == self.stack.byte_len()
    }

    /// Restores a state that [`fits`](Self::fits).
    pub(crate) fn restore(&mut self, state: &PreprocessorState) {
        self.pooled.set(&state.pooled);
        self.stack.read(&state.stack);
        self.is_current = false;
    }
}

#[cfg(test)]
mod tests;
