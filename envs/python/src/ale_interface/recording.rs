//! The recording of frames as files: `record_screen_dir` and `record_sound_filename`.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

use ale::{RecordedFrame, SOUND_RATE};
use pyo3::prelude::*;

use super::screen;
use crate::errors;

/// The files of a recording.
pub(super) struct Recording {
    /// The directory of the screens.
    directory: Option<PathBuf>,
    sound: Option<SoundFile>,
    /// The number of the next screen.
    next: u32,
}

impl Recording {
    /// Starts a recording of screens, of sound or of both; none if neither has a path.
    pub(super) fn start(directory: &str, sound: &str) -> PyResult<Option<Self>> {
        let [directory, sound] =
            [directory, sound].map(|path| (!path.is_empty()).then(|| PathBuf::from(path)));
        if directory.is_none() && sound.is_none() {
            return Ok(None);
        }
        if let Some(directory) = &directory {
            // Otherwise the first act would fail.
            fs::read_dir(directory).map_err(|error| errors::from_file(directory, &error))?;
        }
        Ok(Some(Self { directory, sound: sound.map(SoundFile::create).transpose()?, next: 0 }))
    }

    /// Writes frames.
    pub(super) fn write(&mut self, frames: &[RecordedFrame]) -> PyResult<()> {
        for frame in frames {
            if let Some(directory) = &self.directory {
                screen::save_png(&frame.screen, &directory.join(format!("{:06}.png", self.next)))?;
                self.next += 1;
            }
            if let Some(sound) = &mut self.sound {
                sound.append(&frame.sound)?;
            }
        }
        Ok(())
    }
}

/// A WAV file of 8-bit mono samples, which is complete after every call.
struct SoundFile {
    path: PathBuf,
    file: File,
    /// The number of samples.
    length: u32,
}

impl SoundFile {
    fn create(path: PathBuf) -> PyResult<Self> {
        let file = File::create(&path).map_err(|error| errors::from_file(&path, &error))?;
        let mut sound = Self { path, file, length: 0 };
        sound.append(&[])?;
        Ok(sound)
    }

    fn append(&mut self, samples: &[u8]) -> PyResult<()> {
        self.write(samples).map_err(|error| errors::from_file(&self.path, &error))
    }

    fn write(&mut self, samples: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(samples)?;
        self.length = self.length.saturating_add(samples.len() as u32);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header(self.length))
    }
}

/// Returns the header of a WAV file with this number of samples, as in ale-py.
fn header(samples: u32) -> Vec<u8> {
    const FORMAT: u32 = 16;
    const PCM: u16 = 1;
    const CHANNELS: u16 = 1;
    const BYTES: u16 = 1;
    /// The length of the header behind the size of the file.
    const REST: u32 = 36;
    let rate = SOUND_RATE as u32;
    let bytes_per_second = rate * u32::from(CHANNELS * BYTES);
    [
        &b"RIFF"[..],
        &samples.saturating_add(REST).to_le_bytes(),
        b"WAVEfmt ",
        &FORMAT.to_le_bytes(),
        &PCM.to_le_bytes(),
        &CHANNELS.to_le_bytes(),
        &rate.to_le_bytes(),
        &bytes_per_second.to_le_bytes(),
        &(CHANNELS * BYTES).to_le_bytes(),
        &(8 * BYTES).to_le_bytes(),
        b"data",
        &samples.to_le_bytes(),
    ]
    .concat()
}
