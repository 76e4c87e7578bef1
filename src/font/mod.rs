//! The letters of pictures.

use anyhow::{Result, anyhow};
use plotters::style::{FontStyle, register_font};

/// The letters of ASCII, in a font that anybody may pass on (`DejaVuSans.LICENSE`).
const FONT: &[u8] = include_bytes!("DejaVuSans.ttf");

/// Makes `sans-serif` known to plotters. Text is measured and, in pixels, drawn with it; those of the system may be
/// missing. SVG's readers have a sans-serif font of their own.
pub(crate) fn register() -> Result<()> {
    register_font("sans-serif", FontStyle::Normal, FONT).map_err(|_| anyhow!("the font is damaged"))
}
