use std::env;
use std::sync::Arc;

use downloads::Pip;

use super::store::RomStore;

/// If this environment variable is `1`, tests whose ROM is missing are skipped instead of failing.
pub const WITHOUT_ROMS: &str = "ALE_TRAIN_TESTS_WITHOUT_ROMS";

/// Returns the ROM of a game for a test, from the user's store, fetching it first if it is missing.
///
/// Returns `None` and prints that the test is skipped if [`WITHOUT_ROMS`] is `1` and the store lacks the image.
///
/// # Panics
///
/// If the image is unavailable and [`WITHOUT_ROMS`] is not `1`, because a test that cannot run must not pass.
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
