//! The bank switching detected from each image equals that in the table of games.

use ale::{games, roms};
use vcs::Cartridge;

#[test]
fn detects_the_scheme_of_every_image() {
    let mut wrong = Vec::new();
    for game in games() {
        let Some(rom) = roms::for_tests(game.id) else { continue };
        let detected = Cartridge::detect(rom).expect("a cartridge").scheme();
        if detected != game.bankswitch {
            wrong.push(format!("{}: detected {detected}, expected {}", game.id, game.bankswitch));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(", "));
}
