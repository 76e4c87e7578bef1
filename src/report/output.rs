use std::path::Path;

use anyhow::{Result, bail};

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The page.
    Html,
    /// The learning curves alone.
    Plot,
}

const FORMATS: [(&str, Format); 4] =
    [("html", Format::Html), ("htm", Format::Html), ("svg", Format::Plot), ("png", Format::Plot)];

impl Format {
    /// Returns the format that the extension of a file name chooses.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        match FORMATS.iter().find(|(known, _)| extension == *known) {
            Some(&(_, format)) => Ok(format),
            None => bail!(
                "cannot write {}: the file name must end in .html for the page, or in .svg or .png for the learning curves \
                 (a browser prints the page as PDF)",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_chooses_the_format() {
        for (file, format) in [("a.html", Format::Html), ("b.HTM", Format::Html), ("c.svg", Format::Plot)] {
            assert_eq!(Format::of(Path::new(file)).unwrap(), format);
        }
        for file in ["x.pdf", "report", ".html", "x.html.gz"] {
            let error = Format::of(Path::new(file)).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(".html for the page"), "{error}");
        }
    }
}
