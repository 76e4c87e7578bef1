use crate::cli::ScoreFormat;
use crate::file_format::Formats;

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The page.
    Html,
    /// The scores alone.
    Scores(ScoreFormat),
    /// The learning curves alone.
    Plot,
}

pub(super) const FORMATS: Formats<Format> = Formats {
    action: "write",
    by_extension: &[
        ("html", Format::Html),
        ("htm", Format::Html),
        ("md", Format::Scores(ScoreFormat::Markdown)),
        ("csv", Format::Scores(ScoreFormat::Csv)),
        ("json", Format::Scores(ScoreFormat::Json)),
        ("svg", Format::Plot),
        ("png", Format::Plot),
    ],
    allowed: ".html for the page, in .md, .csv or .json for the scores, or in .svg or .png for the learning curves (a browser \
              prints the page as PDF)",
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_extension_chooses_the_format() {
        for (file, format) in [("a.html", Format::Html), ("b.HTM", Format::Html), ("c.svg", Format::Plot)] {
            assert_eq!(FORMATS.choose(Path::new(file)).unwrap(), format);
        }
        for file in ["x.pdf", "report", ".html", "x.html.gz"] {
            let error = FORMATS.choose(Path::new(file)).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(".html for the page"), "{error}");
        }
    }
}
