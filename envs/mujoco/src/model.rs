//! A compiled model: the constants of a simulation.
#![expect(unsafe_code, reason = "fields of a C structure")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::MujocoError;
use crate::library::{Library, RawModel};

/// A model. It never changes after loading.
pub(crate) struct Model {
    library: Arc<Library>,
    raw: NonNull<RawModel>,
    path: PathBuf,
    pub(crate) sizes: Sizes,
}

/// The lengths of the arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) positions: usize,
    pub(crate) velocities: usize,
    pub(crate) controls: usize,
    pub(crate) bodies: usize,
    pub(crate) geoms: usize,
    pub(crate) sites: usize,
    pub(crate) tendons: usize,
}

// SAFETY: the structure is only read after loading, by this crate and by MuJoCo's functions, which take it as constant.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

/// The length of MuJoCo's messages about models.
const MESSAGE_LENGTH: usize = 1000;

impl Model {
    /// Loads a model from a file in MuJoCo's format MJCF.
    pub(crate) fn load(library: Arc<Library>, path: &Path) -> Result<Self, MujocoError> {
        /// MuJoCo's parser keeps the last model in a global variable.
        static PARSER: Mutex<()> = Mutex::new(());
        let _parser = PARSER.lock().unwrap_or_else(PoisonError::into_inner);
        let bad = |reason: String| MujocoError::BadModel { path: path.to_owned(), reason };
        let name =
            CString::new(path.as_os_str().as_encoded_bytes()).map_err(|error| bad(error.to_string()))?;
        let mut message = [0_u8; MESSAGE_LENGTH];
        let start = message.as_mut_ptr().cast::<c_char>();
        // SAFETY: the strings end with zero bytes, and the length is that of the buffer.
        let raw =
            unsafe { (library.load_xml)(name.as_ptr(), std::ptr::null(), start, MESSAGE_LENGTH as c_int) };
        let Some(raw) = NonNull::new(raw) else {
            let message = CStr::from_bytes_until_nul(&message).unwrap_or_default().to_string_lossy();
            return Err(bad(message.split_whitespace().collect::<Vec<_>>().join(" ")));
        };
        let offsets = library.offsets;
        // SAFETY: the counts are 64-bit integers at these offsets, as `generate.py` checks.
        let count = |offset| unsafe { read::<i64>(raw.as_ptr(), offset) } as usize;
        let sizes = Sizes {
            positions: count(offsets.nq),
            velocities: count(offsets.nv),
            controls: count(offsets.nu),
            bodies: count(offsets.nbody),
            geoms: count(offsets.ngeom),
            sites: count(offsets.nsite),
            tendons: count(offsets.ntendon),
        };
        Ok(Self { raw, path: path.to_owned(), sizes, library })
    }

    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn as_ptr(&self) -> *const RawModel {
        self.raw.as_ptr()
    }

    /// Returns the seconds of simulated time in one of MuJoCo's steps.
    pub(crate) fn timestep(&self) -> f64 {
        // SAFETY: a 64-bit float is at this offset, as `generate.py` checks.
        unsafe { read(self.as_ptr(), self.library.offsets.timestep) }
    }

    /// Returns the size of the model: that of a box which contains it.
    pub(crate) fn extent(&self) -> f64 {
        // SAFETY: a 64-bit float is at this offset, as `generate.py` checks.
        unsafe { read(self.as_ptr(), self.library.offsets.extent) }
    }

    /// Returns the positions in the initial state, in which all velocities are 0.
    pub(crate) fn initial_positions(&self) -> &[f64] {
        self.array(self.library.offsets.qpos0, self.sizes.positions)
    }

    pub(crate) fn body_masses(&self) -> &[f64] {
        self.array(self.library.offsets.body_mass, self.sizes.bodies)
    }

    /// Returns the lowest and the highest value of each control.
    pub(crate) fn control_ranges(&self) -> &[[f64; 2]] {
        self.array(self.library.offsets.actuator_ctrlrange, 2 * self.sizes.controls).as_chunks().0
    }

    /// Returns the index of the body with this name.
    pub(crate) fn body(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: the string ends with a zero byte.
        let id = unsafe {
            (self.library.name_to_id)(self.as_ptr(), self.library.offsets.body_object, name.as_ptr())
        };
        usize::try_from(id).ok()
    }

    fn array(&self, offset: usize, length: usize) -> &[f64] {
        // SAFETY: a pointer to 64-bit floats is at the offset, as `generate.py` checks; the length is the field's.
        unsafe { slice(self.as_ptr(), offset, length) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the model is not used any more.
        unsafe { (self.library.delete_model)(self.raw.as_ptr()) }
    }
}

/// Reads a field of a structure.
///
/// # Safety
///
/// A value of type `T` must be at the offset.
pub(crate) unsafe fn read<T: Copy>(structure: *const impl Sized, offset: usize) -> T {
    // SAFETY: as the caller promises. Fields are aligned for their types.
    unsafe { structure.cast::<u8>().add(offset).cast::<T>().read() }
}

/// Returns the array that a field of a structure points to.
///
/// # Safety
///
/// A pointer to that many floats, which nothing changes during the lifetime, must be at the offset.
pub(crate) unsafe fn slice<'a>(structure: *const impl Sized, offset: usize, length: usize) -> &'a [f64] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(read(structure, offset), length) }
}
