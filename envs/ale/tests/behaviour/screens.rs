//! The screen in colour and greyscale, compared with ale-py (see `data/record_screens.py`).

use std::sync::Arc;

use ale::{Action, Ale, AleSettings, Palette, PoweredGame, game, roms};
use vcs::{ConsoleOptions, TvFormat};

fn settings() -> AleSettings {
    AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() }
}

#[test]
fn colour_and_grey_screens_equal_those_of_ale_py() {
    let mut running: Option<(&str, u32, Ale)> = None;
    for line in include_str!("../data/screens.txt").lines() {
        let [id, acts, rgb, grey] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let acts: u32 = acts.parse().expect("a number");
        let (done, mut ale) = match running.take() {
            Some((same, done, ale)) if same == id => (done, ale),
            _ => {
                let Some(rom) = roms::for_tests(id) else { continue };
                let powered = PoweredGame::new(game(id).expect("a game"), rom).expect("a cartridge");
                (0, Ale::new(&powered, settings(), 0).expect("settings"))
            }
        };
        for _ in done..acts {
            ale.act(Action::NOOP, 1.0);
        }
        let crc = |screen: &[u8]| format!("{:08x}", crc32fast::hash(screen));
        assert_eq!([crc(&ale.screen_rgb()), crc(&ale.screen_grey())], [rgb, grey], "{id} after {acts} acts");
        running = Some((id, acts, ale));
    }
}

/// SECAM cannot be detected from a program's frames, and ale-py never detects it either.
#[test]
fn a_chosen_television_system_sets_height_and_colours() {
    let rom: Arc<[u8]> = roms::built_in("harvest").expect("the open game").into();
    let harvest = game("harvest").expect("a game");
    for (tv, height) in [(TvFormat::Ntsc, 210), (TvFormat::Pal, 250), (TvFormat::Secam, 250)] {
        let options = ConsoleOptions { tv: Some(tv), ..harvest.console_options() };
        let powered = PoweredGame::with_options(harvest, Arc::clone(&rom), &options).expect("a cartridge");
        let mut ale = Ale::new(&powered, settings(), 0).expect("settings");
        ale.act(Action::NOOP, 1.0);
        assert_eq!((ale.tv(), ale.height()), (tv, height));
        let (rgb, grey) = (ale.screen_rgb(), ale.screen_grey());
        assert_eq!((rgb.len(), grey.len()), (height * 160 * 3, height * 160));
        let palette = Palette::of(tv);
        let pixel = 100 * 160 + 8;
        let byte = usize::from(ale.screen()[pixel]);
        assert_eq!(byte, 0x9A, "the sky");
        assert_eq!((&rgb[3 * pixel..][..3], grey[pixel]), (&palette.rgb[byte][..], palette.grey[byte]));
    }
    // The colours in ale-py's palettes.
    let sky = [TvFormat::Ntsc, TvFormat::Pal, TvFormat::Secam].map(|tv| Palette::of(tv).rgb[0x9A]);
    assert_eq!(sky, [[101, 160, 225], [104, 186, 220], [127, 255, 255]]);
}
