use std::ffi::c_int;

use super::{RawData, RawModel, Symbols};
use crate::error::MujocoError;

/// An `mjvCamera`, whose size depends on the version, as do those of the following structures.
#[repr(C)]
pub(crate) struct RawCamera([u8; 0]);

/// An `mjvOption`.
#[repr(C)]
pub(crate) struct RawOption([u8; 0]);

/// An `mjvPerturb`.
#[repr(C)]
pub(crate) struct RawPerturbation([u8; 0]);

/// An `mjvScene`.
#[repr(C)]
pub(crate) struct RawScene([u8; 0]);

/// An `mjrContext`.
#[repr(C)]
pub(crate) struct RawContext([u8; 0]);

/// An `mjrRect`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Rectangle {
    pub(crate) left: c_int,
    pub(crate) bottom: c_int,
    pub(crate) width: c_int,
    pub(crate) height: c_int,
}

type UpdateScene = unsafe extern "C-unwind" fn(
    *const RawModel,
    *mut RawData,
    *const RawOption,
    *const RawPerturbation,
    *mut RawCamera,
    c_int,
    *mut RawScene,
);

/// The functions that draw pictures.
pub(crate) struct Graphics {
    pub(crate) default_camera: unsafe extern "C-unwind" fn(*mut RawCamera),
    pub(crate) default_option: unsafe extern "C-unwind" fn(*mut RawOption),
    pub(crate) default_perturbation: unsafe extern "C-unwind" fn(*mut RawPerturbation),
    pub(crate) default_scene: unsafe extern "C-unwind" fn(*mut RawScene),
    pub(crate) make_scene: unsafe extern "C-unwind" fn(*const RawModel, *mut RawScene, c_int),
    pub(crate) update_scene: UpdateScene,
    pub(crate) free_scene: unsafe extern "C-unwind" fn(*mut RawScene),
    pub(crate) default_context: unsafe extern "C-unwind" fn(*mut RawContext),
    pub(crate) make_context: unsafe extern "C-unwind" fn(*const RawModel, *mut RawContext, c_int),
    pub(crate) free_context: unsafe extern "C-unwind" fn(*mut RawContext),
    pub(crate) set_buffer: unsafe extern "C-unwind" fn(c_int, *mut RawContext),
    pub(crate) max_viewport: unsafe extern "C-unwind" fn(*const RawContext) -> Rectangle,
    pub(crate) resize_offscreen: unsafe extern "C-unwind" fn(c_int, c_int, *mut RawContext),
    pub(crate) render: unsafe extern "C-unwind" fn(Rectangle, *mut RawScene, *const RawContext),
    pub(crate) read_pixels: unsafe extern "C-unwind" fn(*mut u8, *mut f32, Rectangle, *const RawContext),
}

impl Graphics {
    /// Finds the functions.
    ///
    /// # Safety
    ///
    /// The library must be a supported version of MuJoCo.
    pub(super) unsafe fn find(symbols: &Symbols<'_>) -> Result<Self, MujocoError> {
        // SAFETY: the types of the functions are those in the headers of every supported version.
        unsafe {
            Ok(Self {
                default_camera: symbols.find(c"mjv_defaultCamera")?,
                default_option: symbols.find(c"mjv_defaultOption")?,
                default_perturbation: symbols.find(c"mjv_defaultPerturb")?,
                default_scene: symbols.find(c"mjv_defaultScene")?,
                make_scene: symbols.find(c"mjv_makeScene")?,
                update_scene: symbols.find(c"mjv_updateScene")?,
                free_scene: symbols.find(c"mjv_freeScene")?,
                default_context: symbols.find(c"mjr_defaultContext")?,
                make_context: symbols.find(c"mjr_makeContext")?,
                free_context: symbols.find(c"mjr_freeContext")?,
                set_buffer: symbols.find(c"mjr_setBuffer")?,
                max_viewport: symbols.find(c"mjr_maxViewport")?,
                resize_offscreen: symbols.find(c"mjr_resizeOffscreen")?,
                render: symbols.find(c"mjr_render")?,
                read_pixels: symbols.find(c"mjr_readPixels")?,
            })
        }
    }
}
