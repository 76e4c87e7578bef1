//! From the console's pictures to observations: colours, maximum of two frames, area resize, stack of frames.
//!
//! Pictures change little from one step to the next, so everything is kept from the last step and only the rows that
//! changed are converted, pooled and resized again. The result is the same as if all of it were done every time.

mod avx2;
mod pool;
mod resize;
mod stack;

use serde::{Deserialize, Serialize};

use crate::palette::Palette;
use pool::{Pool, Row};
pub(crate) use resize::{Resizer, Size};
pub(crate) use stack::FrameStack;

/// Pixels in a row of the console's picture.
pub(crate) const SCREEN_WIDTH: usize = 160;

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
/// Two pictures are captured: the *last* frame of a step and the one *before* it. They are pooled after the conversion
/// to grey or RGB and before the resize. The pooled picture replaces the last frame, as in ale-py: a step that ends
/// before its last frame is captured shows the pooled picture of the step before, pooled once more with whatever
/// `before` holds.
#[derive(Clone, Debug)]
pub(crate) struct Preprocessor {
    how: Preprocessing,
    /// The last captured frame, as screen bytes.
    last: Box<[u8]>,
    /// The frame before it.
    before: Box<[u8]>,
    /// `last` has been captured since the picture was pooled.
    has_last: bool,
    /// The picture before the resize, in grey or RGB.
    pooled: Box<[u8]>,
    /// The rows of `pooled` that may differ from what the captured frames say, or from what was last resized.
    stale_rows: Box<[bool]>,
    pool: Pool,
    resizer: Resizer,
    stack: FrameStack,
}

/// What continuing exactly needs; everything else follows from it.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreprocessorState {
    before: Vec<u8>,
    pooled: Vec<u8>,
    stack: Vec<u8>,
}

impl Preprocessor {
    /// A preprocessor whose pictures are all black.
    pub(crate) fn new(how: Preprocessing) -> Self {
        let pixels = how.screen_height * SCREEN_WIDTH;
        let source = Size { height: how.screen_height, width: SCREEN_WIDTH };
        let black = |bytes: usize| vec![0; bytes].into_boxed_slice();
        Self {
            last: black(pixels),
            before: black(pixels),
            has_last: false,
            pooled: black(pixels * how.channels()),
            stale_rows: vec![true; how.screen_height].into(),
            pool: Pool::new(how.palette, how.grayscale),
            resizer: Resizer::new(source, how.target, how.channels()),
            stack: FrameStack::new(how.stack_num, how.target.height * how.target.width * how.channels()),
            how,
        }
    }

    /// Starts an episode: the stack is empty but for this picture, and there is no frame before it.
    pub(crate) fn restart(&mut self, screen: &[u8]) {
        self.stack.clear();
        // Byte 0 is black in every palette, the neutral element of the maximum.
        self.before.fill(0);
        self.stale_rows.fill(true);
        self.capture_last(screen);
        self.process();
    }

    /// Captures the last frame of a step.
    pub(crate) fn capture_last(&mut self, screen: &[u8]) {
        capture(screen, &mut self.last, &mut self.stale_rows);
        self.has_last = true;
    }

    /// Captures the frame before the last one.
    pub(crate) fn capture_before(&mut self, screen: &[u8]) {
        if self.how.maxpool {
            capture(screen, &mut self.before, &mut self.stale_rows);
        }
    }

    /// Makes the captured frames the newest frame of the stack.
    pub(crate) fn process(&mut self) {
        let (last, before) = (rows(&self.last), rows(&self.before));
        let pooled = self.pooled.chunks_exact_mut(SCREEN_WIDTH * self.how.channels());
        for (row, pooled) in pooled.enumerate().filter(|(row, _)| self.stale_rows[*row]) {
            let last = self.has_last.then(|| &last[row]);
            let before = self.how.maxpool.then(|| &before[row]);
            self.pool.row(last, before, pooled);
        }
        self.resizer.resize(&self.pooled, &self.stale_rows, self.stack.push());
        // Without a last frame the picture is pooled twice, and equals no longer what the captured frames say.
        self.stale_rows.fill(!self.has_last);
        self.has_last = false;
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
        PreprocessorState { before: self.before.to_vec(), pooled: self.pooled.to_vec(), stack }
    }

    /// Whether a state is one of a preprocessor of the same sizes.
    pub(crate) fn fits(&self, state: &PreprocessorState) -> bool {
        state.before.len() == self.before.len()
            && state.pooled.len() == self.pooled.len()
            && state.stack.len() == self.stack.byte_len()
    }

    /// Puts a state back that [`fits`](Self::fits).
    pub(crate) fn restore(&mut self, state: &PreprocessorState) {
        self.before.copy_from_slice(&state.before);
        self.pooled.copy_from_slice(&state.pooled);
        self.stack.read(&state.stack);
        self.has_last = false;
        self.stale_rows.fill(true);
    }
}

fn rows(screen: &[u8]) -> &[Row] {
    screen.as_chunks().0
}

/// Copies a picture and marks the rows that changed. Comparing costs less than converting, and most rows are equal.
fn capture(screen: &[u8], captured: &mut [u8], stale_rows: &mut [bool]) {
    let (captured, _) = captured.as_chunks_mut::<SCREEN_WIDTH>();
    for ((new, old), stale) in rows(screen).iter().zip(captured).zip(stale_rows) {
        if new != old {
            *old = *new;
            *stale = true;
        }
    }
}

#[cfg(test)]
mod tests;
