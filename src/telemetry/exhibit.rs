use ale::RgbImage;

/// Something to look at beside the curves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Exhibit {
    /// Words, as Markdown.
    Text { tag: String, markdown: String },
    /// How numbers are distributed.
    Histogram { tag: String, values: Vec<f64> },
    /// A picture.
    Picture { tag: String, picture: RgbImage },
}
