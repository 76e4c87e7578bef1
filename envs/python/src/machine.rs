//! The ROMs, the MuJoCo installation and the processor features of this machine.

use std::path::PathBuf;

use ale::roms::RomStore;
use mujoco::Installation;
use pyo3::PyResult;

use crate::errors;

/// Returns the ROM directory, and the ids of the games whose ROM it contains or that are built in.
pub(crate) fn roms() -> PyResult<(PathBuf, Vec<&'static str>)> {
    let store = RomStore::locate(None).map_err(|error| errors::of_rom(&error))?;
    let found = ale::games().iter().map(|game| game.id).filter(|id| store.read(id).is_ok()).collect();
    Ok((store.directory().to_owned(), found))
}

/// Returns the directory of MuJoCo, if one is known, and the reason why its library cannot be used, if there is one.
pub(crate) fn mujoco() -> (Option<PathBuf>, Option<String>) {
    match Installation::locate(None) {
        Ok(installation) => {
            let reason = installation.library().err().map(|error| error.to_string());
            (Some(installation.directory().to_owned()), reason)
        }
        Err(error) => (None, Some(error.to_string())),
    }
}

/// Returns the architecture of the processor, and its features for which there are kernels.
pub(crate) fn processor() -> (&'static str, Vec<&'static str>) {
    (std::env::consts::ARCH, features())
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt),+) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),+]
        };
    }
    let features = detected!("avx2", "avx512f", "avx512bw", "avx512vl", "avx512vbmi");
    features.into_iter().filter_map(|(name, detected)| detected.then_some(name)).collect()
}

/// Other architectures run portable code.
#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    Vec::new()
}
