//! Snapshots of every game: a restored game continues exactly like the original. Damaged snapshots are tested in
//! `fuzz`.

use std::fmt::Debug;
use std::sync::Arc;

use ale::{Action, Ale, AleError, AleSettings, PoweredGame, game, games, roms};
use libtest_mimic::{Failed, Trial};
use vcs::Mt19937;

/// Acts between two snapshots and after the last one.
const ACTS: u32 = 40;
const SNAPSHOTS: u32 = 2;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = games()
        .iter()
        .map(|game| {
            Trial::test(format!("snapshots::{}", game.id), || {
                roms::for_tests(game.id).map_or(Ok(()), |rom| restores_and_continues(game.id, &rom))
            })
        })
        .collect();
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
    let legal = ale.game().legal_actions;
    let act = |_| {
        let action = Action::new(legal[random.next_u32() as usize % legal.len()]).expect("a legal action");
        let reward = ale.act(action, 1.0);
        let seen = (
            reward,
            (ale.lives(), ale.game_over(), ale.frame_number(), ale.episode_frame_number()),
            crc32fast::hash(ale.ram()),
            crc32fast::hash(ale.screen()),
        );
        if ale.game_over() || random.next_u32().is_multiple_of(50) {
            ale.reset_game();
        }
        seen
    };
    (0..acts).map(act).collect()
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
    restores_and_continues("venture", &endless())
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
