//! The settings of a console.

use serde::{Deserialize, Serialize};

use crate::controllers::Wiring;
use crate::execution::Execution;
use crate::tia::Geometry;

/// The television system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TvFormat {
    /// 262 lines, 60 Hz.
    #[default]
    #[serde(rename = "NTSC")]
    Ntsc,
    /// 312 lines, 50 Hz.
    #[serde(rename = "PAL")]
    Pal,
    /// 312 lines, 50 Hz, eight colours.
    #[serde(rename = "SECAM")]
    Secam,
}

/// Settings of a console, which depend on the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleOptions {
    /// The controllers.
    pub wiring: Wiring,
    /// The first visible scanline.
    pub ystart: u16,
    /// Number of visible scanlines under NTSC. The default of 210 becomes 250 under PAL and SECAM.
    pub height: u16,
    /// True if HMOVE blanks the first eight pixels of a line, as on the chip. Four games turn it off.
    pub hmove_blanks: bool,
    /// The television system. `None` detects it by running 60 frames.
    pub tv: Option<TvFormat>,
    /// The execution mode, which affects speed only.
    #[serde(default)]
    pub execution: Execution,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self {
            wiring: Wiring::default(),
            ystart: 34,
            height: DEFAULT_HEIGHT,
            hmove_blanks: true,
            tv: None,
            execution: Execution::default(),
        }
    }
}

/// Default number of visible scanlines under NTSC, and under PAL and SECAM.
const DEFAULT_HEIGHT: u16 = 210;
const DEFAULT_HEIGHT_50_HZ: u16 = 250;

/// Returns the geometry of the screen under a television system.
pub(super) fn geometry(options: &ConsoleOptions, tv: TvFormat) -> Geometry {
    const LAST_LINE: i32 = 290;
    const LAST_LINE_50_HZ: i32 = 342;
    let fifty_hertz = tv != TvFormat::Ntsc;
    let height =
        if fifty_hertz && options.height == DEFAULT_HEIGHT { DEFAULT_HEIGHT_50_HZ } else { options.height };
    Geometry {
        ystart: options.ystart.into(),
        height: height.into(),
        last_line: if fifty_hertz { LAST_LINE_50_HZ } else { LAST_LINE },
        hmove_blanks: options.hmove_blanks,
        colour_loss: tv == TvFormat::Pal,
    }
}
