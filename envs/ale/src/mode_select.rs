//! How a game is brought into a mode: the presses of SELECT and RESET that a person would make.

use serde::Deserialize;

use crate::rules::{Expression, ParseError, Symbols};

/// An operation as a row of the table writes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum OperationSource {
    Select { hold: Value },
    Reset,
    Act { action: Value, times: Option<u32> },
    Let { name: String, expr: String },
    Until { cond: String, r#do: Vec<OperationSource>, max: Option<u32> },
}

/// A number or an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Fixed(i32),
    Computed(String),
}

/// One operation. Expressions see RAM, the rules' variables and `mode`, the mode to be reached.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Holds SELECT for `hold` frames without applying the rules, then lets go for one frame with them.
    Select { hold: Expression },
    /// Holds RESET for four frames.
    Reset,
    /// Acts `times` times, as an agent would.
    Act { action: Expression, times: u32 },
    /// Remembers a value.
    Let { slot: usize, value: Expression },
    /// Repeats until the condition holds, `max` times at most, and not once the frames are used up.
    Until { condition: Expression, body: Vec<Operation>, max: u32 },
}

/// A mode is not looked for any longer than this; an act counts as one frame. With a ROM that is not the game's the
/// reference would go on for ever.
pub(crate) const MAX_FRAMES: u32 = 20_000;

impl Value {
    fn compile(&self, symbols: &mut Symbols) -> Result<Expression, ParseError> {
        match self {
            Self::Fixed(value) => Ok(Expression::Constant(*value)),
            Self::Computed(text) => symbols.parse(text),
        }
    }
}

impl Operation {
    pub(crate) fn compile(
        sources: &[OperationSource],
        symbols: &mut Symbols,
    ) -> Result<Vec<Self>, ParseError> {
        let compile = |source: &OperationSource| {
            Ok(match source {
                OperationSource::Select { hold } => Self::Select { hold: hold.compile(symbols)? },
                OperationSource::Reset => Self::Reset,
                OperationSource::Act { action, times } => {
                    Self::Act { action: action.compile(symbols)?, times: times.unwrap_or(1) }
                }
                OperationSource::Let { name, expr } => {
                    let value = symbols.parse(expr)?;
                    Self::Let { slot: symbols.slot(name), value }
                }
                OperationSource::Until { cond, r#do, max } => Self::Until {
                    condition: symbols.parse(cond)?,
                    body: Self::compile(r#do, symbols)?,
                    max: max.unwrap_or(MAX_FRAMES),
                },
            })
        };
        sources.iter().map(compile).collect()
    }
}
