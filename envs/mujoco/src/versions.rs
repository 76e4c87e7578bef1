//! The supported versions of MuJoCo and of Gymnasium, and their Python packages.

use std::env::consts::{ARCH, OS};

use crate::files::KnownFile;
use crate::offsets::Offsets;

/// The package with the models.
const GYMNASIUM: &str = "gymnasium==1.4.0";

/// A version of MuJoCo.
#[derive(Debug)]
pub(crate) struct Version {
    /// The package with the library.
    package: &'static str,
    /// The path of the library in the package, and in an installation.
    library: &'static str,
    /// The SHA-256 of the library for each operating system and processor.
    sha256: [(&'static str, &'static str, &'static str); 2],
}

/// The version that is downloaded, then the others. The table of [`Offsets`](crate::offsets::Offsets) has the same
/// versions.
pub(crate) const VERSIONS: [Version; 2] = [
    Version {
        package: "mujoco==3.17.0",
        library: "mujoco/libmujoco.so.3.17.0",
        sha256: [
            ("linux", "x86_64", "23496b023ee80fb61ab71167e94bc649f9941710fde96b18bb8204fb332523ad"),
            ("linux", "aarch64", "e2edd0204fb9229f75f332a4fcd1a32345bb9f90651dc0fddfa20ec0670db789"),
        ],
    },
    // The package `mujoco` consists of others.
    Version {
        package: "mujoco-core==4.0.0",
        library: "mujoco/libmujoco.so.4.0.0",
        sha256: [
            ("linux", "x86_64", "90bc997a73efc90624a120f63eccd67441dfc6c705cd537357508f44757880ba"),
            ("linux", "aarch64", "0f26ca812e38dc71ade595de5b99d0eedc8a344b595e8968b32a391433dc566b"),
        ],
    },
];

/// The packages that are downloaded.
pub(crate) const PACKAGES: [&str; 2] = [VERSIONS[0].package, GYMNASIUM];

/// Returns the names of the supported versions, such as 3.17.0. The first is the one that is downloaded.
pub fn supported_versions() -> impl Iterator<Item = String> {
    Offsets::supported()
}

impl Version {
    /// Returns the library for this computer, if its operating system and its processor are supported.
    pub(crate) fn library(&self) -> Option<KnownFile> {
        let known = self.sha256.iter().find(|(system, processor, _)| (*system, *processor) == (OS, ARCH));
        known.map(|&(.., sha256)| KnownFile { path: self.library, sha256 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offsets_of_every_version_are_known() {
        let packages = VERSIONS.iter().map(|version| version.package.rsplit('=').next());
        assert!(supported_versions().map(Some).eq(packages.clone().map(|name| name.map(str::to_owned))));
        for (version, name) in VERSIONS.iter().zip(packages.flatten()) {
            assert_eq!(version.library, format!("mujoco/libmujoco.so.{name}"));
        }
    }
}
