//! Finds a Python interpreter for tests that compare with Python packages.

use std::process::Command;

use crate::program::skip;

/// Returns `$ALE_TRAIN_TEST_PYTHON`, or else `python3`, if that can import these modules (separated by commas).
/// Otherwise [skips](skip) the test.
pub(crate) fn python_with(modules: &str) -> Option<String> {
    let python = std::env::var("ALE_TRAIN_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imported = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if imported.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(&format!("{python} cannot import {modules}"));
    None
}
