//! The library of MuJoCo, loaded at run time.
#![expect(unsafe_code, reason = "calls of a C library")]

pub(crate) mod graphics;

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::MujocoError;
use crate::offsets::{Offsets, version_name};

use graphics::Graphics;

/// An `mjModel`, whose layout depends on the version.
#[repr(C)]
pub(crate) struct RawModel([u8; 0]);

/// An `mjData`, whose layout depends on the version.
#[repr(C)]
pub(crate) struct RawData([u8; 0]);

type LoadXml = unsafe extern "C-unwind" fn(*const c_char, *const c_void, *mut c_char, c_int) -> *mut RawModel;

/// MuJoCo's library, in a version whose structures are known. Stays loaded until the process ends.
pub struct Library {
    pub(crate) offsets: &'static Offsets,
    pub(crate) load_xml: LoadXml,
    pub(crate) delete_model: unsafe extern "C-unwind" fn(*mut RawModel),
    pub(crate) name_to_id: unsafe extern "C-unwind" fn(*const RawModel, c_int, *const c_char) -> c_int,
    pub(crate) make_data: unsafe extern "C-unwind" fn(*const RawModel) -> *mut RawData,
    pub(crate) delete_data: unsafe extern "C-unwind" fn(*mut RawData),
    pub(crate) reset_data: unsafe extern "C-unwind" fn(*const RawModel, *mut RawData),
    pub(crate) forward: unsafe extern "C-unwind" fn(*const RawModel, *mut RawData),
    /// `mj_kinematics`, `mj_comPos` and `mj_camlight`, in the order of their calls.
    pub(crate) place: [unsafe extern "C-unwind" fn(*const RawModel, *mut RawData); 3],
    pub(crate) step: unsafe extern "C-unwind" fn(*const RawModel, *mut RawData),
    pub(crate) rne_post_constraint: unsafe extern "C-unwind" fn(*const RawModel, *mut RawData),
    pub(crate) state_size: unsafe extern "C-unwind" fn(*const RawModel, c_int) -> c_int,
    pub(crate) copy_state_out: unsafe extern "C-unwind" fn(*const RawModel, *const RawData, *mut f64, c_int),
    pub(crate) copy_state_in: unsafe extern "C-unwind" fn(*const RawModel, *mut RawData, *const f64, c_int),
    pub(crate) graphics: Graphics,
}

impl Library {
    /// Loads the library in a file. [`Installation`](crate::Installation) provides one with verified contents.
    ///
    /// # Safety
    /// The file must not contain harmful code. If its `mj_version` returns a supported version, it must be this version
    /// of MuJoCo, unchanged.
    pub unsafe fn load(path: &Path) -> Result<Arc<Self>, MujocoError> {
        /// Held while the library is loaded and its handlers are set, so that no other thread sets them or uses them.
        static LOADING: Mutex<()> = Mutex::new(());
        let _loading = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: loading runs the initialisers of the library, which the caller trusts.
        let library = unsafe { libloading::Library::new(path) };
        // Unloading a library whose threads or destructors are still to run is undefined.
        let symbols = Symbols { path, library: ManuallyDrop::new(library.map_err(not_a_library(path))?) };
        // SAFETY: the types of the functions are those in the headers of every supported version; `mj_version` has had
        // its type in all versions.
        unsafe {
            let version: unsafe extern "C" fn() -> c_int = symbols.find(c"mj_version")?;
            let version = version();
            let offsets = Offsets::for_version(version).ok_or_else(|| MujocoError::UnsupportedVersion {
                path: path.to_owned(),
                found: version_name(version),
                supported: Offsets::supported().collect::<Vec<_>>().join(" and "),
            })?;
            let on_warning: *mut Option<unsafe extern "C" fn(*const c_char)> =
                symbols.find(c"mju_user_warning")?;
            // After the first time the library may be in use, so nothing is written.
            if (*on_warning).is_none() {
                *on_warning = Some(ignore_warning);
            }
            let on_error: *mut Option<unsafe extern "C-unwind" fn(*const c_char)> =
                symbols.find(c"mju_user_error")?;
            if (*on_error).is_none() {
                *on_error = Some(panic_with);
            }
            Ok(Arc::new(Self {
                offsets,
                load_xml: symbols.find(c"mj_loadXML")?,
                delete_model: symbols.find(c"mj_deleteModel")?,
                name_to_id: symbols.find(c"mj_name2id")?,
                make_data: symbols.find(c"mj_makeData")?,
                delete_data: symbols.find(c"mj_deleteData")?,
                reset_data: symbols.find(c"mj_resetData")?,
                forward: symbols.find(c"mj_forward")?,
                place: [
                    symbols.find(c"mj_kinematics")?,
                    symbols.find(c"mj_comPos")?,
                    symbols.find(c"mj_camlight")?,
                ],
                step: symbols.find(c"mj_step")?,
                rne_post_constraint: symbols.find(c"mj_rnePostConstraint")?,
                state_size: symbols.find(c"mj_stateSize")?,
                copy_state_out: symbols.find(c"mj_getState")?,
                copy_state_in: symbols.find(c"mj_setState")?,
                graphics: Graphics::find(&symbols)?,
            }))
        }
    }

    /// Returns the version, such as 3.17.0.
    pub fn version(&self) -> String {
        version_name(self.offsets.version)
    }
}

struct Symbols<'a> {
    path: &'a Path,
    library: ManuallyDrop<libloading::Library>,
}

impl Symbols<'_> {
    /// Returns the address of a function or variable.
    ///
    /// # Safety
    ///
    /// `T` must be the type of the function, or a pointer to the variable.
    unsafe fn find<T: Copy>(&self, name: &CStr) -> Result<T, MujocoError> {
        // SAFETY: as the caller promises.
        let symbol = unsafe { self.library.get::<T>(name) };
        symbol.map(|symbol| *symbol).map_err(not_a_library(self.path))
    }
}

fn not_a_library(path: &Path) -> impl FnOnce(libloading::Error) -> MujocoError {
    let path = path.to_owned();
    move |error| {
        // The error itself names only the loader function that failed; its source has the cause.
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        MujocoError::NotALibrary { path, reason }
    }
}

/// Discards a warning. By default MuJoCo prints warnings and writes them to a file in the current directory. They
/// report that a simulation has become unstable, after which MuJoCo resets it.
unsafe extern "C" fn ignore_warning(_message: *const c_char) {}

/// Turns an error during a simulation, such as too little memory for its stack, into a panic. By default it ends the
/// process. The panic passes through MuJoCo's functions and becomes an error of the vector environment, which is not
/// usable afterwards.
unsafe extern "C-unwind" fn panic_with(message: *const c_char) {
    // SAFETY: MuJoCo passes a string that ends with zero.
    let message = unsafe { CStr::from_ptr(message) };
    panic!("MuJoCo: {}", message.to_string_lossy());
}
