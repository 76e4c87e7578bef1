/// The images that are part of the program: the open games, by id.
const BUILT_IN: [(&str, &[u8]); 1] = [("harvest", include_bytes!("../../../../roms/open/harvest.bin"))];

/// The image of an open game, which no store needs to hold.
pub fn built_in(id: &str) -> Option<&'static [u8]> {
    BUILT_IN.into_iter().find(|(name, _)| *name == id).map(|(_, image)| image)
}
