use ale::RgbImage;

use super::hparams::Session;

/// A record that is not a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Media {
    /// Text in Markdown.
    Text {
        tag: String,
        markdown: String,
    },
    /// The distribution of some values.
    Histogram {
        tag: String,
        values: Vec<f64>,
    },
    Image {
        tag: String,
        image: RgbImage,
    },
    /// The hyperparameters of a run that starts.
    SessionStart(Session),
    /// The end of a run.
    SessionEnd,
}
