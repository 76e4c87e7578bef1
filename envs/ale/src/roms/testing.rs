use std::env;
use std::sync::Arc;

use super::pip::Pip;
use super::store::RomStore;

/// With this environment variable at `1`, tests whose ROM is not at hand are skipped instead of failing.
pub const WITHOUT_ROMS: &str = "ALE_TRAIN_TESTS_WITHOUT_ROMS";

/// The ROM of a game for a test: from the user's store, fetched first where it is missing.
///
/// Nothing where [`WITHOUT_ROMS`] is `1` and the store lacks the image: the test then prints that it was skipped and
/// returns.
///
/// # Panics
///
/// Where the image cannot be had: a test that cannot run has not passed.
pub fn for_tests(id: &str) -> Option<Arc<[u8]>> {
    let without_roms = env::var_os(WITHOUT_ROMS).is_some_and(|value| value == "1");
    let pip = Pip::new(|line| eprintln!("{line}"));
    let fetch = (!without_roms).then_some(&pip);
    match RomStore::locate(None).and_then(|store| store.obtain(id, fetch)) {
        Ok(image) => Some(image),
        Err(error) if without_roms => {
            eprintln!("skipped, because {WITHOUT_ROMS}=1 and {error}");
            None
        }
        Err(error) => panic!("this test needs the ROM of {id}: {error}; {WITHOUT_ROMS}=1 skips such tests"),
    }
}
