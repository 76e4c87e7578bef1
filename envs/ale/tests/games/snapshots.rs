//! Snapshots and saved states of every game: a restored game continues exactly like the original. Damaged ones are
//! tested in `fuzz`.

use std::fmt::Debug;
use std::sync::Arc;

use ale::{Action, Ale, AleError, AleSettings, PoweredGame, SavedState, game, games, roms};
use libtest_mimic::{Failed, Trial};
use vcs::{Mt19937, RAM};

/// Acts between two snapshots and after the last one.
const ACTS: u32 = 40;
const SNAPSHOTS: u32 = 2;
/// Frames before each saved state: the first one is that after a reset.
const PLAYED: [usize; 3] = [0, 7, 40];
/// Frames compared after a saved state.
const COMPARED: usize = 16;
/// Bytes of a saved state, most of them for the two random generators. The screens alone have 67,200 pixels.
const MAX_SAVED: usize = 16 * 1024;

/// A test of a game.
type Test = fn(&str, &Arc<[u8]>) -> Result<(), Failed>;
const TESTS: [(&str, Test); 2] =
    [("snapshots", restores_and_continues), ("saved_states", shows_the_same_from_the_second_frame_on)];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for game in games() {
        for (name, test) in TESTS {
            let run = move || roms::for_tests(game.id).map_or(Ok(()), |rom| test(game.id, &rom));
            trials.push(Trial::test(format!("{name}::{}", game.id), run));
        }
    }
    trials.extend([
        Trial::test("snapshots::a_frame_that_never_ends", a_frame_that_never_ends),
        Trial::test("snapshots::a_rejected_snapshot_changes_nothing", a_rejected_snapshot_changes_nothing),
    ]);
    trials
}

fn power_on(id: &str, rom: &Arc<[u8]>) -> Result<PoweredGame, AleError> {
    PoweredGame::new(game(id)?, Arc::clone(rom))
}

fn start(powered: &PoweredGame, frame_skip: u32, seed: u32) -> Result<Ale, AleError> {
    let settings = AleSettings { repeat_action_probability: 0.25, frame_skip, ..AleSettings::default() };
    Ale::new(powered, settings, seed)
}

/// Plays random actions. Returns everything observable after each.
fn play(ale: &mut Ale, random: &mut Mt19937, acts: u32) -> Vec<impl PartialEq + Debug + use<>> {
    (0..acts).map(|_| act_at_random(ale, random)).collect()
}

/// Plays a random action, and sometimes resets the game. Returns everything observable before the reset.
fn act_at_random(ale: &mut Ale, random: &mut Mt19937) -> impl PartialEq + Debug + use<> {
    let reward = ale.act(random_action(ale.game().legal_actions, random), 1.0);
    let observable = (
        reward,
        (ale.lives(), ale.game_over(), ale.frame_number(), ale.episode_frame_number()),
        crc32fast::hash(ale.ram()),
        crc32fast::hash(ale.screen()),
    );
    if ale.game_over() || random.next_u32().is_multiple_of(50) {
        ale.reset_game();
    }
    observable
}

fn random_action(legal: &[u8], random: &mut Mt19937) -> Action {
    Action::new(legal[random.next_u32() as usize % legal.len()]).expect("a legal action")
}

/// Takes snapshots during a game and continues; restores each of them in a copy and in another game that has played
/// differently, and expects the same continuation.
fn restores_and_continues(id: &str, rom: &Arc<[u8]>) -> Result<(), Failed> {
    let powered = power_on(id, rom)?;
    for frame_skip in [1, 4] {
        let mut ale = start(&powered, frame_skip, 1)?;
        let mut other = start(&powered, frame_skip, 2)?;
        play(&mut other, &mut Mt19937::new(99), ACTS / 4);
        for snapshot in 0..SNAPSHOTS {
            let bytes = ale.snapshot();
            let mut fork = ale.clone();
            let random = Mt19937::new(snapshot);
            let expected = play(&mut ale, &mut random.clone(), ACTS);
            let after = ale.snapshot();

            if play(&mut fork, &mut random.clone(), ACTS) != expected {
                return Err(format!("a copy continues differently after snapshot {snapshot}").into());
            }
            for returning in [&mut fork, &mut other] {
                returning.restore(&bytes)?;
                if returning.snapshot() != bytes {
                    return Err(format!("snapshot {snapshot} changes when it is restored").into());
                }
                if play(returning, &mut random.clone(), ACTS) != expected || returning.snapshot() != after {
                    return Err(
                        format!("a restored game continues differently after snapshot {snapshot}").into()
                    );
                }
            }
        }
    }
    Ok(())
}

/// Everything observable after a frame: reward, lives, frame numbers and RAM, and the screen.
type Frame = ((i32, i32, u32, u32, [u8; RAM]), Vec<u8>);

/// Performs actions of one frame each.
fn frames(ale: &mut Ale, actions: &[Action]) -> Vec<Frame> {
    actions.iter().map(|&action| frame(ale, action)).collect()
}

fn frame(ale: &mut Ale, action: Action) -> Frame {
    let reward = ale.act(action, 1.0);
    let state = (reward, ale.lives(), ale.frame_number(), ale.episode_frame_number(), *ale.ram());
    (state, ale.screen().to_vec())
}

fn random_actions(legal: &[u8], random: &mut Mt19937, count: usize) -> Vec<Action> {
    (0..count).map(|_| random_action(legal, random)).collect()
}

/// Saves states right after a reset and later, and restores each of them in the same game and, from its bytes, in one
/// that has played differently. The screens are the same from the second frame on, everything else from the first one.
fn shows_the_same_from_the_second_frame_on(id: &str, rom: &Arc<[u8]>) -> Result<(), Failed> {
    let powered = power_on(id, rom)?;
    let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
    let legal = powered.game().legal_actions;
    let mut random = Mt19937::new(1);
    let mut ale = Ale::new(&powered, settings, 1)?;
    let mut other = ale.clone();
    frames(&mut other, &random_actions(legal, &mut random, 20));
    for played in PLAYED {
        frames(&mut ale, &random_actions(legal, &mut random, played));
        let saved = ale.save_state(true);
        let bytes = saved.to_bytes();
        if bytes.len() > MAX_SAVED {
            return Err(format!("a state has {} bytes", bytes.len()).into());
        }
        let actions = random_actions(legal, &mut random, COMPARED);
        let expected = frames(&mut ale, &actions);
        let read = SavedState::from_bytes(&bytes)?;
        for (name, game, state) in [("same", &mut ale, &saved), ("other", &mut other, &read)] {
            game.restore_state(state)?;
            let restored = frames(game, &actions);
            for (frame, (got, expected)) in restored.iter().zip(&expected).enumerate() {
                let differs = match (got.0 == expected.0, got.1 == expected.1) {
                    (false, _) => "state",
                    (true, false) if frame > 0 => "screen",
                    _ => continue,
                };
                let frame = format!("frame {} in the {name} game, saved {played} frames later", frame + 1);
                return Err(format!("the {differs} differs in {frame}").into());
            }
        }
    }
    Ok(())
}

/// Returns a program of 4 KB that counts in an endless loop without VSYNC, so that every snapshot is taken within a
/// frame. It draws with its counter.
fn endless() -> Arc<[u8]> {
    #[rustfmt::skip]
    let program = [
        0xE6, 0x80,       // loop: INC $80
        0xD0, 0xFC,       //       BNE loop
        0xE6, 0x81,       //       INC $81
        0xA5, 0x81,       //       LDA $81
        0x85, 0x1B,       //       STA GRP0
        0x85, 0x10,       //       STA RESP0
        0x65, 0x07,       //       ADC CXPPMM
        0x85, 0x09,       //       STA COLUBK
        0x29, 0x3F,       //       AND #$3F
        0xD0, 0xEC,       //       BNE loop
        0x85, 0x02,       //       STA WSYNC
        0x4C, 0x00, 0xF0, //       JMP loop
    ];
    let mut rom = vec![0; 4096];
    rom[..program.len()].copy_from_slice(&program);
    rom[4092..].copy_from_slice(&[0x00, 0xF0, 0x00, 0xF0]);
    rom.into()
}

fn a_frame_that_never_ends() -> Result<(), Failed> {
    restores_and_continues("venture", &endless())?;
    shows_the_same_from_the_second_frame_on("venture", &endless())
}

fn a_rejected_snapshot_changes_nothing() -> Result<(), Failed> {
    let harvest: Arc<[u8]> = roms::built_in("harvest").ok_or("the open game")?.into();
    let mut ale = start(&power_on("harvest", &harvest)?, 1, 1)?;
    play(&mut ale, &mut Mt19937::new(3), 30);
    let before = ale.snapshot();
    let foreign = start(&power_on("venture", &endless())?, 1, 1)?.snapshot();
    let longer = [&before[..], &[0]].concat();
    for bad in [&foreign[..], &before[..before.len() - 1], &longer, &[]] {
        let error = ale.restore(bad).expect_err("a state of this game is expected");
        assert_eq!(error.to_string(), "the snapshot does not belong to harvest or is damaged");
        assert!(ale.snapshot() == before);
    }
    Ok(())
}
