use serde::{Deserialize, Serialize};
use vcs::RAM;

use super::options::AtariOptions;
use crate::palette::Palette;
use crate::preprocess::{FrameStack, Preprocessing, Preprocessor, PreprocessorState, Size};
use crate::{Ale, PoweredGame};

/// The part of the console that an observation shows.
// An environment has one view, and it is never moved.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(super) enum View {
    /// The preprocessed screens of the last steps.
    Image(Preprocessor),
    /// The RAM at the end of each of the last steps.
    Ram(FrameStack),
}

impl View {
    /// Returns the view that the options select.
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

    /// Starts an episode: the newest frame is the current one; the others are black, or copies of it if `fill` is true.
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

    /// Ends the previous frame of a step. Saves its screen if it was cut off, since the last frame then overwrites it.
    pub(super) fn finish_previous_frame(&mut self, ale: &Ale) {
        if let Self::Image(image) = self
            && ale.is_within_frame()
        {
            image.save_previous(ale.screen());
        }
    }

    /// Ends a step: adds the newest frame, made from the current RAM or from the screens of the last and the previous
    /// frame, if the step reached them.
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

    /// Returns true if a state comes from a view of the same kind and sizes.
    pub(super) fn fits(&self, state: &ViewState) -> bool {
        match (self, state) {
            (Self::Image(image), ViewState::Image(state)) => image.fits(state),
            (Self::Ram(stack), ViewState::Ram(frames)) => frames.len() == stack.byte_len(),
            _ => false,
        }
    }

    /// Restores a state that [`fits`](Self::fits).
    pub(super) fn restore(&mut self, state: &ViewState) {
        match (self, state) {
            (Self::Image(image), ViewState::Image(state)) => image.restore(state),
            (Self::Ram(stack), ViewState::Ram(frames)) => stack.read(frames),
            _ => {}
        }
    }
}

/// The state that is needed to continue a [`View`] exactly.
#[derive(Serialize, Deserialize)]
pub(super) enum ViewState {
    Image(PreprocessorState),
    Ram(Vec<u8>),
}
