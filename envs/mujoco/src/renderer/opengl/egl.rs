use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::{ManuallyDrop, transmute_copy};
use std::ptr::{self, NonNull};

use libloading::Library;

use super::{Context, Handle, OpenGl, find, open};
use crate::renderer::error::RenderError;

const NAME: &str = "libEGL";
const FILES: [&str; 2] = ["libEGL.so.1", "libEGL.so"];

/// `EGL_PLATFORM_DEVICE_EXT`.
const PLATFORM_DEVICE: c_uint = 0x313F;
/// `EGL_OPENGL_API`.
const OPENGL_API: c_uint = 0x30A2;
const TRUE: c_uint = 1;
/// The largest number of devices that are tried.
const MAX_DEVICES: usize = 32;
/// The attributes of a configuration, as in MuJoCo's Python package.
const ATTRIBUTES: [c_int; 19] = [
    0x3024, 8, // EGL_RED_SIZE
    0x3023, 8, // EGL_GREEN_SIZE
    0x3022, 8, // EGL_BLUE_SIZE
    0x3021, 8, // EGL_ALPHA_SIZE
    0x3025, 24, // EGL_DEPTH_SIZE
    0x3026, 8, // EGL_STENCIL_SIZE
    0x303F, 0x308E, // EGL_COLOR_BUFFER_TYPE, EGL_RGB_BUFFER
    0x3033, 1, // EGL_SURFACE_TYPE, EGL_PBUFFER_BIT
    0x3040, 8,      // EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT
    0x3038, // EGL_NONE
];

type GetProcAddress = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type QueryDevices = unsafe extern "C" fn(c_int, *mut *mut c_void, *mut c_int) -> c_uint;
type GetPlatformDisplay = unsafe extern "C" fn(c_uint, *mut c_void, *const c_int) -> *mut c_void;
type Initialize = unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_int) -> c_uint;
type ChooseConfig =
    unsafe extern "C" fn(*mut c_void, *const c_int, *mut *mut c_void, c_int, *mut c_int) -> c_uint;
type CreateContext = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *const c_int) -> *mut c_void;
type MakeCurrent = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_uint;

/// The library of a driver, which may draw on a GPU, with the first device that can be used.
struct Egl {
    bind_api: unsafe extern "C" fn(c_uint) -> c_uint,
    create_context: CreateContext,
    make_current: MakeCurrent,
    destroy_context: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_uint,
    display: Handle,
    config: Handle,
}

/// A context without a surface: MuJoCo draws to a buffer of its own.
struct EglContext {
    library: &'static Egl,
    context: Handle,
}

/// Loads the library, if it is installed.
pub(super) fn load() -> Option<Result<Box<dyn OpenGl>, RenderError>> {
    // Never unloaded, because MuJoCo keeps the addresses of its functions.
    let library = ManuallyDrop::new(open(&FILES)?);
    let unusable = |reason| RenderError::Unusable { library: NAME, reason };
    Some(Egl::new(&library).map(|egl| Box::new(egl) as Box<dyn OpenGl>).map_err(unusable))
}

impl Egl {
    fn new(library: &Library) -> Result<Self, String> {
        let display = display(library)?;
        // SAFETY: the types of the functions are those in the headers of EGL.
        unsafe {
            Ok(Self {
                bind_api: find(library, "eglBindAPI")?,
                create_context: find(library, "eglCreateContext")?,
                make_current: find(library, "eglMakeCurrent")?,
                destroy_context: find(library, "eglDestroyContext")?,
                display,
                config: config(library, display)?,
            })
        }
    }

    /// Makes a context current in this thread, or none. Returns false on failure.
    fn switch_to(&self, context: *mut c_void) -> bool {
        let no_surface = ptr::null_mut();
        // SAFETY: the display is initialised, and the context is one of this display. The chosen interface is a
        // property of the thread.
        unsafe {
            (self.bind_api)(OPENGL_API) == TRUE
                && (self.make_current)(self.display.0.as_ptr(), no_surface, no_surface, context) == TRUE
        }
    }
}

/// Returns the display of the first device that can be initialised.
fn display(library: &Library) -> Result<Handle, String> {
    let (mut devices, mut count) = ([ptr::null_mut(); MAX_DEVICES], 0);
    // SAFETY: the types of the functions are those in the headers of EGL; the buffer has the given length.
    unsafe {
        let initialize: Initialize = find(library, "eglInitialize")?;
        let query_devices: QueryDevices = extension(library, c"eglQueryDevicesEXT")?;
        let get_platform_display: GetPlatformDisplay = extension(library, c"eglGetPlatformDisplayEXT")?;
        query_devices(MAX_DEVICES as c_int, devices.as_mut_ptr(), &raw mut count);
        let displays = devices[..count.clamp(0, MAX_DEVICES as c_int) as usize]
            .iter()
            .filter_map(|&device| NonNull::new(get_platform_display(PLATFORM_DEVICE, device, ptr::null())));
        let mut usable =
            displays.filter(|display| initialize(display.as_ptr(), ptr::null_mut(), ptr::null_mut()) == TRUE);
        usable.next().map(Handle).ok_or_else(|| "it finds no device".to_owned())
    }
}

/// Returns a configuration of a display.
fn config(library: &Library, display: Handle) -> Result<Handle, String> {
    let (mut config, mut count) = (ptr::null_mut(), 0);
    // SAFETY: the types of the functions are those in the headers of EGL; there is room for one configuration.
    unsafe {
        let choose_config: ChooseConfig = find(library, "eglChooseConfig")?;
        choose_config(display.0.as_ptr(), ATTRIBUTES.as_ptr(), &raw mut config, 1, &raw mut count);
    }
    NonNull::new(config)
        .filter(|_| count > 0)
        .map(Handle)
        .ok_or_else(|| "it has no suitable configuration".to_owned())
}

/// Returns the address of a function of an extension.
///
/// # Safety
///
/// `T` must be the type of the function.
unsafe fn extension<T: Copy>(library: &Library, name: &CStr) -> Result<T, String> {
    // SAFETY: the type of the function is that in the headers of EGL; the name ends with a zero byte.
    let address = unsafe { find::<GetProcAddress>(library, "eglGetProcAddress")?(name.as_ptr()) };
    if address.is_null() {
        return Err(format!("it lacks {}", name.to_string_lossy()));
    }
    // SAFETY: as the caller promises; addresses of functions have the size of pointers.
    Ok(unsafe { transmute_copy(&address) })
}

impl OpenGl for Egl {
    fn name(&self) -> &'static str {
        NAME
    }

    fn create_context(&'static self, _width: usize, _height: usize) -> Result<Box<dyn Context>, String> {
        // SAFETY: display and configuration are valid, and the context shares no objects with another one.
        let context = unsafe {
            (self.bind_api)(OPENGL_API);
            let (display, config) = (self.display.0.as_ptr(), self.config.0.as_ptr());
            (self.create_context)(display, config, ptr::null_mut(), ptr::null())
        };
        let context = Handle(NonNull::new(context).ok_or("it creates no context")?);
        Ok(Box::new(EglContext { library: self, context }))
    }
}

impl Context for EglContext {
    fn make_current(&mut self) -> Result<(), String> {
        let is_current = self.library.switch_to(self.context.0.as_ptr());
        if is_current { Ok(()) } else { Err("its context cannot be used".to_owned()) }
    }

    fn release(&mut self) {
        self.library.switch_to(ptr::null_mut());
    }
}

impl Drop for EglContext {
    fn drop(&mut self) {
        // SAFETY: the context is not used any more.
        unsafe { (self.library.destroy_context)(self.library.display.0.as_ptr(), self.context.0.as_ptr()) };
    }
}
