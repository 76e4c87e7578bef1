//! The rendering functions of MuJoCo and their structures.
//!
//! All structures except for [`Rectangle`] are opaque: their sizes depend on the version. `Structure` allocates them.

use std::ffi::c_int;

use super::{RawData, RawModel, Symbols};
use crate::error::MujocoError;

/// An `mjvCamera`.
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

/// An `mjrRect`, in pixels. Its layout is the same in all versions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Rectangle {
    pub(crate) left: c_int,
    pub(crate) bottom: c_int,
    pub(crate) width: c_int,
    pub(crate) height: c_int,
}

type UpdateScene = unsafe extern "C-unwind" fn(
    model: *const RawModel,
    data: *mut RawData,
    option: *const RawOption,
    perturbation: *const RawPerturbation,
    camera: *mut RawCamera,
    categories: c_int,
    scene: *mut RawScene,
);

/// The rendering functions of MuJoCo (`mjv_*` and `mjr_*`).
pub(crate) struct Graphics {
    pub(crate) default_camera: unsafe extern "C-unwind" fn(camera: *mut RawCamera),
    pub(crate) default_option: unsafe extern "C-unwind" fn(option: *mut RawOption),
    pub(crate) default_perturbation: unsafe extern "C-unwind" fn(perturbation: *mut RawPerturbation),
    pub(crate) default_scene: unsafe extern "C-unwind" fn(scene: *mut RawScene),
    pub(crate) make_scene:
        unsafe extern "C-unwind" fn(model: *const RawModel, scene: *mut RawScene, max_geoms: c_int),
    pub(crate) update_scene: UpdateScene,
    pub(crate) free_scene: unsafe extern "C-unwind" fn(scene: *mut RawScene),
    pub(crate) default_context: unsafe extern "C-unwind" fn(context: *mut RawContext),
    pub(crate) make_context:
        unsafe extern "C-unwind" fn(model: *const RawModel, context: *mut RawContext, font_scale: c_int),
    pub(crate) free_context: unsafe extern "C-unwind" fn(context: *mut RawContext),
    pub(crate) set_buffer: unsafe extern "C-unwind" fn(framebuffer: c_int, context: *mut RawContext),
    pub(crate) max_viewport: unsafe extern "C-unwind" fn(context: *const RawContext) -> Rectangle,
    pub(crate) resize_offscreen:
        unsafe extern "C-unwind" fn(width: c_int, height: c_int, context: *mut RawContext),
    pub(crate) render:
        unsafe extern "C-unwind" fn(viewport: Rectangle, scene: *mut RawScene, context: *const RawContext),
    pub(crate) read_pixels: unsafe extern "C-unwind" fn(
        rgb: *mut u8,
        depth: *mut f32,
        viewport: Rectangle,
        context: *const RawContext,
    ),
}

impl Graphics {
    /// Finds the functions. Fails if the library lacks one of them.
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
