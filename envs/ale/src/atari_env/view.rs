use rl_env::Space;
use serde::{Deserialize, Serialize};
use vcs::RAM;

use super::options::AtariOptions;
use crate::palette::Palette;
use crate::preprocess::{FrameStack, Preprocessing, Preprocessor, PreprocessorState, Size};
use crate::{Ale, PoweredGame};

/// What of the console an observation shows.
// An environment has one view and nobody moves it about.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(super) enum View {
    /// The last image, preprocessed.
    Image(Preprocessor),
    /// The RAM at the ends of the last steps.
    Ram(FrameStack),
}

impl View {
    /// The view that the options ask for.
    pub(super) fn new(powered: &PoweredGame, options: &AtariOptions) -> Self {
        if options.ram {
            return Self::Ram(FrameStack::new(options.stack_num, RAM));
        }
        Self::Image(Preprocessor::new(Preprocessing {
            screen_height: powered.height(),
            palette: Palette::of(powered.tv()),
            grayscale: options.grayscale,
            maxpool: options.maxpool,
            target: Size { height: options.img_height, width: options.img_width },
            stack_num: options.stack_num,
        }))
    }

    /// The space that its observations lie in: `[stack_num, img_height, img_width]`, with a last axis of 3 for colours,
    /// or `[stack_num, 128]`.
    pub(super) fn space(options: &AtariOptions) -> Space {
        let mut shape = vec![options.stack_num];
        if options.ram {
            shape.push(RAM);
        } else {
            shape.extend([options.img_height, options.img_width]);
            shape.extend((!options.grayscale).then_some(3));
        }
        Space::bytes(shape)
    }

    /// Starts an episode: the newest frame is the present one; the others are black, or the same if `fill` says so.
    pub(super) fn restart(&mut self, ale: &Ale, fill: bool) {
        let stack = match self {
            Self::Image(image) => {
                image.restart(ale.screen());
                image.stack_mut()
            }
            Self::Ram(stack) => {
                stack.clear();
                stack.push().copy_from_slice(ale.ram());
                stack
            }
        };
        if fill {
            stack.fill_with_newest();
        }
    }

    /// The frame before the last one of a step is over. A picture that the last frame goes on with is kept.
    pub(super) fn finish_previous_frame(&mut self, ale: &Ale) {
        if let Self::Image(image) = self
            && ale.is_within_frame()
        {
            image.save_previous(ale.screen());
        }
    }

    /// Makes the last picture of a step and the one before it, as far as it has come to them, or the present RAM, the newest
    /// frame.
    pub(super) fn finish_step(&mut self, ale: &Ale, has_last: bool, has_previous: bool) {
        match self {
            Self::Image(image) => {
                let last = has_last.then(|| ale.screen());
                image.process(last, has_previous.then(|| ale.previous_screen()));
            }
            Self::Ram(stack) => stack.push().copy_from_slice(ale.ram()),
        }
    }

    /// Writes the observation: the frames, oldest first.
    pub(super) fn observe(&self, observation: &mut [u8]) {
        match self {
            Self::Image(image) => image.observe(observation),
            Self::Ram(stack) => stack.write(observation),
        }
    }

    pub(super) fn state(&self) -> ViewState {
        match self {
            Self::Image(image) => ViewState::Image(image.state()),
            Self::Ram(stack) => {
                let mut frames = vec![0; stack.byte_len()];
                stack.write(&mut frames);
                ViewState::Ram(frames)
            }
        }
    }

    /// Whether a state is one of a view of the same kind and sizes.
    pub(super) fn fits(&self, state: &ViewState) -> bool {
        match (self, state) {
            (Self::Image(image), ViewState::Image(state)) => image.fits(state),
            (Self::Ram(stack), ViewState::Ram(frames)) => frames.len() == stack.byte_len(),
            _ => false,
        }
    }

    /// Puts a state back that [`fits`](Self::fits).
    pub(super) fn restore(&mut self, state: &ViewState) {
        match (self, state) {
            (Self::Image(image), ViewState::Image(state)) => image.restore(state),
            (Self::Ram(stack), ViewState::Ram(frames)) => stack.read(frames),
            _ => {}
        }
    }
}

/// What continuing a [`View`] exactly needs.
#[derive(Serialize, Deserialize)]
pub(super) enum ViewState {
    Image(PreprocessorState),
    Ram(Vec<u8>),
}
