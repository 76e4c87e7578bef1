//! The ROMs, the MuJoCo installation and the processor features of this machine.

use std::path::PathBuf;

use ale::roms::RomSources;
use mujoco::Installation;

/// Returns the ROM directory, if one is known, the ids of the games whose ROM is found, and the reason why there is no
/// directory.
pub(crate) fn roms(sources: &RomSources) -> (Option<PathBuf>, Vec<&'static str>, Option<String>) {
    let ids = ale::games().iter().map(|game| game.id).filter(|id| sources.has(id)).collect();
    match sources.store() {
        Ok(store) => (Some(store.directory().to_owned()), ids, None),
        Err(error) => (None, ids, Some(error.to_string())),
    }
}

/// Returns the directory of MuJoCo, if one is known, and the reason why it cannot be used, if there is one.
pub(crate) fn mujoco() -> (Option<PathBuf>, Option<String>) {
    match Installation::locate(None) {
        Ok(installation) => {
            let reason = installation.check().err().map(|error| error.to_string());
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
