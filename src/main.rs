//! The program `ale-train`. Everything is in the library, where the fuzz targets reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ale_train::main()
}
