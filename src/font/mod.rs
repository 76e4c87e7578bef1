//! The font of plots and captions.

use anyhow::{Result, anyhow};
use plotters::style::{FontStyle, register_font};

/// The ASCII subset of a freely redistributable font (`DejaVuSans.LICENSE`).
static FONT: &[u8] = include_bytes!("DejaVuSans.ttf");

/// Registers `sans-serif` with plotters, which measures text and draws it in bitmaps with this font: the system may
/// have no fonts. Viewers of SVG use their own sans-serif font.
pub(crate) fn register() -> Result<()> {
    register_font("sans-serif", FontStyle::Normal, FONT).map_err(|_| anyhow!("the font is damaged"))
}
