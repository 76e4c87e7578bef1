//! ROMs that are not in the table.

use std::sync::{Arc, Mutex, PoisonError};

use vcs::{Cartridge, CartridgeError, ConsoleOptions, TvFormat};

use super::game::Game;
use super::row::Row;

/// The row of a ROM that is not in the table, without its bank switching.
const UNKNOWN: &str = r#"
id = "unknown"
title = "Unknown ROM"
minimal_actions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
modes = [0]
default_mode = 0
difficulties = [0, 1, 2, 3]
start_lives = 0
rules = { init = { lives = 0 }, step = [] }
"#;

impl Game {
    /// Returns the game for a ROM that is not in the table: it has a joystick in each port, and no rewards, lives or
    /// end of the game.
    pub fn without_rules(rom: &Arc<[u8]>) -> Result<&'static Self, CartridgeError> {
        /// One game per scheme, so that the leaked memory is bounded.
        static GAMES: Mutex<Vec<&Game>> = Mutex::new(Vec::new());
        let scheme = Cartridge::detect(Arc::clone(rom))?.scheme();
        let mut games = GAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(game) = games.iter().find(|game| game.bankswitch == scheme) {
            return Ok(game);
        }
        let row = format!("bankswitch = \"{scheme}\"\n{UNKNOWN}");
        let row: Row = toml::from_str(&row).expect("the row of an unknown ROM is valid");
        let game =
            Box::leak(Box::new(row.build().expect("the row of an unknown ROM has no rules to reject")));
        games.push(game);
        Ok(game)
    }

    /// Returns this game for an image with an unknown MD5. ale-py knows the hardware of a game by the MD5 of its ROM.
    /// The console of another image therefore has joysticks and the other defaults; bank switching is detected.
    pub fn with_default_hardware(&self, rom: &Arc<[u8]>) -> Result<&'static Self, CartridgeError> {
        /// One game per id and scheme, so that the leaked memory is bounded.
        static GAMES: Mutex<Vec<&Game>> = Mutex::new(Vec::new());
        let bankswitch = Cartridge::detect(Arc::clone(rom))?.scheme();
        let mut games = GAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(game) = games.iter().find(|game| game.id == self.id && game.bankswitch == bankswitch) {
            return Ok(game);
        }
        let ConsoleOptions { wiring, ystart, height, hmove_blanks, .. } = ConsoleOptions::default();
        let game = Box::leak(Box::new(Self {
            bankswitch,
            tv: TvFormat::Ntsc,
            wiring,
            ystart,
            height,
            hmove_blanks,
            paddle_range: None,
            ..self.clone()
        }));
        games.push(game);
        Ok(game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Ale, AleSettings, PoweredGame, game, roms};

    #[test]
    fn an_unknown_rom_runs_without_rules() {
        let rom: Arc<[u8]> = roms::built_in("harvest").expect("the open game").into();
        let game = Game::without_rules(&rom).expect("a cartridge");
        let powered = PoweredGame::new(game, rom).expect("a game");
        let mut ale = Ale::new(&powered, AleSettings::default(), 1).expect("settings");
        let rewards: i32 = (0..3000).map(|_| ale.act(Action::NOOP, 1.0)).sum();
        assert_eq!((rewards, ale.lives(), ale.game_over(), ale.frame_number()), (0, 0, false, 3000));
        assert!(Game::without_rules(&vec![0; 100].into()).is_err());
    }

    #[test]
    fn an_unknown_image_of_a_paddle_game_has_joysticks() {
        let (pong, image) = (game("pong").expect("a game"), vec![0; 2048].into());
        let unknown = pong.with_default_hardware(&image).expect("a cartridge");
        assert!(pong.has_paddles() && !unknown.has_paddles());
        assert_eq!((unknown.id, unknown.minimal_actions), (pong.id, pong.minimal_actions));
        assert!(std::ptr::eq(unknown, pong.with_default_hardware(&image).expect("a cartridge")));
        assert!(pong.with_default_hardware(&vec![0; 100].into()).is_err());
    }

    #[test]
    fn unknown_roms_of_one_scheme_share_a_game() {
        let unknown = |image: Vec<u8>| Game::without_rules(&image.into()).expect("a cartridge");
        assert!(std::ptr::eq(unknown(vec![1; 4096]), unknown(vec![2; 4096])));
        assert_ne!(unknown(vec![1; 2048]).bankswitch, unknown(vec![1; 4096]).bankswitch);
    }
}
