use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use vcs::TvFormat;

use super::*;

const HEIGHT: usize = 4;
const PIXELS: usize = HEIGHT * SCREEN_WIDTH;

fn preprocessor(grayscale: bool, maxpool: bool) -> Preprocessor {
    Preprocessor::new(Preprocessing {
        screen_height: HEIGHT,
        palette: Palette::of(TvFormat::Ntsc),
        grayscale,
        maxpool,
        target: Size { height: HEIGHT, width: SCREEN_WIDTH },
        stack_num: 2,
    })
}

/// Returns the first byte of each frame of the observation.
fn corners(preprocessor: &Preprocessor) -> [u8; 2] {
    let mut observation = vec![0; 2 * PIXELS * preprocessor.settings.channels()];
    preprocessor.observe(&mut observation);
    [observation[0], observation[observation.len() / 2]]
}

// NTSC: byte 2 is grey 74, byte 4 is grey 111, byte 6 is grey 142.

#[test]
fn the_first_observation_is_black_except_for_its_newest_frame() {
    let mut preprocessor = preprocessor(true, true);
    preprocessor.restart(&[2; PIXELS]);
    assert_eq!(corners(&preprocessor), [0, 74]);
}

#[test]
fn max_pools_the_last_two_frames() {
    let mut preprocessor = preprocessor(true, true);
    preprocessor.restart(&[0; PIXELS]);
    preprocessor.process(Some(&[2; PIXELS]), Some(&[4; PIXELS]));
    assert_eq!(corners(&preprocessor), [0, 111]);
    // The next step does not use the frames of this one.
    preprocessor.process(Some(&[2; PIXELS]), Some(&[0; PIXELS]));
    assert_eq!(corners(&preprocessor), [111, 74]);
}

#[test]
fn a_step_that_ends_early_pools_into_the_previous_result() {
    let mut preprocessor = preprocessor(true, true);
    preprocessor.restart(&[2; PIXELS]);
    // The step ends before either frame.
    preprocessor.process(None, None);
    assert_eq!(corners(&preprocessor), [74, 74]);
    // The step ends between the two.
    preprocessor.process(None, Some(&[6; PIXELS]));
    assert_eq!(corners(&preprocessor), [74, 142]);
    // The next complete step does not use that image.
    preprocessor.process(Some(&[2; PIXELS]), Some(&[0; PIXELS]));
    assert_eq!(corners(&preprocessor), [142, 74]);
}

#[test]
fn without_max_pooling_only_the_last_frame_counts() {
    for grayscale in [true, false] {
        let mut preprocessor = preprocessor(grayscale, false);
        preprocessor.restart(&[2; PIXELS]);
        preprocessor.process(None, Some(&[6; PIXELS]));
        assert_eq!(corners(&preprocessor), [74, 74]);
        preprocessor.process(Some(&[4; PIXELS]), Some(&[6; PIXELS]));
        assert_eq!(corners(&preprocessor), [74, 111]);
    }
}

#[test]
fn max_pools_each_colour_channel() {
    let mut preprocessor = preprocessor(false, true);
    let palette = Palette::of(TvFormat::Ntsc);
    preprocessor.restart(&[0x44; PIXELS]);
    preprocessor.process(Some(&[0x44; PIXELS]), Some(&[0x84; PIXELS]));
    let (red, blue) = (palette.rgb[0x44], palette.rgb[0x84]);
    let expected = [0, 1, 2].map(|channel| red[channel].max(blue[channel]));
    assert!(expected != red && expected != blue);
    let mut observation = vec![0; 6 * PIXELS];
    preprocessor.observe(&mut observation);
    assert_eq!(observation[..3], red);
    assert_eq!(observation[3 * PIXELS..3 * PIXELS + 3], expected);
    assert_eq!(observation[6 * PIXELS - 3..], expected);
}

/// A preprocessor that has just restored its state has nothing to copy unchanged rows from.
#[test]
fn copies_of_unchanged_rows_equal_computed_ones() {
    const ROWS: usize = 210;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for (grayscale, stack_num, side) in [(true, 4, 84), (true, 1, 84), (false, 2, 50), (true, 3, 105)] {
        let settings = Preprocessing {
            screen_height: ROWS,
            palette: Palette::of(TvFormat::Ntsc),
            grayscale,
            maxpool: true,
            target: Size { height: side, width: side },
            stack_num,
        };
        let mut original = Preprocessor::new(settings.clone());
        let mut screens = [vec![0; ROWS * SCREEN_WIDTH], vec![0; ROWS * SCREEN_WIDTH]];
        original.restart(&screens[0]);
        for step in 0..60 {
            let screen = random.random_range(0..2);
            for _ in 0..random.random_range(0..4) {
                let first = random.random_range(0..ROWS);
                let last = (first + random.random_range(0..20)).min(ROWS);
                let bytes = &mut screens[screen][first * SCREEN_WIDTH..last * SCREEN_WIDTH];
                match random.random_range(0..3) {
                    0 => bytes.fill(2 * random.random_range(0..4_u8)),
                    1 => bytes.iter_mut().for_each(|byte| *byte = random.random::<u8>() & 0x0E),
                    _ => bytes.iter_mut().skip(first).step_by(31).for_each(|byte| *byte ^= 0x10),
                }
            }
            if random.random_bool(0.1) {
                original.restart(&screens[0]);
            }
            let mut computed = Preprocessor::new(settings.clone());
            computed.restore(&original.state());
            let (last, previous) = (random.random_bool(0.9), random.random_bool(0.8));
            let mut observations = [&mut original, &mut computed].map(|preprocessor| {
                preprocessor.process(last.then_some(&*screens[0]), previous.then_some(&*screens[1]));
                let mut observation = vec![0; preprocessor.stack.byte_len()];
                preprocessor.observe(&mut observation);
                (observation, preprocessor.state().pooled)
            });
            let [original, computed] = &mut observations;
            assert!(original == computed, "step {step}, {side} pixels");
        }
    }
}

#[test]
fn a_restored_state_continues_identically() {
    let mut original = preprocessor(true, true);
    original.restart(&[2; PIXELS]);
    original.process(None, Some(&[6; PIXELS]));
    let mut copy = preprocessor(true, true);
    copy.restore(&original.state());
    for preprocessor in [&mut original, &mut copy] {
        assert_eq!(corners(preprocessor), [74, 142]);
        preprocessor.process(None, Some(&[2; PIXELS]));
        assert_eq!(corners(preprocessor), [142, 142], "the pooled image is part of the state");
        preprocessor.process(Some(&[2; PIXELS]), Some(&[2; PIXELS]));
        assert_eq!(corners(preprocessor), [142, 74]);
    }
    let mut state = original.state();
    state.pooled.pop();
    assert!(!copy.fits(&state));
}
