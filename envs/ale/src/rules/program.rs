//! The rules of a game, compiled and ready to run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::expression::{Expression, Memory, Scope};
use super::parser::{ParseError, Symbols};
use crate::limits::MAX_PLAYERS;

/// Rules as written in the table of games.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesSource {
    init: BTreeMap<String, i32>,
    #[serde(default)]
    keep: Vec<String>,
    step: Vec<String>,
}

/// Rules whose names are resolved to slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    init: Vec<(usize, i32)>,
    step: Vec<(usize, Expression)>,
    slots: usize,
}

/// The values of the variables of a game: all of its state outside the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variables {
    current: Vec<i32>,
    old: Vec<i32>,
}

// The slots of the outputs come first.
const TERMINAL: usize = 1;
/// The target of mode selection.
const MODE: usize = 3;
/// The slots of the rewards and of the lives, by player.
const REWARDS: [usize; MAX_PLAYERS] = [0, 4, 6, 8];
const LIVES: [usize; MAX_PLAYERS] = [2, 5, 7, 9];

/// The outputs of the rules for one player, by slot.
const OUTPUTS: &[&str] = &["reward", "terminal", "lives", "mode"];
/// The outputs of the rules for several players, by slot.
const PLAYERS_OUTPUTS: &[&str] = &[
    "reward_a", "terminal", "lives_a", "mode", "reward_b", "lives_b", "reward_c", "lives_c", "reward_d",
    "lives_d",
];

impl Rules {
    /// Compiles rules for one player. The returned symbols also serve to compile the mode selection; then `finish` must
    /// follow.
    pub(crate) fn compile(source: &RulesSource) -> Result<(Self, Symbols), ParseError> {
        Self::compile_with(OUTPUTS, source)
    }

    /// Compiles rules for several players.
    pub(crate) fn compile_for_players(source: &RulesSource) -> Result<(Self, Symbols), ParseError> {
        Self::compile_with(PLAYERS_OUTPUTS, source)
    }

    fn compile_with(outputs: &[&str], source: &RulesSource) -> Result<(Self, Symbols), ParseError> {
        let mut symbols = Symbols::default();
        for (slot, name) in outputs.iter().enumerate() {
            assert_eq!(symbols.slot(name), slot);
        }
        for name in &source.keep {
            symbols.slot(name);
        }
        // A reset clears rewards and terminal unless the rules say otherwise.
        let rewards = REWARDS.into_iter().filter(|&slot| slot < outputs.len());
        let mut init: Vec<(usize, i32)> = rewards.chain([TERMINAL]).map(|slot| (slot, 0)).collect();
        init.extend(source.init.iter().map(|(name, &value)| (symbols.slot(name), value)));
        let step = source.step.iter().map(|line| symbols.parse_assignment(line)).collect::<Result<_, _>>()?;
        Ok((Self { init, step, slots: 0 }, symbols))
    }

    /// Ends compilation: fixes the number of slots.
    pub(crate) fn finish(&mut self, symbols: &Symbols) {
        self.slots = symbols.len();
    }

    /// Returns the variables of a new environment.
    pub(crate) fn variables(&self) -> Variables {
        let mut variables = Variables { current: vec![0; self.slots], old: vec![0; self.slots] };
        self.reset(&mut variables);
        variables
    }

    /// Returns the lives of a player that a reset sets, before the game shows any.
    pub(crate) fn first_lives(&self, player: usize) -> i32 {
        let lives = self.init.iter().find(|(slot, _)| *slot == LIVES[player]);
        lives.map_or(0, |(_, lives)| *lives)
    }

    /// Sets the variables in `init`; all others keep their values.
    pub(crate) fn reset(&self, variables: &mut Variables) {
        for &(slot, value) in &self.init {
            variables.current[slot] = value;
        }
    }

    /// Applies the rules at the end of a frame. Returns the last byte that they read from the machine.
    pub(crate) fn step(&self, variables: &mut Variables, memory: &impl Memory) -> Option<u8> {
        let Variables { current, old } = variables;
        old.copy_from_slice(current);
        let mut last_read = None;
        for (slot, expression) in &self.step {
            let mut scope = Scope { memory, current, old, random: None, last_read };
            let value = expression.value(&mut scope);
            last_read = scope.last_read;
            current[*slot] = value;
        }
        last_read
    }

    /// Returns true if variables from a snapshot fit these rules.
    pub(crate) fn accepts(&self, variables: &Variables) -> bool {
        variables.current.len() == self.slots && variables.old.len() == self.slots
    }
}

impl Variables {
    /// Returns the first player's reward of the last frame.
    pub(crate) fn reward(&self) -> i32 {
        self.reward_of(0)
    }

    /// Returns a player's reward of the last frame.
    pub(crate) fn reward_of(&self, player: usize) -> i32 {
        self.current[REWARDS[player]]
    }

    /// Returns true if the game is over.
    pub(crate) fn terminal(&self) -> bool {
        self.current[TERMINAL] != 0
    }

    /// Returns the remaining lives of the first player.
    pub(crate) fn lives(&self) -> i32 {
        self.lives_of(0)
    }

    /// Returns the remaining lives of a player.
    pub(crate) fn lives_of(&self, player: usize) -> i32 {
        self.current[LIVES[player]]
    }

    pub(crate) fn set_mode(&mut self, mode: u32) {
        self.current[MODE] = mode as i32;
    }

    pub(crate) fn set(&mut self, slot: usize, value: i32) {
        self.current[slot] = value;
    }

    /// Returns the scope of an expression outside of a step.
    pub(crate) fn scope<'a, M: Memory>(
        &'a self,
        memory: &'a M,
        random: Option<&'a mut vcs::Mt19937>,
    ) -> Scope<'a, M> {
        Scope { memory, current: &self.current, old: &self.old, random, last_read: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ram([u8; 128]);

    impl Memory for Ram {
        fn ram(&self) -> &[u8; 128] {
            &self.0
        }

        fn cartridge(&self, address: u16) -> u8 {
            address as u8
        }
    }

    fn value(text: &str) -> i32 {
        let mut ram = [0; 128];
        (ram[0], ram[1], ram[2], ram[3]) = (0x45, 0x23, 0x10, 0xFF);
        let mut symbols = Symbols::default();
        let expression = symbols.parse(text).unwrap();
        let zeros = vec![7; symbols.len()];
        let (current, old) = (&zeros, &zeros);
        expression.value(&mut Scope { memory: &Ram(ram), current, old, random: None, last_read: None })
    }

    #[test]
    fn evaluates_every_form_of_expression() {
        for (text, expected) in [
            ("1 + 2 * 3 - 4 / 2", 5),
            ("-7 / 2", -3),
            ("-7 % 3", -1),
            ("5 / 0", 0),
            // Bit operators bind tighter than comparisons, as in Rust.
            ("r[0x80] & 0x40 != 0", 1),
            ("1 << 4 | 1", 17),
            ("6 ^ 3 & 2", 4),
            ("!3 + 1", 1),
            ("~0", -1),
            ("1 || 0 && 0", 1),
            ("0 ? 1 : 2 ? 3 : 4", 3),
            ("bcd(0x80, 0x81, 0x82)", 102345),
            ("bcd(0x83)", 165),
            ("z10(10) + z10(9)", 9),
            ("d8(0x80)", 8),
            ("d72(0x82)", 2),
            ("s8(r[0x83])", -1),
            ("min(3, max(1, 2))", 2),
            ("sum(0x80, 0x83, x & 15)", 5 + 3 + 15),
            ("count(0x80, 0x83, x > 0x20)", 3),
            ("m[0xF081]", 0x81),
            ("some_name + old.other", 14),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn parse_errors_name_the_position() {
        for (text, message) in [
            ("1 +", "expected a number, a name or a parenthesis at character 3"),
            ("(1", "expected `)` at character 2"),
            ("nonsense(1)", "no function nonsense takes 1 arguments"),
            ("1 2", "expected an operator or the end at character 2"),
        ] {
            let error = Symbols::default().parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    #[test]
    fn old_names_read_the_values_before_the_step() {
        let source = RulesSource {
            init: BTreeMap::from([("score".into(), 3)]),
            keep: vec!["games".into()],
            step: vec!["score = old.score + r[0x82]".into(), "reward = score - old.score".into()],
        };
        let (mut rules, symbols) = Rules::compile(&source).unwrap();
        rules.finish(&symbols);
        let mut variables = rules.variables();
        rules.step(&mut variables, &Ram([16; 128]));
        assert_eq!(variables.reward(), 16);
        rules.reset(&mut variables);
        assert_eq!(variables.reward(), 0);
    }
}
