//! Random programs from `grammar.txt`, equal to those of `record.py`.

use std::collections::HashMap;

/// A linear congruential generator modulo 2^32.
pub(crate) struct Random(u32);

impl Random {
    pub(crate) fn new(seed: u32) -> Self {
        Self(seed.wrapping_mul(2654435761) | 1)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        (self.0 >> 16) % bound
    }
}

/// The alternatives of each name.
pub(crate) struct Grammar(HashMap<&'static str, Vec<Vec<Token>>>);

#[derive(Clone, Copy)]
enum Token {
    Bytes(u8, u8),
    Name(&'static str),
    Mark,
    MarkAddress,
}

impl Token {
    fn parse(text: &'static str) -> Self {
        let byte = |digits| u8::from_str_radix(digits, 16).expect("a hexadecimal byte");
        match (text, text.strip_prefix('@'), text.split_once('-')) {
            ("<", ..) => Self::Mark,
            (">", ..) => Self::MarkAddress,
            (_, Some(name), _) => Self::Name(name),
            (_, _, Some((first, last))) => Self::Bytes(byte(first), byte(last)),
            _ => Self::Bytes(byte(text), byte(text)),
        }
    }
}

impl Grammar {
    pub(crate) fn new() -> Self {
        let mut ways: HashMap<_, Vec<_>> = HashMap::new();
        let lines = include_str!("grammar.txt").lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (head, tokens) = line.split_once(':').expect("a colon");
            let (name, weight) = head.split_once(' ').expect("a weight");
            let tokens: Vec<Token> = tokens.split_whitespace().map(Token::parse).collect();
            for _ in 0..weight.parse().expect("a number") {
                ways.entry(name).or_default().push(tokens.clone());
            }
        }
        Self(ways)
    }

    /// Returns the program of a theme and a seed as an image of `size` bytes.
    pub(crate) fn image(&self, theme: &str, seed: u32, size: usize) -> Vec<u8> {
        let bank = size.min(4096);
        let mut program =
            Program { grammar: self, random: Random::new(seed), bank, code: Vec::new(), marks: Vec::new() };
        program.write(theme, size);
        program.code
    }
}

/// A program under construction. `record.py` does the same steps.
struct Program<'a> {
    grammar: &'a Grammar,
    random: Random,
    bank: usize,
    code: Vec<u8>,
    marks: Vec<u16>,
}

const LONGEST_PART: usize = 300;
const DATA: usize = 0x200;

impl Program<'_> {
    fn write(&mut self, theme: &str, size: usize) {
        if theme == "noise" {
            while self.code.len() < size {
                self.expand(theme);
            }
        } else {
            self.expand("begin");
            let mut parts = 1 + self.random.below(60);
            while parts > 0 && self.code.len() < self.bank - DATA - 2 * LONGEST_PART {
                self.expand(theme);
                parts -= 1;
            }
            self.expand("end");
            // Every bank holds the same program and different data.
            let program = self.code.clone();
            while self.code.len() < size {
                if self.code.len().is_multiple_of(self.bank) {
                    self.code.extend(&program);
                }
                self.code.push(self.random.below(256) as u8);
            }
        }
        // The reset vector is the start of the window, the BRK vector a routine that counts and returns.
        let [low, high] = self.origin().to_le_bytes();
        for bank in self.code.chunks_exact_mut(self.bank) {
            let end = bank.len();
            bank[end - 16..end - 13].copy_from_slice(&[0xE6, 0xBE, 0x40]);
            bank[end - 4..].copy_from_slice(&[low, high, 0xF0, 0xFF]);
        }
    }

    fn origin(&self) -> u16 {
        (0x10000 - self.bank) as u16
    }

    fn expand(&mut self, name: &str) {
        let grammar = self.grammar;
        let ways = &grammar.0[name];
        let way = &ways[self.random.below(ways.len() as u32) as usize];
        for token in way {
            match *token {
                Token::Mark => self.marks.push(self.origin() + self.code.len() as u16),
                Token::MarkAddress => {
                    let mark = self.marks.pop().expect("a mark");
                    self.code.extend(mark.to_le_bytes());
                }
                Token::Name(name) => self.expand(name),
                Token::Bytes(first, last) if first == last => self.code.push(first),
                Token::Bytes(first, last) => {
                    let count = u32::from(last - first) + 1;
                    self.code.push(first + self.random.below(count) as u8);
                }
            }
        }
    }
}
