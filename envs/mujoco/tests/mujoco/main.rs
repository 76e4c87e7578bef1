//! Tests with MuJoCo's library and Gymnasium's models, which are fetched with pip if they are missing. The version of
//! the library is that in `ALE_TRAIN_MUJOCO`; the tests of `fetch` need the one that is downloaded.

// The library for Windows is not known.
#![cfg(unix)]

mod conformance;
mod errors;
mod fetch;
mod pictures;
mod pool;
mod trace;
mod traces;

use std::sync::LazyLock;

use mujoco::{Installation, Pip};

/// Returns the user's installation, complete.
fn installation() -> Installation {
    static INSTALLATION: LazyLock<Installation> = LazyLock::new(|| {
        let installation = Installation::locate(None).unwrap();
        let fetched = installation.fetch(&Pip::new(|line| eprintln!("{line}")));
        fetched.unwrap_or_else(|error| panic!("these tests need MuJoCo: {error}"));
        installation
    });
    INSTALLATION.clone()
}
