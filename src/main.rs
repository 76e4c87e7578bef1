//! The program `ale-train`. Everything is in the library, where the Python package and the fuzz targets reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let program = std::env::current_exe().ok().or_else(|| arguments.first().map(Into::into));
    ExitCode::from(ale_train::main(program.unwrap_or_default(), arguments))
}
