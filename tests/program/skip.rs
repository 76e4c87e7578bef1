//! Skips tests whose program or package is not installed. The unit tests of the program also use this file.

/// Reports on standard error that a test is skipped because a program or package is missing. Panics in CI (if `CI` is
/// set), where everything must be installed.
pub(crate) fn skip(missing: &str) {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{missing}, but CI skips nothing");
    eprintln!("skipped: {missing}");
}
