//! A recursive-descent parser of [`Expression`]s, one level of precedence after another.

use std::collections::BTreeMap;

use thiserror::Error;

use super::expression::{Binary, Expression, Unary};

/// A rule that is not well-formed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message} at character {position} of \"{text}\"")]
pub(crate) struct ParseError {
    message: String,
    position: usize,
    text: String,
}

/// The names of a program and their slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Symbols(BTreeMap<String, usize>);

impl Symbols {
    /// Returns the slot of `name`, allocating one for a new name.
    pub(crate) fn slot(&mut self, name: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Parses an expression. New names get a slot.
    pub(crate) fn parse(&mut self, text: &str) -> Result<Expression, ParseError> {
        let mut parser = Parser { text, rest: text, symbols: self };
        let expression = parser.expression()?;
        parser.skip_blanks();
        if parser.rest.is_empty() {
            Ok(expression)
        } else {
            Err(parser.error("expected an operator or the end"))
        }
    }

    /// Parses `name = expression`.
    pub(crate) fn parse_assignment(&mut self, text: &str) -> Result<(usize, Expression), ParseError> {
        let split = text.split_once('=').filter(|(_, value)| !value.starts_with('='));
        let Some((name, value)) = split else {
            return Err(ParseError {
                message: "expected `name = expression`".into(),
                position: 0,
                text: text.into(),
            });
        };
        let expression = self.parse(value)?;
        Ok((self.slot(name.trim()), expression))
    }
}

/// The binary operators from the loosest to the tightest level. Longer ones come before their prefixes.
const LEVELS: [&[(&str, Binary)]; 9] = [
    &[("||", Binary::Or)],
    &[("&&", Binary::And)],
    &[
        ("==", Binary::Equal),
        ("!=", Binary::NotEqual),
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
        ("<", Binary::Less),
        (">", Binary::Greater),
    ],
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Remainder)],
];

struct Parser<'t, 's> {
    text: &'t str,
    rest: &'t str,
    symbols: &'s mut Symbols,
}

impl<'t> Parser<'t, '_> {
    fn expression(&mut self) -> Result<Expression, ParseError> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.expression()?;
        Ok(Expression::Conditional(condition.into(), yes.into(), no.into()))
    }

    fn binary(&mut self, level: usize) -> Result<Expression, ParseError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.binary(level + 1)?;
            left = Expression::Binary(operator, left.into(), right.into());
        }
        Ok(left)
    }

    /// Takes one of the operators, but not a prefix of a longer one (`|` of `||`, `<` of `<<`).
    fn operator(&mut self, operators: &[(&str, Binary)]) -> Option<Binary> {
        self.skip_blanks();
        let every_operator = LEVELS.iter().copied().flatten();
        let matching = every_operator.filter(|(sign, _)| self.rest.starts_with(sign));
        let longest = matching.max_by_key(|(sign, _)| sign.len())?;
        let &(sign, operator) = operators.iter().find(|candidate| *candidate == longest)?;
        self.rest = &self.rest[sign.len()..];
        Some(operator)
    }

    fn unary(&mut self) -> Result<Expression, ParseError> {
        for (sign, operator) in [("-", Unary::Minus), ("!", Unary::Not), ("~", Unary::Complement)] {
            if self.take(sign) {
                return Ok(Expression::Unary(operator, self.unary()?.into()));
            }
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expression, ParseError> {
        if self.take("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.word();
        match word {
            "" => Err(self.error("expected a number, a name or a parenthesis")),
            _ if word.starts_with(|first: char| first.is_ascii_digit()) => self.constant(word),
            "x" => Ok(Expression::Element),
            "r" => Ok(Expression::Ram(self.subscript()?)),
            "m" => Ok(Expression::Cartridge(self.subscript()?)),
            "old" => {
                self.expect(".")?;
                let name = self.word();
                Ok(Expression::Old(self.symbols.slot(name)))
            }
            name if self.take("(") => self.call(name),
            name => Ok(Expression::Current(self.symbols.slot(name))),
        }
    }

    fn constant(&self, word: &str) -> Result<Expression, ParseError> {
        let value = match word.strip_prefix("0x") {
            Some(digits) => i32::from_str_radix(digits, 16),
            None => word.parse(),
        };
        value.map(Expression::Constant).map_err(|_| self.error("not a number"))
    }

    fn subscript(&mut self) -> Result<Box<Expression>, ParseError> {
        self.expect("[")?;
        let index = self.expression()?;
        self.expect("]")?;
        Ok(index.into())
    }

    /// Parses the arguments of a function and the closing parenthesis; the opening one has been taken.
    fn call(&mut self, name: &str) -> Result<Expression, ParseError> {
        let mut arguments = Vec::new();
        while !self.take(")") {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            arguments.push(self.expression()?);
        }
        if name == "bcd" {
            return Ok(Expression::Bcd(arguments));
        }
        let boxed: Vec<Box<Expression>> = arguments.into_iter().map(Box::new).collect();
        match (name, boxed.len()) {
            ("rng", 0) => Ok(Expression::Random),
            ("z10" | "d8" | "d72" | "s8", 1) => {
                let [argument] = boxed.try_into().expect("one argument");
                Ok(match name {
                    "z10" => Expression::BlankTen(argument),
                    "d8" => Expression::AlienDigit(argument),
                    "d72" => Expression::RiverRaidDigit(argument),
                    _ => Expression::SignedByte(argument),
                })
            }
            ("min" | "max", 2) => {
                let [a, b] = boxed.try_into().expect("two arguments");
                Ok(if name == "min" { Expression::Min(a, b) } else { Expression::Max(a, b) })
            }
            ("sum" | "count", 3) => {
                let [from, to, each] = boxed.try_into().expect("three arguments");
                Ok(match name {
                    "sum" => Expression::Sum { from, to, each },
                    _ => Expression::Count { from, to, each },
                })
            }
            (name, arguments) => Err(self.error(&format!("no function {name} takes {arguments} arguments"))),
        }
    }

    fn word(&mut self) -> &'t str {
        self.skip_blanks();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.take(sign) { Ok(()) } else { Err(self.error(&format!("expected `{sign}`"))) }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn error(&self, message: &str) -> ParseError {
        let position = self.text.len() - self.rest.len();
        ParseError { message: message.to_owned(), position, text: self.text.to_owned() }
    }
}
