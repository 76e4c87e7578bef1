//! Pictures of the tasks equal Gymnasium's, in the recorded ones or in those of the file `ALE_TRAIN_MUJOCO_PICTURES`.
//!
//! The pixels of the recorded pictures depend on the version of Mesa, so that only the mean colours of parts of the
//! pictures are compared with them. Those of the file must be equal.
//!
//! Without libOSMesa the tests are skipped; in CI they fail.

use std::env;
use std::fs;
use std::process::Command;
use std::thread;

use mujoco::{MujocoEnv, RenderError, Task, Value, View, check_rendering};
use rl_env::{Action, Env, Pcg64, RgbImage, Space};
use sha2::{Digest, Sha256};
use tempfile::tempdir;

use crate::installation;

const RECORDED: &str = include_str!("data/pictures.txt");
const NUM_PICTURES: usize = 4;
/// The number of parts of a picture in each direction.
const CELLS: usize = 6;
/// The largest difference of the mean of a part, in levels of 256, if Mesa may be another version.
const ROUNDING: u8 = 1;

/// Returns false and says so if pictures cannot be drawn. Panics in CI, where the library must be installed.
fn can_draw() -> bool {
    let Err(error) = check_rendering() else { return true };
    assert!(env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{error}, but CI skips nothing");
    eprintln!("skipped: {error}");
    false
}

/// A task that acts randomly.
struct Player {
    env: MujocoEnv,
    generator: Pcg64,
    bounds: Vec<(f64, f64)>,
    row: Vec<u8>,
    steps: usize,
}

impl Player {
    fn new(id: &str, arguments: &[(&str, Value)], seed: u64) -> Self {
        let mut env = MujocoEnv::new(&Task::load(&installation(), id, arguments).unwrap());
        let Space::Box { low, high, .. } = env.action_space() else { panic!("actions are floats") };
        let bounds =
            (0..env.action_space().num_elements()).map(|index| (low.of(index), high.of(index))).collect();
        let mut row = vec![0; env.observation_space().byte_len()];
        env.reset(Some(seed), &mut row);
        Self { env, generator: Pcg64::new(seed), bounds, row, steps: 0 }
    }

    fn play_until(&mut self, steps: usize) {
        while self.steps < steps {
            let bounds = self.bounds.iter();
            let action: Vec<f32> =
                bounds.map(|&(low, high)| self.generator.uniform(low, high) as f32).collect();
            self.env.step(Action::Continuous(&action), &mut self.row).unwrap();
            self.steps += 1;
        }
    }

    fn picture(&self) -> RgbImage {
        self.env.draw(View::Fixed).unwrap()
    }
}

/// Returns the mean colours of the parts.
fn cells(picture: &RgbImage) -> Vec<u8> {
    let (width, height) = (picture.width / CELLS, picture.height / CELLS);
    let mut sums = [0_usize; CELLS * CELLS * 3];
    for (index, &value) in picture.pixels.iter().enumerate() {
        let (row, column) = (index / 3 / picture.width, index / 3 % picture.width);
        sums[(row / height * CELLS + column / width) * 3 + index % 3] += usize::from(value);
    }
    sums.map(|sum| (sum as f64 / (width * height) as f64).round_ties_even() as u8).to_vec()
}

fn parse_cells(text: &str) -> Vec<u8> {
    let byte = |index| u8::from_str_radix(&text[index..index + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn sha256(picture: &RgbImage) -> String {
    format!("{:x}", Sha256::digest(&picture.pixels))
}

/// Compares the pictures of a task with recorded lines. Returns the number of pictures.
fn compare(id: &str, lines: &[&str], seed: u64, compares_pixels: bool) -> usize {
    let mut player = Player::new(id, &[], seed);
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let &[view, steps, digest, expected] = words.as_slice() else { panic!("bad line {line}") };
        player.play_until(steps.parse().unwrap());
        let view = if view == "following" { View::Following } else { View::Fixed };
        let picture = player.env.draw(view).unwrap();
        assert_eq!((picture.width, picture.height), (480, 480));
        if compares_pixels {
            assert_eq!(&sha256(&picture)[..digest.len()], digest, "{id}, {view:?}, step {steps}");
        }
        let (cells, expected) = (cells(&picture), parse_cells(expected));
        assert_eq!(cells.len(), expected.len());
        let difference = cells.iter().zip(&expected).map(|(cell, expected)| cell.abs_diff(*expected)).max();
        assert!(difference <= Some(ROUNDING), "{id}, {view:?}, step {steps}: {cells:?}, not {expected:?}");
    }
    lines.len()
}

#[test]
fn pictures_equal_those_of_gymnasium() {
    if !can_draw() {
        return;
    }
    let file = env::var_os("ALE_TRAIN_MUJOCO_PICTURES").map(|file| fs::read_to_string(file).unwrap());
    let mut lines = file.as_deref().unwrap_or(RECORDED).lines().peekable();
    let seed = lines.next().unwrap().strip_prefix("seed ").unwrap().parse().unwrap();
    let mut registry = rl_env::Registry::new();
    mujoco::register(&mut registry, &installation()).unwrap();
    for id in Task::ids() {
        let header = lines.next().unwrap();
        assert_eq!(header, format!("{id} {}", registry.spec(id).unwrap().frames_per_second.unwrap()));
        let pictures: Vec<&str> = lines.by_ref().take(NUM_PICTURES).collect();
        assert_eq!(compare(id, &pictures, seed, file.is_some()), NUM_PICTURES);
    }
    assert_eq!(lines.next(), None);
}
