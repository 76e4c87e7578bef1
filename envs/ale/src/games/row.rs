//! The rows of the table as they are written.

use serde::Deserialize;
use vcs::{ConsoleOptions, Controller, Scheme, TvFormat, Wiring};

use super::game::Game;
use super::multiplayer::MultiplayerSource;
use super::play::Play;
use crate::action::ACTIONS;
use crate::mode_select::{Operation, OperationSource};
use crate::rules::{ParseError, Rules, RulesSource};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    game: Vec<Row>,
}

/// A row as written in the table. Omitted fields take the most common value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    id: String,
    title: String,
    publisher: Option<String>,
    year: Option<u16>,
    bankswitch: Scheme,
    #[serde(default)]
    tv: TvFormat,
    #[serde(default)]
    tv_is_fixed: bool,
    #[serde(default = "default_ystart")]
    ystart: u16,
    #[serde(default = "default_height")]
    height: u16,
    #[serde(default)]
    left: Controller,
    #[serde(default)]
    right: Controller,
    #[serde(default)]
    swap_ports: bool,
    #[serde(default)]
    swap_paddles: bool,
    #[serde(default = "yes")]
    hmove_blanks: bool,
    paddle_range: Option<(i32, i32)>,
    minimal_actions: Vec<u8>,
    #[serde(default = "all_actions")]
    legal_actions: Vec<u8>,
    #[serde(default)]
    modes: Vec<u32>,
    #[serde(default)]
    default_mode: u32,
    difficulties: Vec<u32>,
    #[serde(default)]
    starting_actions: Vec<(u8, u32)>,
    #[serde(default)]
    start_lives: i32,
    #[serde(default)]
    atari57: bool,
    #[serde(default)]
    atari100k: bool,
    #[serde(default)]
    atari5: bool,
    random_score: Option<f64>,
    human_score: Option<f64>,
    best_score: Option<f64>,
    note: Option<String>,
    #[serde(default)]
    mode_select: Vec<OperationSource>,
    #[serde(default)]
    rules: RulesSource,
    multiplayer: Option<MultiplayerSource>,
}

fn default_ystart() -> u16 {
    ConsoleOptions::default().ystart
}

fn default_height() -> u16 {
    ConsoleOptions::default().height
}

fn yes() -> bool {
    true
}

fn all_actions() -> Vec<u8> {
    (0..ACTIONS).collect()
}

#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    #[error("{game}: {error}")]
    Rule { game: String, error: ParseError },
}

pub(super) fn parse(table: &str) -> Result<Vec<Game>, TableError> {
    let table: Table = toml::from_str(table)?;
    table
        .game
        .into_iter()
        .map(|row| {
            let id = row.id.clone();
            row.build().map_err(|error| TableError::Rule { game: id, error })
        })
        .collect()
}

impl Row {
    pub(super) fn build(self) -> Result<Game, ParseError> {
        let (mut rules, mut symbols) = Rules::compile(&self.rules)?;
        let mode_select = Operation::compile(&self.mode_select, &mut symbols)?;
        rules.finish(&symbols);
        Ok(Game {
            // The table lives as long as the program; leaking it avoids a lifetime parameter everywhere.
            id: self.id.leak(),
            title: self.title.leak(),
            publisher: self.publisher.map(|text| &*text.leak()),
            year: self.year,
            bankswitch: self.bankswitch,
            tv: self.tv,
            tv_is_fixed: self.tv_is_fixed,
            ystart: self.ystart,
            height: self.height,
            wiring: Wiring {
                left: self.left,
                right: self.right,
                swap_ports: self.swap_ports,
                swap_paddles: self.swap_paddles,
            },
            hmove_blanks: self.hmove_blanks,
            paddle_range: self.paddle_range,
            minimal_actions: self.minimal_actions.leak(),
            legal_actions: self.legal_actions.leak(),
            modes: self.modes.leak(),
            default_mode: self.default_mode,
            difficulties: self.difficulties.leak(),
            start_lives: self.start_lives,
            atari57: self.atari57,
            atari100k: self.atari100k,
            atari5: self.atari5,
            random_score: self.random_score,
            human_score: self.human_score,
            best_score: self.best_score,
            note: self.note.map(|text| &*text.leak()),
            single_player: Play { starting_actions: self.starting_actions, mode_select, rules },
            multiplayer: self.multiplayer.map(MultiplayerSource::build).transpose()?,
        })
    }
}
