//! The sound of a program that changes all sound registers in every frame, compared with ale-py (see
//! `data/record_sound_registers.py`).

use ale::{Action, Ale, AleSettings, PoweredGame, game};

#[test]
fn the_sound_of_all_registers_equals_that_of_ale_py() {
    let mut lines = include_str!("../data/sound_registers.txt").lines();
    let mut rom = program(lines.next().expect("a program"));
    rom.resize(4092, 0);
    rom.extend([0x00, 0xF0, 0x00, 0xF0]);
    let powered = PoweredGame::new(game("venture").expect("a game"), rom.into()).expect("a cartridge");
    let settings = AleSettings { repeat_action_probability: 0.0, sound: true, ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, 1).expect("settings");
    let (mut acts, mut crc) = (0, crc32fast::Hasher::new());
    for line in lines {
        let (until, expected) = line.split_once(' ').expect("acts and a CRC");
        let until: u32 = until.parse().expect("a number");
        for _ in acts..until {
            ale.act_undrawn(Action::NOOP, 1.0);
            crc.update(ale.sound().expect("sound is switched on"));
        }
        acts = until;
        assert_eq!(format!("{:08x}", crc.clone().finalize()), expected, "after {acts} acts");
    }
    assert_eq!(acts, 3000);
}

/// Returns the bytes of hexadecimal digits.
fn program(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}
