//! The language of game rules, and its evaluation.
//!
//! The rules of a game are a small program over named 32-bit integers. `init` sets values at a reset. `step` is a list
//! of assignments `name = expression` that run after every emulated frame. `keep` names variables that survive a reset.
//! A bare name is the current value, `old.name` the value before the step. Three names are outputs: `reward`,
//! `terminal` and `lives`. The rules for several players have a reward and lives for each of them: `reward_a` and
//! `lives_a` to `reward_d` and `lives_d`. `mode` is the mode of the episode.
//!
//! Expressions have the operators and precedences of Rust (bit operators bind tighter than comparisons), a conditional
//! `c ? a : b`, truth values 0 and 1, and these forms:
//!
//! | form | value |
//! |---|---|
//! | `r[a]` | RAM byte at `a & 0x7F` |
//! | `m[a]` | the byte that the CPU would read at address `a` of the cartridge |
//! | `bcd(a0, a1, ...)` | packed decimal, least significant byte first; digits above 9 have the values 10 to 15 |
//! | `z10(e)` | 0 if `e` is 10 (a blank digit), else `e` |
//! | `d8(a)` | 0 if `r[a]` is 0x80, else `r[a] >> 3` (Alien's digits) |
//! | `d72(a)` | `r[a] / 8` if `r[a]` is a multiple of 8 up to 72, else 0 (River Raid's digits) |
//! | `s8(e)` | the low 8 bits as a signed byte |
//! | `min(a, b)`, `max(a, b)` | |
//! | `sum(a, b, e)` | the sum of `e` over the RAM bytes `a..=b`, each named `x` in `e` |
//! | `count(a, b, e)` | the number of those bytes for which `e` is non-zero |
//! | `rng()` | 31 bits from the environment's random generator (only in adventure's mode selection) |

mod expression;
mod parser;
mod program;

pub(crate) use expression::Expression;
pub(crate) use parser::{ParseError, Symbols};
pub(crate) use program::{Rules, RulesSource, Variables};
