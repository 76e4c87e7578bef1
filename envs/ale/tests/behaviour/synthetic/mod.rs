//! Compares generated programs with ale-py (see `record.py`): accesses to TIA and RIOT at any cycle, undocumented
//! opcodes, decimal mode, frames of any length, programs that never end a frame.

mod grammar;

use std::{env, fs};

use self::grammar::{Grammar, Random};
use ale::{Action, Ale, AleSettings, PoweredGame, game};
use vcs::Scheme;

/// Game, theme, seed, acts, CRC-32 of the image.
type Run = (String, String, u32, usize, String);

/// The low 16 bits of running CRC-32s over RAM and screen.
#[derive(Debug, PartialEq)]
struct Check {
    ram: u16,
    screen: u16,
}

const CHECK_BYTES: usize = 4;

#[test]
fn generated_programs_run_as_in_ale_py() {
    let trace = env::var_os("SYNTHETIC_TRACE")
        .map_or_else(|| include_bytes!("programs.trace").to_vec(), |path| fs::read(path).expect("the trace"));
    let header = trace.iter().position(|&byte| byte == b'\n').expect("a header");
    let runs: Vec<Run> = serde_json::from_slice(&trace[..header]).expect("a list of runs");
    let mut checks = trace[header + 1..].chunks_exact(CHECK_BYTES).map(|bytes| Check {
        ram: u16::from_le_bytes([bytes[0], bytes[1]]),
        screen: u16::from_le_bytes([bytes[2], bytes[3]]),
    });
    let grammar = Grammar::new();
    let mut failures = Vec::new();
    for run in &runs {
        let (id, theme, seed, acts, crc) = run;
        let expected: Vec<Check> = checks.by_ref().take(*acts).collect();
        let size = match game(id).expect("a game").bankswitch {
            Scheme::Rom2K => 2048,
            Scheme::Rom4K => 4096,
            _ => 8192,
        };
        let image = grammar.image(theme, *seed, size);
        assert_eq!(&format!("{:08x}", crc32fast::hash(&image)), crc, "image of {run:?}");
        let got = replay(id, image, *seed, *acts);
        let differs = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        if let Some(act) = differs {
            failures
                .push(format!("act {act} of {run:?}: got {:x?}, expected {:x?}", got[act], expected[act]));
        } else if got.len() != expected.len() {
            failures.push(format!("{run:?} ends after {} acts", got.len()));
        }
    }
    assert_eq!(checks.next(), None, "the trace has more acts");
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), runs.len(), failures.join("\n"));
}

fn replay(id: &str, image: Vec<u8>, seed: u32, acts: usize) -> Vec<Check> {
    let powered = PoweredGame::new(game(id).expect("a game"), image.into()).expect("a cartridge");
    let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, seed).expect("good settings");
    let mut random = Random::new(seed);
    let (mut ram, mut screen) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
    let mut checks = Vec::new();
    while checks.len() < acts {
        ale.act(Action::new(random.below(18) as u8).expect("an action"), 1.0);
        ram.update(ale.ram());
        screen.update(ale.screen());
        checks.push(Check { ram: ram.clone().finalize() as u16, screen: screen.clone().finalize() as u16 });
        if ale.game_over() {
            break;
        }
    }
    checks
}
