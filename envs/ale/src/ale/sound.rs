//! The sound of a game, with the setting [`sound`](crate::AleSettings::sound).

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;
use vcs::{SoundGenerator, SoundRegisters};

use super::Ale;

/// The number of samples that an [`act`](Ale::act) generates.
pub const SOUND_SAMPLES: usize = 512;

/// The samples per second at which 512 samples last a sixtieth of a second, the time of an NTSC frame.
pub const SOUND_RATE: usize = 60 * SOUND_SAMPLES;

/// The samples of the last act, and the generator that continues after them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sound {
    generator: SoundGenerator,
    #[serde(with = "BigArray")]
    samples: [u8; SOUND_SAMPLES],
}

impl Default for Sound {
    fn default() -> Self {
        Self { generator: SoundGenerator::default(), samples: [0; SOUND_SAMPLES] }
    }
}

impl Sound {
    pub(super) fn generate(&mut self, registers: SoundRegisters) {
        self.generator.generate(registers, &mut self.samples);
    }
}

impl Ale {
    /// Switches the sound on, which begins anew.
    pub(crate) fn switch_sound_on(&mut self) {
        self.settings.sound = true;
        self.sound = Some(Sound::default());
    }

    /// Returns the sound of the last act, mono samples from 128 (silence) to 248, or `None` without the setting
    /// [`sound`](crate::AleSettings::sound). They are 0 until the first act after loading.
    ///
    /// As in ale-py, every act continues the sound by 512 samples, whatever its number of frames, and also after the
    /// end of the episode. They follow from the sound registers at the end of the act. Resets and [saved
    /// states](Ale::restore_state) leave the sound as it is.
    pub fn sound(&self) -> Option<&[u8; SOUND_SAMPLES]> {
        self.sound.as_ref().map(|sound| &sound.samples)
    }
}
