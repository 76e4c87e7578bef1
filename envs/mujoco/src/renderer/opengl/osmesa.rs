use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use libloading::Library;

use super::{Context, Handle, OpenGl, find, open};
use crate::renderer::error::RenderError;

const NAME: &str = "libOSMesa";
/// The names of its files, whose functions are the same.
const FILES: [&str; 3] = ["libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"];

/// `OSMESA_RGBA`.
const RGBA: c_uint = 0x1908;
/// `GL_FLOAT`.
const FLOAT: c_uint = 0x1406;
const CHANNELS: usize = 4;
// The bits of a pixel, as in MuJoCo's Python package.
const DEPTH_BITS: c_int = 24;
const STENCIL_BITS: c_int = 8;
const ACCUMULATOR_BITS: c_int = 0;

/// Mesa's library that draws into memory, on the processor.
struct OsMesa {
    create_context: unsafe extern "C" fn(c_uint, c_int, c_int, c_int, *mut c_void) -> *mut c_void,
    make_current: unsafe extern "C" fn(*mut c_void, *mut c_void, c_uint, c_int, c_int) -> u8,
    destroy_context: unsafe extern "C" fn(*mut c_void),
}

/// A context with a surface, which it requires although MuJoCo draws to a buffer of its own.
struct OsMesaContext {
    library: &'static OsMesa,
    context: Handle,
    width: c_int,
    height: c_int,
    surface: Vec<f32>,
}

/// Loads the library, if it is installed.
pub(super) fn load() -> Option<Result<Box<dyn OpenGl>, RenderError>> {
    // Never unloaded, because MuJoCo keeps the addresses of its functions.
    let library = ManuallyDrop::new(open(&FILES)?);
    let unusable = |reason| RenderError::Unusable { library: NAME, reason };
    Some(OsMesa::new(&library).map(|osmesa| Box::new(osmesa) as Box<dyn OpenGl>).map_err(unusable))
}

impl OsMesa {
    fn new(library: &Library) -> Result<Self, String> {
        // SAFETY: the types of the functions are those in Mesa's header.
        unsafe {
            Ok(Self {
                create_context: find(library, "OSMesaCreateContextExt")?,
                make_current: find(library, "OSMesaMakeCurrent")?,
                destroy_context: find(library, "OSMesaDestroyContext")?,
            })
        }
    }
}

impl OpenGl for OsMesa {
    fn name(&self) -> &'static str {
        NAME
    }

    fn create_context(&'static self, width: usize, height: usize) -> Result<Box<dyn Context>, String> {
        // SAFETY: the numbers are valid, and the context shares no objects with another one.
        let context = unsafe {
            (self.create_context)(RGBA, DEPTH_BITS, STENCIL_BITS, ACCUMULATOR_BITS, ptr::null_mut())
        };
        Ok(Box::new(OsMesaContext {
            library: self,
            context: Handle(NonNull::new(context).ok_or("it creates no context")?),
            width: width as c_int,
            height: height as c_int,
            surface: vec![0.0; width * height * CHANNELS],
        }))
    }
}

impl Context for OsMesaContext {
    fn make_current(&mut self) -> Result<(), String> {
        let (context, surface) = (self.context.0.as_ptr(), self.surface.as_mut_ptr().cast());
        // SAFETY: the surface has this size and lives as long as the context.
        let is_current =
            unsafe { (self.library.make_current)(context, surface, FLOAT, self.width, self.height) };
        if is_current == 0 { Err("its context cannot be used".to_owned()) } else { Ok(()) }
    }

    fn release(&mut self) {
        // SAFETY: without a context, there is no surface.
        unsafe { (self.library.make_current)(ptr::null_mut(), ptr::null_mut(), FLOAT, 0, 0) };
    }
}

impl Drop for OsMesaContext {
    fn drop(&mut self) {
        // SAFETY: the context is not used any more.
        unsafe { (self.library.destroy_context)(self.context.0.as_ptr()) }
    }
}
