//! The sound of every game compared with ale-py (see `tests/golden/record_sound.py`), and its snapshots.

use std::collections::BTreeSet;
use std::sync::Arc;

use ale::{Ale, AleSettings, PoweredGame, SOUND_SAMPLES, game, games, roms};
use libtest_mimic::{Failed, Trial};

use super::golden::actions;

const SOUNDS: &str = include_str!("../golden/sound.txt");
const SEED: u32 = 1;
const ACTS: usize = 1000;
const ACTS_PER_CHECK: usize = 200;
const RESET_AFTER: usize = 300;

pub(crate) fn trials() -> Vec<Trial> {
    let rows = SOUNDS.lines().map(|line| line.split_once(' ').expect("a game and its checks"));
    let compared =
        rows.clone().map(|(id, checks)| Trial::test(format!("sound::{id}"), move || compare(id, checks)));
    let recorded: BTreeSet<&str> = rows.map(|(id, _)| id).collect();
    compared
        .chain([
            Trial::test("sound::is_recorded_for_every_game", move || check_coverage(&recorded)),
            Trial::test("sound::snapshots", snapshots_contain_the_sound),
            Trial::test("sound::saved_states", saved_states_leave_the_sound_as_it_is),
            Trial::test("sound::is_off_by_default", is_off_by_default),
        ])
        .collect()
}

fn check_coverage(recorded: &BTreeSet<&str>) -> Result<(), Failed> {
    let ids = games().iter().map(|game| game.id);
    let expected: BTreeSet<&str> = ids.filter(|id| roms::built_in(id).is_none()).collect();
    let different: Vec<&&str> = recorded.symmetric_difference(&expected).collect();
    if different.is_empty() {
        Ok(())
    } else {
        Err(format!("only recorded or only a game: {different:?}").into())
    }
}

fn start(id: &str, rom: Arc<[u8]>) -> Result<Ale, Failed> {
    let powered = PoweredGame::new(game(id)?, rom)?;
    let settings = AleSettings { frame_skip: 2, sound: true, ..AleSettings::default() };
    Ok(Ale::new(&powered, settings, SEED)?)
}

fn harvest() -> Result<Ale, Failed> {
    start("harvest", roms::built_in("harvest").ok_or("the open game")?.into())
}

fn sound(ale: &Ale) -> [u8; SOUND_SAMPLES] {
    *ale.sound().expect("sound is switched on")
}

/// Repeats the recorded acts. Every third one is drawn.
fn compare(id: &str, expected: &str) -> Result<(), Failed> {
    let Some(rom) = roms::for_tests(id) else {
        return Ok(());
    };
    let mut ale = start(id, rom)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&sound(&ale));
    let mut checks = Vec::new();
    for (act, action) in (1..=ACTS).zip(actions(SEED, ale.game().legal_actions)) {
        if act % 3 == 0 {
            ale.act(action, 1.0);
        } else {
            ale.act_undrawn(action, 1.0);
        }
        crc.update(&sound(&ale));
        if act % ACTS_PER_CHECK == 0 {
            checks.push(format!("{:08x}", crc.clone().finalize()));
        }
        if ale.game_over() || act == RESET_AFTER {
            ale.reset_game();
        }
    }
    let got = checks.join(" ");
    if got == expected { Ok(()) } else { Err(format!("got {got}, expected {expected}").into()) }
}

/// Plays acts and returns the sound of each.
fn play(ale: &mut Ale, first: usize, acts: usize) -> Vec<[u8; SOUND_SAMPLES]> {
    let chosen = actions(SEED, ale.game().legal_actions).skip(first).take(acts);
    chosen.map(|action| (ale.act(action, 1.0), sound(ale)).1).collect()
}

fn snapshots_contain_the_sound() -> Result<(), Failed> {
    let (mut ale, mut other) = (harvest()?, harvest()?);
    play(&mut ale, 0, 100);
    play(&mut other, 50, 33);
    let (snapshot, before) = (ale.snapshot(), sound(&ale));
    let expected = play(&mut ale, 100, 200);
    assert!(expected.iter().any(|samples| samples != &expected[0]), "the game is silent");
    for restored in [&mut ale, &mut other] {
        restored.restore(&snapshot)?;
        assert_eq!(sound(restored), before);
        assert!(restored.snapshot() == snapshot);
        assert!(play(restored, 100, 200) == expected);
    }
    // After a saved state, a snapshot also has the former screens.
    let saved = ale.save_state(true);
    ale.restore_state(&saved)?;
    let snapshot = ale.snapshot();
    let expected = play(&mut ale, 0, 50);
    other.restore(&snapshot)?;
    assert!(other.snapshot() == snapshot && play(&mut other, 0, 50) == expected);

    // A snapshot without sound is restored with a fresh one.
    let mut silent = Ale::new(
        &PoweredGame::new(game("harvest")?, roms::built_in("harvest").ok_or("the open game")?.into())?,
        AleSettings { frame_skip: 2, ..AleSettings::default() },
        SEED,
    )?;
    let without = silent.snapshot();
    let fresh = harvest()?;
    ale.restore(&without)?;
    assert_eq!(ale.snapshot().len(), fresh.snapshot().len());
    assert_eq!(sound(&ale), [0; SOUND_SAMPLES]);
    silent.restore(&snapshot)?;
    assert!(silent.sound().is_none());
    Ok(())
}

/// As in ale-py, where a saved state holds neither the registers nor the generator.
fn saved_states_leave_the_sound_as_it_is() -> Result<(), Failed> {
    let mut ale = harvest()?;
    play(&mut ale, 0, 60);
    let saved = ale.save_state(true);
    let mut silent = ale.clone();
    play(&mut ale, 60, 40);
    let before = sound(&ale);
    ale.restore_state(&saved)?;
    silent.restore_state(&saved)?;
    assert_eq!(sound(&ale), before);
    assert_ne!(play(&mut ale, 60, 100), play(&mut silent, 60, 100));
    Ok(())
}

fn is_off_by_default() -> Result<(), Failed> {
    let powered =
        PoweredGame::new(game("harvest")?, roms::built_in("harvest").ok_or("the open game")?.into())?;
    let mut ale = Ale::new(&powered, AleSettings::default(), SEED)?;
    ale.act(ale::Action::FIRE, 1.0);
    assert!(ale.sound().is_none());
    Ok(())
}
