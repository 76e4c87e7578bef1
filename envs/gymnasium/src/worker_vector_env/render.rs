//! Frames of environments.

use rl_env::VectorError;
use serde::{Deserialize, Serialize};

use super::WorkerVectorEnv;

/// The request for a frame.
#[derive(Serialize)]
#[serde(tag = "request", rename = "render")]
struct Render {
    env: usize,
}

/// The request for the frames per second.
#[derive(Serialize)]
#[serde(tag = "request", rename = "render_fps")]
struct RenderFps {
    env: usize,
}

/// The reply to [`RenderFps`].
#[derive(Deserialize)]
struct Rate {
    fps: Option<f64>,
}

/// The size of a frame.
#[derive(Deserialize)]
struct Size {
    height: usize,
    width: usize,
}

/// A rendered frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RgbFrame {
    /// The height in pixels.
    pub height: usize,
    /// The width in pixels.
    pub width: usize,
    /// Three bytes for each pixel, red, green and blue, in rows from the top.
    pub pixels: Vec<u8>,
}

impl WorkerVectorEnv {
    /// Returns the frame of an environment that is not in flight. Its [`render_mode`](crate::EnvOptions::render_mode)
    /// must be `rgb_array`; any other is [`VectorError::Env`], as is a missing package, after which the vector
    /// environment can still be used.
    pub fn render(&self, env: usize) -> Result<RgbFrame, VectorError> {
        self.phase.check_ready("render was called before the first reset")?;
        self.check_idle(env)?;
        let mut workers = self.lock();
        let worker = workers.worker_of(env);
        let frame = workers.ask(worker, &Render { env }, &[]).map_err(|fault| self.to_vector_error(fault))?;
        let bad = |_| self.env_error(env, "its worker sent a frame without a size", "");
        let Size { height, width } = frame.value().map_err(bad)?;
        Ok(RgbFrame { height, width, pixels: frame.bytes })
    }

    /// Returns the number of frames in a second at the usual speed of an environment that is not in flight:
    /// `metadata["render_fps"]`, if it is a positive number.
    pub fn render_fps(&self, env: usize) -> Result<Option<f64>, VectorError> {
        self.phase.check_usable()?;
        self.check_idle(env)?;
        let mut workers = self.lock();
        let worker = workers.worker_of(env);
        let reply =
            workers.ask(worker, &RenderFps { env }, &[]).map_err(|fault| self.to_vector_error(fault))?;
        let bad = |_| self.env_error(env, "its worker sent a bad reply", "");
        let Rate { fps } = reply.value().map_err(bad)?;
        Ok(fps)
    }
}
