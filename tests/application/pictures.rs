//! The report and the videos of runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::program::{self, run, skip};

/// Trains a run that is long enough for episodes to finish.
fn train(words: &str, directory: &Path) {
    run("ppo --total-frames 8192 --quiet").words(words).within(directory).succeed();
}

/// Trains `run` on the built-in game, without evaluations.
fn train_on_harvest(directory: &Path) {
    train("--games harvest --set evaluation.episodes=0 --run-dir run", directory);
}

#[test]
fn a_report_groups_seeds_and_compares_settings() {
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    for words in ["one --seed 1", "two --seed 2", "other --seed 1 --set ppo.gamma=0.9"] {
        let settings = "--games CartPole-v1 --set evaluation.episodes=2";
        train(&format!("{settings} --run-dir {words}"), directory);
    }
    let run = |words: &str| run(words).within(directory);
    let said = run("report one two other --out page.html").stdout();
    assert_eq!(said, "3 runs in page.html\n");
    let page = fs::read_to_string(directory.join("page.html")).expect("a page");
    for text in [
        "PPO, gamma 0.99</span></td><td class=\"left\">two</td><td>2</td>",
        "PPO, gamma 0.9</span></td>",
        "\"title\":\"policy loss\"",
        "<td>100&nbsp;%</td>",
    ] {
        assert!(page.contains(text), "no '{text}' in {page}");
    }
    // Self-contained: the only URL is that of the library, in a comment.
    assert!(!page.replace("/*! https://github.com", "").contains("://"), "{page}");
    run("report tuned=one base=two=2 --out page.html").fail(2);
    run("report tuned=one base=other --out page.html").succeed();
    let named = fs::read_to_string(directory.join("page.html")).expect("a page");
    assert!(
        named.contains("</span>tuned</span></td>") && named.contains("\"names\":[\"tuned\",\"base\"]"),
        "{named}"
    );
    run("report one two other --out curves.svg").succeed();
    let svg = fs::read_to_string(directory.join("curves.svg")).expect("an SVG");
    for text in ["CartPole-v1", "PPO, gamma 0.99", "PPO, gamma 0.9\n", "\nframes\n"] {
        assert!(svg.contains(text), "no '{text}' in {svg}");
    }
    run("report one --out curves.png").succeed();
    let file = fs::File::open(directory.join("curves.png")).expect("a PNG");
    let png = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("a PNG");
    assert_eq!((png.info().width, png.info().height), (2 * 560, 2 * 320));
    for (name, lines, part) in [
        ("scores.csv", 3, "\nCartPole-v1,\"PPO, gamma 0.99\",2,"),
        (
            "scores.md",
            5,
            "| game | PPO, gamma 0.99 | PPO, gamma 0.9 |\n| --- | --- | --- |\n| CartPole-v1 | ",
        ),
        ("scores.json", 0, "\"setting\": \"PPO, gamma 0.99\""),
    ] {
        run("report one two other --out").arg(name).succeed();
        let text = fs::read_to_string(directory.join(name)).expect("scores");
        let format = name.rsplit('.').next().expect("an extension");
        assert_eq!(run("report one two other --format").arg(format).stdout(), text);
        assert!(text.contains(part) && (lines == 0 || text.lines().count() == lines), "{text}");
    }
    // A directory of runs, as that of a sweep.
    let said = run("report . --out all.html").stdout();
    assert_eq!(said, "3 runs in all.html\n");
    fs::create_dir(directory.join("papers")).expect("a directory");
    for (words, expected) in [
        ("report one nowhere", "nowhere does not exist"),
        ("report papers", "papers is not the directory of a run"),
        (
            "report one --out x.pdf",
            "must end in .html for the page, in .md, .csv or .json for the scores, or in",
        ),
    ] {
        let said = run(words).fail(2);
        assert!(said.contains(expected), "{said}");
    }
    assert!(!directory.join("x.pdf").exists());
}

#[test]
fn records_whole_screens_and_rejects_wrong_arguments() {
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train_on_harvest(directory);
    for name in ["agent.gif", "agent.apng"] {
        let record = run("record run --games harvest --max-steps 12 --out").arg(name);
        let said = record.within(directory).stdout();
        assert!(said.ends_with(&format!("after 12 steps, in {name}\n")), "{said}");
    }
    let file = fs::File::open(directory.join("agent.gif")).expect("a GIF");
    let decoder = gif::DecodeOptions::new().read_info(file).expect("a GIF");
    assert_eq!((decoder.width(), decoder.height()), (320, 2 * (210 + 12)));
    run("record run --mosaic --max-steps 12 --out mosaic.gif").within(directory).succeed();
    let file = fs::File::open(directory.join("mosaic.gif")).expect("a GIF");
    let decoder = gif::DecodeOptions::new().read_info(file).expect("a GIF");
    assert_eq!((decoder.width(), decoder.height()), (160, 210 + 12));
    for (words, expected) in [
        ("record run --mosaic --games pong --out a.gif", "was not trained on 'pong'; it plays harvest"),
        ("record run --out agent.avi", "must end in .gif, .apng or .mp4"),
        ("record run --game pong --out a.gif", "was not trained on 'pong'; it plays harvest"),
        ("record run --scale 0 --out a.gif", "it must be in 1..=16"),
        ("record nowhere --out a.gif", "nowhere does not exist"),
    ] {
        let message = run(words).within(directory).fail(2);
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn tasks_without_a_screen_are_drawn_and_videos_are_in_the_report() {
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    let settings = "--set evaluation.episodes=0 --set environments.rescale_observations=true --run-dir";
    train(&format!("--games CartPole-v1 {settings} cart"), directory);
    train(&format!("--games Taxi-v4 {settings} taxi"), directory);
    for run_dir in ["cart", "taxi"] {
        let name = format!("{run_dir}.gif");
        run("record --max-steps 9 --out").args([&name, run_dir]).within(directory).succeed();
        let file = fs::File::open(directory.join(name)).expect("a GIF");
        let mut decoder = gif::DecodeOptions::new().read_info(file).expect("a GIF");
        assert_eq!((decoder.width(), decoder.height()), (400, 300 + 16));
        let mut screens = std::collections::HashSet::new();
        while let Some(frame) = decoder.read_next_frame().expect("a frame") {
            screens.insert(frame.buffer.to_vec());
        }
        assert!(screens.len() > 3, "{run_dir} has {} screens", screens.len());
    }
    train_on_harvest(directory);
    let messages = run("report run cart --videos --out page.html").within(directory).messages();
    assert!(!messages.contains("no video"), "{messages}");
    let page = fs::read_to_string(directory.join("page.html")).expect("a page");
    assert_eq!(page.matches("<img src=\"data:image/gif;base64,").count(), 2);
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    fs::remove_dir_all(directory.join("cart/checkpoints")).expect("checkpoints");
    let messages = run("report run cart --videos --out page.html").within(directory).messages();
    assert!(messages.contains("no video of cart in CartPole-v1"), "{messages}");
    let said = run("report run --videos --out scores.md").within(directory).fail(2);
    assert!(said.contains("--videos is possible only in a page"), "{said}");
}

/// Returns true if ffmpeg is installed, as it must be in CI.
fn has_ffmpeg() -> bool {
    let found = Command::new("ffmpeg").arg("-version").output().is_ok();
    if !found {
        skip("ffmpeg is not installed");
    }
    found
}

#[test]
fn an_mp4_has_every_frame_in_its_colours() {
    if !has_ffmpeg() {
        return;
    }
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train_on_harvest(directory);
    for name in ["agent.mp4", "agent.gif"] {
        run("record run --max-steps 20 --scale 1 --out").arg(name).within(directory).succeed();
    }
    // Both videos decoded to raw pixels.
    let pixels = |name: &str| {
        let mut command = Command::new("ffmpeg");
        command.args(["-loglevel", "error", "-i", name, "-fps_mode", "passthrough", "-pix_fmt", "rgb24"]);
        program::succeed(command.args(["-f", "rawvideo", "-"]).current_dir(directory)).stdout
    };
    let [mp4, gif] = ["agent.mp4", "agent.gif"].map(pixels);
    assert_eq!(mp4.len(), 20 * 160 * (210 + 12) * 3);
    assert_eq!(gif.len(), mp4.len());
    let distance: u64 = mp4.iter().zip(&gif).map(|(&a, &b)| u64::from(a.abs_diff(b))).sum();
    let mean = distance as f64 / mp4.len() as f64;
    assert!(mean < 4.0, "colours differ by {mean} of 255");
    let left = fs::read_dir(directory).expect("a directory").count();
    assert_eq!(left, 3, "the run and the two videos");
}

#[test]
fn an_mp4_has_the_sound_of_every_frame() {
    if !has_ffmpeg() {
        return;
    }
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    run("record zoo:harvest --max-steps 60 --scale 1 --out agent.mp4").within(directory).succeed();
    let mut command = Command::new("ffmpeg");
    command.args(["-loglevel", "error", "-i", "agent.mp4", "-f", "u8", "-ac", "1", "-ar", "30720", "-"]);
    let samples = program::succeed(command.current_dir(directory)).stdout;
    // A step has four frames, a frame has 512 samples. The codec may add less than one of its blocks.
    let expected = 60 * 4 * 512;
    assert!((expected..expected + 1024).contains(&samples.len()), "{} samples", samples.len());
    // The agent catches fruit, which makes a sound.
    assert!(samples.iter().any(|&sample| sample > 150), "the video is silent");
}

#[cfg(unix)]
#[test]
fn a_failed_recording_leaves_no_file() {
    use std::os::unix::fs::PermissionsExt;

    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train_on_harvest(directory);
    let programs = directory.join("programs");
    fs::create_dir(&programs).expect("a directory");
    let record = |name: &str, status| {
        let line = run("record run --max-steps 40 --out").arg(name).within(directory);
        let said = program::fail(line.command().env("PATH", &programs), status);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    let missing = "an .mp4 requires ffmpeg, which is not installed; install it, or record a .gif";
    assert_eq!(record("agent.mp4", 2), format!("error: {missing}\n"));

    // A stand-in for ffmpeg that fails half-way.
    let ffmpeg = programs.join("ffmpeg");
    let script = "#!/bin/sh\ncase $1 in -version) exit 0; esac\nfor last; do :; done\n\
                  echo half > \"$last\"\necho no space left >&2\nexit 1\n";
    fs::write(&ffmpeg, script).expect("a program");
    fs::set_permissions(&ffmpeg, fs::Permissions::from_mode(0o755)).expect("a program");
    let expected = "error: the recording failed: cannot write agent.mp4: ffmpeg failed: no space left\n";
    assert_eq!(record("agent.mp4", 1), expected);

    for (name, expected) in [
        ("nowhere/agent.gif", "cannot write nowhere/agent.gif: the directory nowhere does not exist"),
        ("run.gif", "cannot write run.gif: it is a directory"),
    ] {
        let _ = fs::create_dir(directory.join("run.gif"));
        let said = record(name, 2);
        assert!(said.contains(expected), "{said}");
    }
    let mut left: Vec<_> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["programs", "run", "run.gif"]);
}

#[cfg(unix)]
#[test]
fn a_signal_during_a_recording_leaves_no_file() {
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    // Writing this many large frames takes seconds.
    let line = run("record zoo:harvest --max-steps 200 --scale 8 --out agent.gif").within(directory);
    let mut recording = line.start();
    let is_being_written = |entry: fs::DirEntry| {
        let is_partial = entry.file_name().to_string_lossy().starts_with(".partial-");
        is_partial && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
    };
    let has_begun =
        || fs::read_dir(directory).expect("a directory").any(|entry| entry.is_ok_and(is_being_written));
    program::wait_for(&mut recording, "frame", has_begun);
    program::signal(recording.id(), "-TERM");
    assert_eq!(recording.wait().expect("an exit status").code(), Some(143));
    let left: Vec<_> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
