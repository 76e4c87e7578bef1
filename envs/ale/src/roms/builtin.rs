/// The images of the open games by id, part of the program.
const BUILT_IN: [(&str, &[u8]); 1] = [("harvest", include_bytes!("../../../../roms/open/harvest.bin"))];

/// Returns the image of an open game, which needs no store, or `None` for other ids.
pub fn built_in(id: &str) -> Option<&'static [u8]> {
    BUILT_IN.into_iter().find(|(name, _)| *name == id).map(|(_, image)| image)
}
