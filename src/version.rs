//! `ale-train --version`: the version. The long form adds the commit and features of the build, and the processor
//! features that it uses on this machine.

use std::sync::LazyLock;

/// The program and its version.
pub(crate) const PROGRAM: &str = concat!("ale-train ", env!("CARGO_PKG_VERSION"));
/// The commit that the program was built from, with `+changes` if files were modified; `unknown` outside git.
pub(crate) const COMMIT: &str = env!("ALE_TRAIN_COMMIT");
/// Cargo features of this build, from the build script.
const FEATURES: &str = env!("ALE_TRAIN_FEATURES");

/// Version and commit, which are the same on every machine.
pub(crate) const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "\ncommit: ", env!("ALE_TRAIN_COMMIT"));

/// Version, commit, cargo features, and the processor features that select kernels.
pub(crate) static LONG: LazyLock<String> = LazyLock::new(|| {
    let features = if FEATURES.is_empty() { "none" } else { FEATURES };
    format!(
        "{BUILD}\nfeatures: {features}\nprocessor: {} ({})",
        std::env::consts::ARCH,
        processor_features().join(", "),
    )
});

/// Returns the processor features of this machine for which the emulator or the learners have kernels.
#[cfg(target_arch = "x86_64")]
fn processor_features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt),+) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),+]
        };
    }
    let features = detected!("avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512vbmi");
    features.into_iter().filter_map(|(name, detected)| detected.then_some(name)).collect()
}

/// Other architectures run portable code.
#[cfg(not(target_arch = "x86_64"))]
fn processor_features() -> Vec<&'static str> {
    vec!["portable code"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_version_names_commit_features_and_processor() {
        let lines: Vec<&str> = LONG.lines().collect();
        assert_eq!(lines[0], env!("CARGO_PKG_VERSION"));
        assert_eq!(lines[1], format!("commit: {COMMIT}"));
        assert!(lines[2].starts_with("features: "), "{}", lines[2]);
        assert!(lines[3].contains(std::env::consts::ARCH), "{}", lines[3]);
    }
}
