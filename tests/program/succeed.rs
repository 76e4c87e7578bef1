use std::process::{Command, Output, Stdio};

/// Runs a command that must succeed and returns its output.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.stderr(Stdio::piped()).output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
