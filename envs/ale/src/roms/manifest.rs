use std::collections::BTreeMap;
use std::sync::LazyLock;

use rl_env::nearest;
use serde::Deserialize;

use super::digest::Md5Sum;
use super::error::RomError;

/// The identification of a ROM image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RomEntry {
    /// The MD5 of the image.
    pub md5: Md5Sum,
    /// The length of the image in bytes.
    pub size: usize,
}

impl RomEntry {
    /// Returns true if `bytes` is this image.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.size && Md5Sum::of(bytes) == self.md5
    }
}

/// The known ROM images by game id, in alphabetical order.
#[derive(Clone, Debug)]
pub struct Manifest {
    entries: BTreeMap<String, RomEntry>,
}

/// `roms/manifest.toml`, part of the program.
static SHIPPED: &str = include_str!("../../../../roms/manifest.toml");

impl Manifest {
    /// Returns the images of ale-py 0.12.1.
    pub fn shipped() -> &'static Self {
        static MANIFEST: LazyLock<Manifest> =
            LazyLock::new(|| Manifest::parse(SHIPPED).expect("a test parses the shipped manifest"));
        &MANIFEST
    }

    /// Parses the format of `roms/manifest.toml`: one line per ROM, `id = { md5 = "..", size = .. }`.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text).map(|entries| Self { entries })
    }

    /// Returns the number of images.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if no image is listed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the ids and entries in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RomEntry)> {
        self.entries.iter().map(|(id, entry)| (id.as_str(), entry))
    }

    /// Returns the entry of a game.
    pub fn entry(&self, id: &str) -> Result<&RomEntry, RomError> {
        self.entries.get(id).ok_or_else(|| RomError::Unknown {
            id: id.to_owned(),
            nearest: nearest(id, self.entries.keys().map(String::as_str))
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }

    /// Returns the game whose image is `bytes`.
    pub fn identify(&self, bytes: &[u8]) -> Option<&str> {
        // Hashes only files of a possible length.
        if !self.entries.values().any(|entry| entry.size == bytes.len()) {
            return None;
        }
        let md5 = Md5Sum::of(bytes);
        self.iter().find(|(_, entry)| entry.md5 == md5).map(|(id, _)| id)
    }

    /// Returns the length of the largest image in bytes.
    pub fn largest(&self) -> usize {
        self.entries.values().map(|entry| entry.size).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_manifest_lists_108_images_of_known_cartridge_sizes() {
        let manifest = Manifest::parse(SHIPPED).unwrap();
        assert_eq!(manifest.len(), 108);
        // 2K, 4K, F8, F6, and the DPC cartridge of Pitfall II with its display data.
        let sizes = [2048, 4096, 8192, 16384, 10495];
        assert!(manifest.iter().all(|(_, entry)| sizes.contains(&entry.size)));
        let mut sums: Vec<_> = manifest.iter().map(|(_, entry)| entry.md5).collect();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 108, "two games with the same MD5");
    }

    #[test]
    fn suggests_the_nearest_id() {
        let error = Manifest::shipped().entry("brekout").unwrap_err();
        assert_eq!(error.to_string(), "unknown game 'brekout', did you mean 'breakout'?");
    }

    #[test]
    fn identifies_an_image_by_its_content() {
        let manifest =
            Manifest::parse(r#"abc = { md5 = "900150983cd24fb0d6963f7d28e17f72", size = 3 }"#).unwrap();
        assert_eq!(manifest.identify(b"abc"), Some("abc"));
        assert_eq!(manifest.identify(b"abd"), None);
        assert_eq!(manifest.identify(b"abcd"), None);
    }
}
