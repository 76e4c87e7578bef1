//! OpenGL without a screen: the first of the known libraries that is installed.

mod egl;
mod osmesa;

use std::env;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::OnceLock;

use libloading::Library;

use super::error::RenderError;

/// An environment variable that chooses a library, as it does for MuJoCo's Python package.
const VARIABLE: &str = "MUJOCO_GL";

/// A library that creates contexts.
pub(super) trait OpenGl: Send + Sync {
    /// Returns the name of the library.
    fn name(&self) -> &'static str;

    /// Creates a context with a surface of this size, if the library needs one.
    fn create_context(&'static self, width: usize, height: usize) -> Result<Box<dyn Context>, String>;
}

/// A context, which drawing requires to be current in the thread. Dropping it frees it.
pub(super) trait Context: Send {
    /// Makes the context current in this thread. It must not be current in another one.
    fn make_current(&mut self) -> Result<(), String>;

    /// Makes no context current in this thread.
    fn release(&mut self);
}

/// Loads a library, if it is installed.
type Load = fn() -> Option<Result<Box<dyn OpenGl>, RenderError>>;

/// The libraries by the values of the variable that chooses one, best first.
const LIBRARIES: [(&str, Load); 2] = [("osmesa", osmesa::load), ("egl", egl::load)];

/// Returns the library that `MUJOCO_GL` names, else the first that is installed. It is loaded at the first call and
/// stays loaded, since MuJoCo finds the functions of only one library.
pub(super) fn opengl() -> Result<&'static dyn OpenGl, RenderError> {
    static OPENGL: OnceLock<Result<Box<dyn OpenGl>, RenderError>> = OnceLock::new();
    OPENGL.get_or_init(load).as_ref().map(Box::as_ref).map_err(Clone::clone)
}

fn load() -> Result<Box<dyn OpenGl>, RenderError> {
    let variable = env::var(VARIABLE).unwrap_or_default();
    match LIBRARIES.iter().find(|(name, _)| *name == variable) {
        Some((name, load)) => load().unwrap_or(Err(RenderError::NotTheChosenLibrary { name })),
        None => LIBRARIES.iter().find_map(|(_, load)| load()).unwrap_or(Err(RenderError::NoLibrary)),
    }
}

/// Loads the first library of several names. Its functions become visible to MuJoCo, which looks for them in the whole
/// process.
fn open(names: &[&str]) -> Option<Library> {
    names.iter().find_map(|name| open_globally(name))
}

#[cfg(unix)]
fn open_globally(name: &str) -> Option<Library> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: the names are those of system libraries, whose initialisers have no requirements.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) }.ok().map(Into::into)
}

#[cfg(not(unix))]
fn open_globally(name: &str) -> Option<Library> {
    // SAFETY: as above.
    unsafe { Library::new(name) }.ok()
}

/// Returns the address of a function.
///
/// # Safety
///
/// `T` must be the type of the function.
unsafe fn find<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: as the caller promises.
    let symbol = unsafe { library.get::<T>(name) };
    symbol.map(|symbol| *symbol).map_err(|_| format!("it lacks {name}"))
}

/// A pointer to an object of a library, which may be used by any thread, one at a time.
#[derive(Clone, Copy)]
struct Handle(NonNull<c_void>);

// SAFETY: the libraries require only that a context is current in a single thread at a time.
unsafe impl Send for Handle {}
// SAFETY: as above; displays are shared between threads.
unsafe impl Sync for Handle {}
