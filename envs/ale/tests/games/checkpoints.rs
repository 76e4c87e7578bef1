//! Every game at seven points of a run of 1800 acts, compared with ale-py (`checkpoints.toml`).

use std::collections::{BTreeMap, BTreeSet};

use ale::{Action, Ale, AleSettings, PoweredGame, game, games, roms};
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;

/// The CRC-32s of RAM and screen in hexadecimal.
type Checksums = [String; 2];
/// The same, then the sum of rewards and the number of resets.
type Point = (String, String, i64, u32);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    load: Checksums,
    reset2: Checksums,
    f1: Point,
    f60: Point,
    f300: Point,
    f600: Point,
    f1800: Point,
}

pub(crate) fn trials() -> Vec<Trial> {
    let table: BTreeMap<String, Expected> =
        toml::from_str(include_str!("checkpoints.toml")).expect("a TOML table");
    let ids: BTreeSet<String> = table.keys().cloned().collect();
    let coverage = Trial::test("checkpoints::cover_every_game", move || check_coverage(&ids));
    let trials = table
        .into_iter()
        .map(|(id, expected)| Trial::test(format!("checkpoints::{id}"), move || compare(&id, &expected)));
    trials.chain([coverage]).collect()
}

/// Fails unless there are checkpoints of exactly the games that are not built in.
fn check_coverage(ids: &BTreeSet<String>) -> Result<(), Failed> {
    let games = games().iter().map(|game| game.id.to_owned());
    let expected: BTreeSet<String> = games.filter(|id| roms::built_in(id).is_none()).collect();
    let different: Vec<&String> = ids.symmetric_difference(&expected).collect();
    equal("games without checkpoints, or checkpoints without a game", &different, &Vec::new())
}

fn compare(id: &str, expected: &Expected) -> Result<(), Failed> {
    let Some(rom) = roms::for_tests(id) else {
        return Ok(());
    };
    let powered = PoweredGame::new(game(id)?, rom)?;
    let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, 1)?;
    equal("load", &checksums(&ale), &expected.load)?;
    ale.reset_game();
    equal("reset2", &checksums(&ale), &expected.reset2)?;

    let legal = powered.game().legal_actions;
    let points = [(1, &expected.f1), (60, &expected.f60), (300, &expected.f300), (600, &expected.f600)];
    let mut points = points.into_iter().chain([(1800, &expected.f1800)]).peekable();
    let (mut rewards, mut resets) = (0, 0);
    for act in 1.. {
        let Some(&(at, point)) = points.peek() else {
            return Ok(());
        };
        let code = legal[(act / 5 * 7 + act / 60) % legal.len()];
        rewards += i64::from(ale.act(Action::new(code).expect("a legal action"), 1.0));
        if ale.game_over() {
            ale.reset_game();
            resets += 1;
        }
        if act == at {
            let [ram, screen] = checksums(&ale);
            equal(&format!("act {act}"), &(ram, screen, rewards, resets), point)?;
            points.next();
        }
    }
    unreachable!("the points end")
}

fn checksums(ale: &Ale) -> Checksums {
    [ale.ram().as_slice(), ale.screen()].map(|bytes| format!("{:08x}", crc32fast::hash(bytes)))
}

fn equal<T: PartialEq + std::fmt::Debug>(point: &str, got: &T, expected: &T) -> Result<(), Failed> {
    if got == expected { Ok(()) } else { Err(format!("{point}: got {got:?}, expected {expected:?}").into()) }
}
