//! Pictures of simulations, drawn by MuJoCo with OpenGL.
#![expect(unsafe_code, reason = "calls of C libraries")]

pub(crate) mod error;
mod opengl;
mod structure;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rl_env::RgbImage;

use crate::library::graphics::{
    Graphics, RawCamera, RawContext, RawOption, RawPerturbation, RawScene, Rectangle,
};
use crate::model::Model;
use crate::simulation::{Field, Simulation};
use crate::specs::CameraSpec;

use error::RenderError;
use opengl::{Context, OpenGl, opengl};
use structure::Structure;

/// The width and the height of pictures in pixels: Gymnasium's default.
const SIZE: usize = 480;
const BYTES_PER_PIXEL: usize = 3;
/// The largest number of geometric bodies in a picture, as in Gymnasium.
const MAX_GEOMS: c_int = 1000;
/// The body that a moving camera follows.
const FOLLOWED_BODY: &str = "torso";

/// The camera of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Gymnasium's camera: it stays where it was for the first picture, so that agents that run leave the picture.
    Fixed,
    /// Gymnasium's camera for the first picture; from then on it moves horizontally with the torso, if there is one.
    Following,
}

/// Returns an error unless pictures can be drawn. Loads the library for OpenGL at the first call.
pub fn check_rendering() -> Result<(), RenderError> {
    static RESULT: OnceLock<Result<(), RenderError>> = OnceLock::new();
    let check = || {
        let opengl = opengl()?;
        let mut context = create_context(opengl)?;
        drop(Current::new(context.as_mut()).map_err(unusable(opengl))?);
        Ok(())
    };
    RESULT.get_or_init(check).clone()
}

fn create_context(opengl: &'static dyn OpenGl) -> Result<Box<dyn Context>, RenderError> {
    opengl.create_context(SIZE, SIZE).map_err(unusable(opengl))
}

fn unusable(opengl: &dyn OpenGl) -> impl Fn(String) -> RenderError {
    let library = opengl.name();
    move |reason| RenderError::Unusable { library, reason }
}

/// A context that is current in this thread. Only one thread draws at a time, since MuJoCo keeps the functions of
/// OpenGL in global variables.
struct Current<'a> {
    context: &'a mut dyn Context,
    _drawing: MutexGuard<'static, ()>,
}

impl<'a> Current<'a> {
    fn new(context: &'a mut dyn Context) -> Result<Self, String> {
        static DRAWING: Mutex<()> = Mutex::new(());
        let drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        context.make_current()?;
        Ok(Self { context, _drawing: drawing })
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        self.context.release();
    }
}

/// Draws pictures of simulations of a model.
pub(crate) struct Renderer {
    model: Arc<Model>,
    opengl: &'static dyn OpenGl,
    context: Box<dyn Context>,
    drawing: Drawing,
    /// The point in the middle of pictures while the followed body is where it was first.
    center: [f64; 3],
    /// The index of the followed body, and where it was first.
    followed: Option<(usize, [f64; 3])>,
}

/// What MuJoCo draws with.
struct Drawing {
    option: Structure<RawOption>,
    perturbation: Structure<RawPerturbation>,
    camera: Structure<RawCamera>,
    scene: Structure<RawScene>,
    /// The objects in the context of OpenGL.
    objects: Structure<RawContext>,
}

impl Renderer {
    /// Prepares pictures of a simulation, from Gymnasium's camera for its current state.
    pub(crate) fn new(
        model: Arc<Model>,
        spec: &CameraSpec,
        simulation: &Simulation,
    ) -> Result<Self, RenderError> {
        let opengl = opengl()?;
        let mut context = create_context(opengl)?;
        let drawing = {
            let _current = Current::new(context.as_mut()).map_err(unusable(opengl))?;
            caught(|| Drawing::new(&model)).map_err(unusable(opengl))?
        };
        let offsets = model.library().offsets;
        let followed = model.body(FOLLOWED_BODY).map(|body| (body, simulation.body_position(body)));
        let center = spec.lookat.unwrap_or_else(|| median_position(simulation));
        let mut renderer = Self { model, opengl, context, drawing, center, followed };
        let camera = &mut renderer.drawing.camera;
        // SAFETY: 64-bit floats are at these offsets, as `generate.py` checks.
        unsafe {
            camera.write(offsets.distance, spec.distance.unwrap_or(renderer.model.extent()));
            if let Some(elevation) = spec.elevation {
                camera.write(offsets.elevation, elevation);
            }
        }
        Ok(renderer)
    }

    /// Draws the current state of a simulation of the model.
    pub(crate) fn draw(&mut self, simulation: &Simulation, view: View) -> Result<RgbImage, RenderError> {
        let center = match view {
            View::Fixed => self.center,
            View::Following => self.moved_center(simulation),
        };
        // SAFETY: three 64-bit floats are at the offset, as `generate.py` checks.
        unsafe { self.drawing.camera.write(self.model.library().offsets.lookat, center) };
        let _current = Current::new(self.context.as_mut()).map_err(unusable(self.opengl))?;
        let pixels = caught(|| self.drawing.draw(&self.model, simulation)).map_err(unusable(self.opengl))?;
        Ok(RgbImage { height: SIZE, width: SIZE, pixels: upside_down(&pixels) })
    }

    /// Returns the point in the middle of a picture that follows the body.
    fn moved_center(&self, simulation: &Simulation) -> [f64; 3] {
        let [x, y, z] = self.center;
        let Some((body, first)) = self.followed else { return self.center };
        let now = simulation.body_position(body);
        [x + now[0] - first[0], y + now[1] - first[1], z]
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        // If the context cannot be made current, nothing can free its objects.
        if let Ok(_current) = Current::new(self.context.as_mut()) {
            self.drawing.free(&self.model.library().graphics);
        }
    }
}

impl Drawing {
    /// Prepares drawing in the current context.
    fn new(model: &Model) -> Self {
        let (graphics, offsets) = (&model.library().graphics, model.library().offsets);
        // SAFETY: the structures have the sizes that these functions expect, and the model is valid.
        unsafe {
            let mut scene = Structure::new(offsets.scene_size, graphics.default_scene);
            (graphics.make_scene)(model.as_ptr(), scene.as_mut_ptr(), MAX_GEOMS);
            let mut objects = Structure::new(offsets.context_size, graphics.default_context);
            (graphics.make_context)(model.as_ptr(), objects.as_mut_ptr(), offsets.font_scale);
            (graphics.set_buffer)(offsets.offscreen_buffer, objects.as_mut_ptr());
            let Rectangle { width, height, .. } = (graphics.max_viewport)(objects.as_ptr());
            // A model may ask for smaller pictures.
            let size = SIZE as c_int;
            if width < size || height < size {
                (graphics.resize_offscreen)(width.max(size), height.max(size), objects.as_mut_ptr());
            }
            Self {
                option: Structure::new(offsets.option_size, graphics.default_option),
                perturbation: Structure::new(offsets.perturbation_size, graphics.default_perturbation),
                camera: Structure::new(offsets.camera_size, graphics.default_camera),
                scene,
                objects,
            }
        }
    }

    /// Draws a state in the current context. Returns rows of pixels from the bottom to the top.
    fn draw(&mut self, model: &Model, simulation: &Simulation) -> Vec<u8> {
        let (graphics, offsets) = (&model.library().graphics, model.library().offsets);
        let (scene, objects) = (self.scene.as_mut_ptr(), self.objects.as_ptr());
        let viewport = Rectangle { left: 0, bottom: 0, width: SIZE as c_int, height: SIZE as c_int };
        let mut pixels = vec![0; SIZE * SIZE * BYTES_PER_PIXEL];
        // SAFETY: the structures are initialised and belong to the model. Of the simulation, which no other thread uses
        // meanwhile, MuJoCo changes only the memory for intermediate results. The buffer has the size of the viewport.
        unsafe {
            (graphics.update_scene)(
                model.as_ptr(),
                simulation.as_ptr(),
                self.option.as_ptr(),
                self.perturbation.as_ptr(),
                self.camera.as_mut_ptr(),
                offsets.all_categories,
                scene,
            );
            (graphics.render)(viewport, scene, objects);
            (graphics.read_pixels)(pixels.as_mut_ptr(), ptr::null_mut(), viewport, objects);
        }
        pixels
    }

    /// Frees the memory of MuJoCo, and the objects in the current context.
    fn free(&mut self, graphics: &Graphics) {
        // SAFETY: neither is used any more.
        unsafe {
            (graphics.free_context)(self.objects.as_mut_ptr());
            (graphics.free_scene)(self.scene.as_mut_ptr());
        }
    }
}

/// Returns the median of each coordinate of the geometric bodies, the mean of the middle two if their number is even.
fn median_position(simulation: &Simulation) -> [f64; 3] {
    let positions = simulation.values(Field::GeomPositions).as_chunks::<3>().0;
    [0, 1, 2].map(|axis| median(positions.iter().map(|position| position[axis]).collect()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Reverses the order of the rows.
fn upside_down(pixels: &[u8]) -> Vec<u8> {
    pixels.chunks_exact(SIZE * BYTES_PER_PIXEL).rev().flatten().copied().collect()
}

/// Calls a function of MuJoCo, whose errors are panics. Returns the message of an error.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = payload.downcast_ref::<String>().map_or("MuJoCo failed", String::as_str);
        message.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_those_of_numpy() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 7.0]), 3.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
