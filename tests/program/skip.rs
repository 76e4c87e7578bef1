//! Skips tests for want of a program or package. The unit tests of the program use this file too.

/// Reports on standard error that a test is skipped because a program or package is missing. Panics in CI (if `CI` is set),
/// where everything must be installed.
pub(crate) fn skip(missing: &str) {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{missing}, but CI skips nothing");
    eprintln!("skipped: {missing}");
}
