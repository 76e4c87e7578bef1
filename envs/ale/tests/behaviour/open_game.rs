//! Harvest, the built-in open game: its rules, and a proof that its best score can always be reached. The addresses and
//! numbers are those in roms/open/README.md.

use ale::roms::{Md5Sum, built_in};
use ale::{Action, Ale, AleSettings, PoweredGame, game};
use vcs::{Cartridge, Console, ConsoleOptions, Inputs, Mt19937, TvFormat};

const NOOP: u8 = 0;
const RIGHT: u8 = 3;
const LEFT: u8 = 4;

const BEST_SCORE: i32 = 36;
const HORNETS: usize = 12;
const LONGEST_GAME: u32 = 1953;
const LANDING: u8 = 72;
const DROP_INTERVAL: u8 = 40;
const EMPTY: u8 = 0x80;

/// The variables of the game in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Orchard {
    score: u8,
    lives: u8,
    over: bool,
    basket: i32,
    drops: u8,
    things: [Thing; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thing {
    age: u8,
    x: i32,
    hornet: bool,
}

impl Orchard {
    fn read(ram: &[u8; 128]) -> Self {
        let things = [0, 1].map(|slot| Thing {
            age: ram[0x08 + slot],
            x: ram[0x0A + slot].into(),
            hornet: ram[0x0C + slot] == 8,
        });
        Self { score: ram[0], lives: ram[1], over: ram[2] != 0, basket: ram[3].into(), drops: ram[4], things }
    }

    /// Returns the action of a perfect player. It considers only the object that lands next: it moves under a fruit,
    /// avoids a hornet, and otherwise stays still.
    fn best_action(&self) -> u8 {
        let falling = self.things.iter().filter(|thing| thing.age < LANDING);
        let Some(next) = falling.max_by_key(|thing| thing.age) else {
            return NOOP;
        };
        let column = next.x - 8;
        let distance = column - self.basket;
        let go_right = match (next.hornet, distance.abs()) {
            (false, 0..=6) | (true, 13..) => return NOOP,
            (false, _) => distance > 0,
            // Away from the hornet, but not into a wall.
            (true, _) if distance > 0 => column - 13 < 4,
            (true, _) => column + 13 <= 124,
        };
        if go_right { RIGHT } else { LEFT }
    }
}

fn harvest(frame_skip: u32) -> Ale {
    let rom = built_in("harvest").unwrap();
    let settings = AleSettings { repeat_action_probability: 0.0, frame_skip, ..AleSettings::default() };
    Ale::new(&PoweredGame::new(game("harvest").unwrap(), rom.into()).unwrap(), settings, 0).unwrap()
}

fn orchard(ale: &Ale) -> Orchard {
    Orchard::read(ale.ram())
}

fn act(ale: &mut Ale, code: u8) -> i32 {
    ale.act(Action::new(code).unwrap(), 1.0)
}

#[test]
fn the_row_of_the_table_names_the_image() {
    let rom = built_in("harvest").unwrap();
    let sum = Md5Sum::of(rom).to_string();
    assert!(
        include_str!("../../../../roms/open/harvest.toml").contains(&sum),
        "the row of harvest does not name the sum {sum}"
    );
}

/// The assembler is run by a shell script.
#[cfg(unix)]
#[test]
fn the_image_matches_its_source() {
    let output = std::process::Command::new("sh").arg("../../roms/open/assemble").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Without dasm the script checks nothing and says so; in CI it fails.
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_reset_starts_a_game_immediately() {
    let mut ale = harvest(1);
    for _ in 0..3 {
        let start = orchard(&ale);
        assert_eq!((start.score, start.lives, start.over, start.basket, start.drops), (0, 3, false, 64, 0));
        assert_eq!((ale.lives(), ale.game_over()), (3, false));
        act(&mut ale, NOOP);
        assert_eq!(orchard(&ale).drops, 1);
        while !ale.game_over() {
            act(&mut ale, LEFT);
        }
        assert!(orchard(&ale).over);
        ale.reset_game();
    }
}

#[test]
fn a_perfect_player_reaches_the_best_score() {
    assert_eq!(game("harvest").unwrap().best_score, Some(f64::from(BEST_SCORE)));
    for frame_skip in 1..=4 {
        let mut ale = harvest(frame_skip);
        for no_ops in [0, 1, 7, 22, 30] {
            let mut hornets = 0;
            let mut score = 0;
            for _ in 0..no_ops / frame_skip {
                act(&mut ale, NOOP);
            }
            while !ale.game_over() {
                let before = orchard(&ale);
                score += act(&mut ale, before.best_action());
                let after = orchard(&ale);
                if after.drops > before.drops && after.things[usize::from(before.drops % 2)].hornet {
                    hornets += 1;
                }
            }
            let frames = ale.episode_frame_number();
            assert_eq!((score, ale.lives(), frames), (BEST_SCORE, 3, LONGEST_GAME), "{no_ops} no-ops");
            // The drop during the no-ops may have been a hornet.
            assert!((HORNETS - 1..=HORNETS).contains(&hornets));
            ale.reset_game();
        }
    }
}

/// Emulates frames with the same inputs.
fn run_frames(console: &mut Console, inputs: Inputs, frames: u8) {
    console.set_inputs(inputs);
    (0..frames).for_each(|_| console.run_frame());
}

/// A proof by exhaustion for a player who decides every fourth frame. From every position of the basket at the first
/// decision after a landing, the next landing can be reached in time, whatever the object and its column. The proof
/// assumes nothing about the earlier course of the game.
///
/// The basket starts in the middle and moves 12 pixels per decision, so it is at 4, 16, ... 124 at each of them. Up to
/// three of the 40 frames between two landings have then passed.
#[test]
fn every_landing_can_be_reached() {
    const FRAME_SKIP: u8 = 4;
    let rom = built_in("harvest").unwrap();
    let options = ConsoleOptions { tv: Some(TvFormat::Ntsc), ..ConsoleOptions::default() };
    let mut console = Console::new(Cartridge::detect(rom.into()).unwrap(), &options);
    let mut reset = Inputs::default();
    reset.switches.reset = true;
    run_frames(&mut console, reset, 4);

    for basket in (4..=124).step_by(12) {
        for (column, kind) in (0..16).flat_map(|column| [(column, 0), (column, 8)]) {
            for late in 0..FRAME_SKIP {
                let ram = console.ram_mut();
                (ram[0x00], ram[0x01], ram[0x03], ram[0x05]) = (0, 3, basket, 0);
                // The object in slot 0 is falling, slot 1 is empty, and the next drop follows the landing.
                (ram[0x06], ram[0x08], ram[0x09]) =
                    (DROP_INTERVAL + 8, LANDING - DROP_INTERVAL + late, EMPTY);
                (ram[0x0A], ram[0x0C]) = (12 + 8 * column, kind);
                let mut frames = DROP_INTERVAL - late;
                while frames > 0 {
                    let mut inputs = Inputs::default();
                    let action = Orchard::read(console.ram()).best_action();
                    inputs.joysticks[0] = Action::new(action).unwrap().joystick();
                    run_frames(&mut console, inputs, frames.min(FRAME_SKIP));
                    frames -= frames.min(FRAME_SKIP);
                }
                let after = Orchard::read(console.ram());
                let fruit = u8::from(kind == 0);
                assert_eq!((after.score, after.lives), (fruit, 3), "from {basket}, {late} late: {after:?}");
            }
        }
    }
}

#[test]
fn a_random_player_scores_a_sixth_and_loses_lives() {
    const EPISODES: i32 = 40;
    let mut random = Mt19937::new(1);
    let mut ale = harvest(4);
    let (mut total, mut unhurt, mut dead) = (0, 0, 0);
    for _ in 0..EPISODES {
        while !ale.game_over() {
            total += act(&mut ale, [NOOP, RIGHT, LEFT][random.next_u32() as usize % 3]);
        }
        match ale.lives() {
            0 => dead += 1,
            3 => unhurt += 1,
            _ => {}
        }
        ale.reset_game();
    }
    println!("mean score {} unhurt {unhurt} dead {dead}", f64::from(total) / f64::from(EPISODES));
    // 10 to 25 % of the best score.
    assert!((36 * EPISODES / 10..=36 * EPISODES / 4).contains(&total), "{total}");
    assert!(unhurt < EPISODES / 4, "{unhurt}");
    assert!(dead > EPISODES / 4, "{dead}");
}

/// Returns the columns of the first drops of an episode that a random player begins with no-ops.
fn first_columns(no_ops: u32, ale: &mut Ale) -> Vec<i32> {
    let mut random = Mt19937::new(7);
    let mut columns = Vec::new();
    for _ in 0..no_ops {
        act(ale, NOOP);
    }
    while columns.len() < 12 && !ale.game_over() {
        let before = orchard(ale).drops;
        act(ale, [NOOP, RIGHT, LEFT][random.next_u32() as usize % 3]);
        if orchard(ale).drops > before {
            columns.push(orchard(ale).things[usize::from(before % 2)].x);
        }
    }
    columns
}

#[test]
fn drops_depend_only_on_the_actions() {
    let games: Vec<_> = (0..8).map(|no_ops| first_columns(no_ops, &mut harvest(1))).collect();
    assert_eq!(games[3], first_columns(3, &mut harvest(1)));
    for (i, one) in games.iter().enumerate() {
        for (j, other) in games[..i].iter().enumerate() {
            assert_ne!(one, other, "{j} and {i} no-ops");
        }
    }
    // RAM survives a reset, so the next episode differs too.
    let mut ale = harvest(1);
    let first = first_columns(0, &mut ale);
    ale.reset_game();
    assert_ne!(first, first_columns(0, &mut ale));
}

/// Every frame has the same position: a column of pixels that nothing falls through never changes.
#[test]
fn the_screen_is_steady() {
    let mut ale = harvest(1);
    let mut random = Mt19937::new(3);
    loop {
        act(&mut ale, [NOOP, RIGHT, LEFT][random.next_u32() as usize % 3]);
        let at = |x: usize| ale.screen().iter().skip(x).step_by(160).copied();
        let sky = if ale.game_over() { 0x80 } else { 0x9A };
        assert!(at(8).skip(44).take(144).all(|colour| colour == sky));
        assert_eq!(at(159).skip(30).take(10).collect::<Vec<_>>(), [0xC4; 10]);
        assert_eq!(at(159).skip(43).take(145).collect::<Vec<_>>(), [0xF2; 145]);
        assert_eq!(
            at(159).skip(188).collect::<Vec<_>>()[..],
            [[0x00; 4].as_slice(), &[0xD0; 14], &[0xF0; 4]].concat()
        );
        if ale.game_over() {
            break;
        }
    }
}
