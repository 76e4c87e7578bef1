//! Mode selection: the presses of SELECT and RESET with which a player would choose a mode.

use serde::Deserialize;

use crate::rules::{Expression, ParseError, Symbols};

/// An operation as written in the table of games.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum OperationSource {
    Select { hold: Value },
    Reset,
    Act { action: Value, times: Option<u32> },
    Let { name: String, expr: String },
    Until { cond: String, r#do: Vec<OperationSource>, max: Option<u32> },
}

/// An integer or an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Fixed(i32),
    Computed(String),
}

/// One operation. Expressions can use RAM, the rules' variables and `mode`, the target mode.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Holds SELECT for `hold` frames without applying the rules, then releases it for one frame with them.
    Select { hold: Expression },
    /// Holds RESET for four frames.
    Reset,
    /// Performs an action `times` times, as an agent would.
    Act { action: Expression, times: u32 },
    /// Assigns a variable.
    Let { slot: usize, value: Expression },
    /// Repeats until the condition holds, at most `max` times, and stops when the frames are used up.
    Until { condition: Expression, body: Vec<Operation>, max: u32 },
}

/// The limit of a mode selection in frames; an act counts as one. With a ROM of another game the reference would search
/// forever.
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
        sources.iter().map(|source| Self::compile_one(source, symbols)).collect()
    }

    fn compile_one(source: &OperationSource, symbols: &mut Symbols) -> Result<Self, ParseError> {
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
    }
}
