//! Recording of the frames of acts, with the setting [`recording`](crate::AleSettings::recording).

use rl_env::RgbImage;
use vcs::SoundGenerator;

use super::Ale;
use super::act::Rendering;
use super::sound::SOUND_SAMPLES;

/// A recorded frame.
#[derive(Clone, Debug)]
pub struct RecordedFrame {
    /// The screen before the frame, as in ale-py.
    pub screen: RgbImage,
    /// The sound of the frame; [`Ale::sound`] describes the samples.
    pub sound: [u8; SOUND_SAMPLES],
}

/// The frames that have been recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    generator: SoundGenerator,
    frames: Vec<RecordedFrame>,
}

impl Ale {
    /// Returns the frames of all acts since the last call. Acts of a reset, with which some games select their mode,
    /// are included, other frames of a reset are not. An act after the end of an episode has frames, too.
    pub fn take_recorded(&mut self) -> Vec<RecordedFrame> {
        self.recorder.as_mut().map(|recorder| std::mem::take(&mut recorder.frames)).unwrap_or_default()
    }

    /// Emulates a frame of an act, and records it if frames are recorded. Returns its reward.
    #[inline]
    pub(super) fn record_frame(&mut self, rendering: Rendering) -> i32 {
        let Some(mut recorder) = self.recorder.take() else {
            return self.frame(rendering);
        };
        self.show();
        let screen = self.image();
        let reward = self.frame(rendering);
        let mut sound = [0; SOUND_SAMPLES];
        recorder.generator.generate(self.state.console.sound_registers(), &mut sound);
        recorder.frames.push(RecordedFrame { screen, sound });
        self.recorder = Some(recorder);
        reward
    }
}
