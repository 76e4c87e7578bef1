//! Screens, RAM and sound as NumPy arrays.

use std::fs;
use std::path::Path;

use ale::{Ale, RAM, RgbImage, SCREEN_WIDTH, SOUND_SAMPLES};
use numpy::ndarray::IxDyn;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors;

/// The contents of an array: the screen in one of its formats, RAM or sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// The screen's palette bytes.
    Palette,
    Rgb,
    Grayscale,
    Ram,
    /// The samples of the last act, 0 if sound is switched off.
    Sound,
}

impl<'py> FromPyObject<'_, 'py> for View {
    type Error = PyErr;

    /// Reads an observation type of `AtariEnv`.
    fn extract(name: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match name.extract::<&str>()? {
            "rgb" => Ok(Self::Rgb),
            "grayscale" => Ok(Self::Grayscale),
            "ram" => Ok(Self::Ram),
            other => Err(PyValueError::new_err(format!(
                "the observation type is {other:?}, but must be rgb, grayscale or ram"
            ))),
        }
    }
}

impl View {
    pub(super) fn is_screen(self) -> bool {
        !matches!(self, Self::Ram | Self::Sound)
    }

    /// Returns the shape of the array.
    fn shape(self, ale: &Ale) -> Vec<usize> {
        match self {
            Self::Palette | Self::Grayscale => vec![ale.height(), SCREEN_WIDTH],
            Self::Rgb => vec![ale.height(), SCREEN_WIDTH, 3],
            Self::Ram => vec![RAM],
            Self::Sound => vec![SOUND_SAMPLES],
        }
    }

    /// Writes the bytes of the array.
    fn write(self, ale: &Ale, bytes: &mut [u8]) {
        match self {
            Self::Palette => bytes.copy_from_slice(ale.screen()),
            Self::Rgb => ale.write_screen_rgb(bytes),
            Self::Grayscale => ale.write_screen_grey(bytes),
            Self::Ram => bytes.copy_from_slice(ale.ram()),
            Self::Sound => bytes.copy_from_slice(ale.sound().unwrap_or(&[0; SOUND_SAMPLES])),
        }
    }

    /// Returns the bytes of the array.
    pub(super) fn bytes(self, ale: &Ale) -> Vec<u8> {
        let mut bytes = vec![0; self.shape(ale).iter().product()];
        self.write(ale, &mut bytes);
        bytes
    }

    /// Returns an array of these bytes.
    pub(super) fn array<'py>(
        self,
        py: Python<'py>,
        ale: &Ale,
        bytes: Vec<u8>,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        PyArray1::from_vec(py, bytes).reshape(IxDyn(&self.shape(ale)))
    }

    /// Writes to an array of the caller.
    pub(super) fn fill(self, ale: &Ale, buffer: &Bound<'_, PyAny>) -> PyResult<()> {
        let shape = self.shape(ale);
        // The messages of type errors begin like ale-py's.
        let unsupported = || {
            PyTypeError::new_err(format!(
                "incompatible function arguments. The following argument types are supported: an array of uint8 with the \
                 shape {shape:?}, contiguous in C order"
            ))
        };
        let array = buffer.cast::<PyArrayDyn<u8>>().map_err(|_| unsupported())?;
        if !array.is_c_contiguous() {
            return Err(unsupported());
        }
        if array.shape() != shape {
            let message = format!("the buffer has the shape {:?}, but must have {shape:?}", array.shape());
            return Err(if self.is_screen() { PyRuntimeError::new_err(message) } else { unsupported() });
        }
        let mut array = array.try_readwrite().map_err(|error| PyTypeError::new_err(error.to_string()))?;
        self.write(ale, array.as_slice_mut()?);
        Ok(())
    }
}

/// Writes a screen to a PNG file. Pixels are doubled in width, as in ale-py.
pub(super) fn save_png(screen: &RgbImage, path: &Path) -> PyResult<()> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 2 * screen.width as u32, screen.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    let pixels: Vec<u8> =
        screen.pixels.as_chunks::<3>().0.iter().flat_map(|pixel| [*pixel; 2]).flatten().collect();
    let encoded = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&pixels)?;
        writer.finish()
    });
    let written = encoded.map_err(Into::into).and_then(|()| fs::write(path, &file));
    written.map_err(|error| errors::from_file(path, &error))
}
