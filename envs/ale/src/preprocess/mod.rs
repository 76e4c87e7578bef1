//! From the console's pictures to observations: colours, maximum of two frames, area resize, stack of frames.
//!
//! Everything is made anew in every step, in one pass over the rows: what would be kept of the last step to save work
//! would not fit the caches beside the pictures of other environments. Rows that equal the row above are made once.

mod avx2;
mod avx512;
mod gather;
mod pool;
mod pooled;
mod resize;
mod scalar;
mod screen;
mod stack;

use serde::{Deserialize, Serialize};

use crate::palette::Palette;
use pool::Pool;
use pooled::{Frames, Pooled};
pub(crate) use resize::{Resizer, Size};
pub(crate) use screen::SCREEN_WIDTH;
use screen::rows;
pub(crate) use stack::FrameStack;

/// How pictures become observations.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessing {
    /// Rows of the console's picture.
    pub(crate) screen_height: usize,
    pub(crate) palette: &'static Palette,
    pub(crate) grayscale: bool,
    /// Take the larger value of the last two frames (games flicker to show more than the hardware can).
    pub(crate) maxpool: bool,
    pub(crate) target: Size,
    pub(crate) stack_num: usize,
}

impl Preprocessing {
    /// Bytes of a pixel of the observation.
    pub(crate) fn channels(&self) -> usize {
        if self.grayscale { 1 } else { 3 }
    }
}

/// The pictures of one environment on their way to the observation.
///
/// Two pictures make an observation: the *last* frame of a step and the one *before* it. They are pooled after the
/// conversion to grey or RGB and before the resize. The pooled picture replaces the last frame, as in ale-py: a step that
/// ends before its last frame shows the pooled picture of the step before, pooled once more with the frame before the last
/// where it has come so far.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessor {
    settings: Preprocessing,
    pooled: Pooled,
    /// The frame before the last one, where the console has overwritten it; else empty.
    saved_previous: Vec<u8>,
    pool: Pool,
    resizer: Resizer,
    stack: FrameStack,
}

/// What continuing exactly needs; everything else follows from it.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreprocessorState {
    pooled: Vec<u8>,
    stack: Vec<u8>,
}

impl Preprocessor {
    /// A preprocessor whose pictures are all black.
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
            settings,
        }
    }

    /// Starts an episode: the stack is empty but for this picture, and there is no frame before it.
    pub(crate) fn restart(&mut self, screen: &[u8]) {
        self.stack.clear();
        self.process(Some(screen), None);
    }

    /// Keeps the frame before the last one of a step for the next call of [`process`](Self::process).
    pub(crate) fn save_previous(&mut self, screen: &[u8]) {
        self.saved_previous.extend_from_slice(screen);
    }

    /// Makes the newest frame of the stack from the last frame of a step and the one before it, as far as the step has
    /// come to them: screen bytes.
    pub(crate) fn process(&mut self, last: Option<&[u8]>, previous: Option<&[u8]>) {
        let saved = std::mem::take(&mut self.saved_previous);
        let previous = if saved.is_empty() { previous } else { Some(&*saved) };
        let previous = previous.filter(|_| self.settings.maxpool);
        if last.is_none() && previous.is_none() {
            return self.stack.repeat_newest();
        }
        let previous = previous.map(rows);
        let Some(last) = last.map(rows) else {
            self.pooled.pool_again(&self.pool, previous.unwrap_or_default());
            return self.resizer.resize(&mut self.pooled, self.stack.push());
        };
        let mut frames = Frames { last, previous, pool: &self.pool, pooled: &mut self.pooled };
        self.resizer.resize(&mut frames, self.stack.push());
    }

    /// Writes the observation: the frames of the stack, oldest first.
    pub(crate) fn observe(&self, observation: &mut [u8]) {
        self.stack.write(observation);
    }

    /// The frames of the observation.
    pub(crate) fn stack_mut(&mut self) -> &mut FrameStack {
        &mut self.stack
    }

    pub(crate) fn state(&self) -> PreprocessorState {
        let mut stack = vec![0; self.stack.byte_len()];
        self.stack.write(&mut stack);
        PreprocessorState { pooled: self.pooled.pixels(), stack }
    }

    /// Whether a state is one of a preprocessor of the same sizes.
    pub(crate) fn fits(&self, state: &PreprocessorState) -> bool {
        state.pooled.len() == self.pooled.byte_len() && state.stack.len() == self.stack.byte_len()
    }

    /// Puts a state back that [`fits`](Self::fits).
    pub(crate) fn restore(&mut self, state: &PreprocessorState) {
        self.pooled.set(&state.pooled);
        self.stack.read(&state.stack);
    }
}

#[cfg(test)]
mod tests;
