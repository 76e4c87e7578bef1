//! Formats of output files. The extension of a file's name chooses one.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, bail};

/// The formats that a command can write.
pub(crate) struct Formats<F: 'static> {
    /// The action that fails for other file names. Completes "cannot ...".
    pub(crate) action: &'static str,
    /// The formats by their extensions in lower case.
    pub(crate) by_extension: &'static [(&'static str, F)],
    /// The allowed extensions. Completes "the file name must end in ...".
    pub(crate) allowed: &'static str,
}

impl<F: Copy> Formats<F> {
    /// Returns the format that the extension of a file name chooses.
    pub(crate) fn choose(&self, path: &Path) -> Result<F> {
        let extension = path.extension().map(OsStr::to_ascii_lowercase).unwrap_or_default();
        match self.by_extension.iter().find(|(known, _)| extension == *known) {
            Some(&(_, format)) => Ok(format),
            None => {
                bail!("cannot {} {}: the file name must end in {}", self.action, path.display(), self.allowed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: Formats<u8> =
        Formats { action: "draw", by_extension: &[("svg", 1), ("png", 2)], allowed: ".svg or .png" };

    #[test]
    fn the_extension_chooses_the_format_in_either_case() {
        assert_eq!(FORMATS.choose(Path::new("a.svg")).unwrap(), 1);
        assert_eq!(FORMATS.choose(Path::new("runs.2/B.PNG")).unwrap(), 2);
    }

    #[test]
    fn other_names_are_refused_with_the_allowed_extensions() {
        for name in ["a.pdf", "a", ".svg", "a.svg.gz", "a.svg/b", "svg"] {
            let error = FORMATS.choose(Path::new(name)).unwrap_err().to_string();
            assert_eq!(error, format!("cannot draw {name}: the file name must end in .svg or .png"));
        }
    }
}
