//! The modes of a game for several players, whose reference is multi-agent-ale-py.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::play::Play;
use crate::mode_select::{Operation, OperationSource};
use crate::rules::{ParseError, Rules, RulesSource};

/// The modes as written in the table of games.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiplayerSource {
    load_mode: u32,
    modes: BTreeMap<String, Vec<u32>>,
    minimal_actions: Option<Vec<u8>>,
    #[serde(default)]
    starting_actions: Vec<(u8, u32)>,
    #[serde(default)]
    mode_select: Vec<OperationSource>,
    rules: RulesSource,
    note: Option<String>,
}

/// The modes of a game for two, three or four players, with the numbers of multi-agent-ale-py, and their rules. Other
/// modes than those for one player may have the same numbers.
#[derive(Clone, Debug)]
pub struct Multiplayer {
    /// The mode of the reset that is part of loading, which may be one for a single player.
    pub(crate) load_mode: u32,
    /// A remark on unusual rules.
    pub note: Option<&'static str>,
    /// The modes by number of players, in ascending order.
    modes: Vec<(usize, &'static [u32])>,
    /// The actions that have an effect, if they differ from those for one player.
    pub(super) minimal_actions: Option<&'static [u8]>,
    pub(crate) play: Play,
}

impl MultiplayerSource {
    pub(super) fn build(self) -> Result<Multiplayer, ParseError> {
        let (mut rules, mut symbols) = Rules::compile_for_players(&self.rules)?;
        let mode_select = Operation::compile(&self.mode_select, &mut symbols)?;
        rules.finish(&symbols);
        let modes = self
            .modes
            .into_iter()
            .map(|(players, modes)| (players.parse().expect("a number of players"), &*modes.leak()));
        Ok(Multiplayer {
            load_mode: self.load_mode,
            note: self.note.map(|text| &*text.leak()),
            modes: modes.collect(),
            minimal_actions: self.minimal_actions.map(|actions| &*actions.leak()),
            play: Play { starting_actions: self.starting_actions, mode_select, rules },
        })
    }
}

impl Multiplayer {
    /// Returns the numbers of players for which the game has modes, in ascending order.
    pub fn players(&self) -> impl Iterator<Item = usize> {
        self.modes.iter().map(|&(players, _)| players)
    }

    /// Returns the modes for a number of players; none if the game has none for that number.
    pub(crate) fn modes_for(&self, players: usize) -> &'static [u32] {
        self.modes.iter().find(|(number, _)| *number == players).map_or(&[], |(_, modes)| modes)
    }
}
