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

use mujoco::{MujocoEnv, Task, Value, View, check_rendering};
use rl_env::{Action, Actions, Env, FlattenObservation, Pcg64, ResetSeeds, RgbImage, Space, VectorEnv};
use sha2::{Digest, Sha256};
use tempfile::tempdir;
use vector::{PoolOptions, PoolVectorEnv};

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

/// As the application does.
#[test]
fn environments_of_a_pool_are_drawn_through_wrappers() {
    if !can_draw() {
        return;
    }
    let mut registry = rl_env::Registry::new();
    mujoco::register(&mut registry, &installation()).unwrap();
    let env = |index: usize| (format!("{index}"), FlattenObservation::new(registry.make("Ant-v5").unwrap()));
    let mut pool = PoolVectorEnv::new(vec![env(0), env(1)], PoolOptions::default()).unwrap();
    pool.reset(ResetSeeds::From(3)).unwrap();
    let mut players = [3, 4].map(|seed| Player::new("Ant-v5", &[], seed));
    for steps in [0, 1] {
        if steps == 1 {
            let num_actions = 2 * players[0].bounds.len();
            pool.step(Actions::Continuous(&vec![0.5; num_actions])).unwrap();
            for player in &mut players {
                let action = vec![0.5; player.bounds.len()];
                player.env.step(Action::Continuous(&action), &mut player.row).unwrap();
            }
        }
        for (index, player) in players.iter().enumerate() {
            let picture = pool.with_env(index, Env::render).unwrap().unwrap();
            assert!(picture == Some(player.env.draw(View::Following).unwrap()), "environment {index}");
        }
    }
}

/// Mesa's EGL draws with the same code as libOSMesa if it may not use a GPU.
#[test]
fn pictures_of_egl_equal_those_of_gymnasium() {
    if !can_draw() {
        return;
    }
    let test = "pictures::pictures_equal_those_of_gymnasium";
    let mut command = alone(test);
    command.env("MUJOCO_GL", "egl").env("LIBGL_ALWAYS_SOFTWARE", "1");
    command.env("__EGL_VENDOR_LIBRARY_FILENAMES", "/usr/share/glvnd/egl_vendor.d/50_mesa.json");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // Outside CI, the test may be skipped.
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains(&format!("{test} ... ok")), "{text}");
}

/// Returns a command that runs one of these tests in a new process, which can load other libraries.
fn alone(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env_remove("MUJOCO_GL");
    command
}

#[test]
fn the_environment_behaves_equally_whether_it_is_drawn_or_not() {
    if !can_draw() {
        return;
    }
    for id in ["Ant-v5", "Humanoid-v5"] {
        let [mut drawn, mut other] = [0, 1].map(|_| Player::new(id, &[], 3));
        for steps in 1..=5 {
            drawn.picture();
            drawn.play_until(steps);
            other.play_until(steps);
            assert_eq!(drawn.env.snapshot(), other.env.snapshot(), "{id}, step {steps}");
        }
    }
}

#[test]
fn a_restored_environment_shows_the_restored_state() {
    if !can_draw() {
        return;
    }
    // The default camera of Hopper does not depend on its state.
    let [mut player, mut other] = [3, 4].map(|seed| Player::new("Hopper-v5", &[], seed));
    player.play_until(20);
    let snapshot = player.env.snapshot();
    let before = other.picture();
    other.env.restore(&snapshot).unwrap();
    player.env.restore(&snapshot).unwrap();
    assert_eq!(other.picture(), player.picture());
    assert_ne!(other.picture(), before);
    // The pictures after it are those of an environment that was not restored.
    let mut original = Player::new("Hopper-v5", &[], 3);
    original.play_until(21);
    player.play_until(21);
    assert_eq!(player.picture(), original.picture());
}

#[test]
fn environments_are_drawn_by_several_threads() {
    if !can_draw() {
        return;
    }
    let ids = ["Ant-v5", "Hopper-v5", "Reacher-v5"];
    let expected = ids.map(|id| {
        let mut player = Player::new(id, &[], 5);
        [0, 3].map(|steps| {
            player.play_until(steps);
            player.picture()
        })
    });
    let players = ids.map(|id| Player::new(id, &[], 5));
    let threads = players.map(|player| {
        // The second picture is drawn by another thread than the first.
        thread::spawn(move || {
            let first = player.picture();
            (first, player)
        })
    });
    let threads = threads.map(|thread| {
        let (first, mut player) = thread.join().unwrap();
        thread::spawn(move || {
            player.play_until(3);
            [first, player.picture()]
        })
    });
    let drawn = threads.map(|thread| thread.join().unwrap());
    assert!(drawn == expected, "the pictures differ");
}

/// Gymnasium enlarges the buffer that such a model asks for.
#[test]
fn a_model_for_small_pictures_has_pictures_of_the_same_size() {
    if !can_draw() {
        return;
    }
    let model = "gymnasium/envs/mujoco/assets/hopper.xml";
    let hopper = fs::read_to_string(installation().directory().join(model)).unwrap();
    let small = hopper.replacen("<visual>", "<visual>\n<global offwidth=\"100\" offheight=\"50\"/>", 1);
    assert_ne!(small, hopper);
    let directory = tempdir().unwrap();
    let path = directory.path().join("small.xml");
    fs::write(&path, small).unwrap();
    let xml_file = [("xml_file", Value::from(path.to_str().unwrap()))];
    let [expected, small] =
        [&[], xml_file.as_slice()].map(|given| Player::new("Hopper-v5", given, 0).picture());
    assert!(small == expected, "the pictures differ");
}

/// Returns what is said about pictures by a process that finds its libraries in a directory, with a value of
/// `MUJOCO_GL`.
#[cfg(target_os = "linux")]
fn said_with_libraries(directory: &std::path::Path, chosen: &str) -> String {
    let mut command = alone("pictures::the_environment_behaves_equally_whether_it_is_drawn_or_not");
    let output =
        command.env("LD_LIBRARY_PATH", directory).env("MUJOCO_GL", chosen).env_remove("CI").output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn missing_and_unusable_libraries_are_named() {
    let directory = tempdir().unwrap();
    for file in ["libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so", "libEGL.so.1", "libEGL.so"] {
        fs::write(directory.path().join(file), "no library").unwrap();
    }
    let nothing = "skipped: pictures of MuJoCo tasks need OpenGL without a screen, but neither libOSMesa nor libEGL \
                   can be loaded; the Debian package libosmesa6, or libegl1 with libegl-mesa0, provides it\n";
    assert_eq!(said_with_libraries(directory.path(), ""), nothing);
    let not_chosen = "skipped: pictures of MuJoCo tasks need OpenGL without a screen, but the library of \
                      MUJOCO_GL=osmesa cannot be loaded\n";
    assert_eq!(said_with_libraries(directory.path(), "osmesa"), not_chosen);
    let unusable = |library: &str, reason: &str| {
        format!(
            "skipped: {library} cannot draw pictures of MuJoCo tasks: {reason}; the Debian package libosmesa6 \
             provides a library that draws on the processor\n"
        )
    };
    let install = |file: &str, source: &str| {
        let built = crate::errors::build(directory.path(), source);
        fs::rename(built, directory.path().join(file)).unwrap();
    };
    install("libEGL.so.1", "int nothing;");
    let lacks = unusable("libEGL", "it lacks eglInitialize");
    assert_eq!(said_with_libraries(directory.path(), ""), lacks);
    install("libOSMesa.so.8", "int OSMesaCreateContextExt;");
    let lacks = unusable("libOSMesa", "it lacks OSMesaMakeCurrent");
    assert_eq!(said_with_libraries(directory.path(), ""), lacks);
    let functions =
        "void *OSMesaCreateContextExt(void) { return 0; } int OSMesaMakeCurrent, OSMesaDestroyContext;";
    install("libOSMesa.so.8", functions);
    let creates_none = unusable("libOSMesa", "it creates no context");
    assert_eq!(said_with_libraries(directory.path(), ""), creates_none);
}
