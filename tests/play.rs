//! A game in a terminal, which is given back however that ends; and what is said where there is none.
#![cfg(unix)]

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ale-train");
/// The sequences of xterm for the alternate screen, and for the one before.
const ALTERNATE: &str = "\x1b[?1049h";
const BEFORE: &str = "\x1b[?1049l";

/// Columns and rows.
const SIZE: (usize, usize) = (100, 40);

/// Everything that a command line has written to a pseudo-terminal in which somebody waits for texts and then presses
/// keys. None where `script` cannot make one.
fn in_a_terminal(command: &str, keys: &[(&str, &str)]) -> Option<String> {
    let (columns, rows) = SIZE;
    let command = format!("stty cols {columns} rows {rows}; {command}; stty -a");
    let Ok(mut child) = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("COLORTERM", "truecolor")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    else {
        eprintln!("not played: there is no `script` to make a terminal with");
        return None;
    };
    let (mut stdin, mut stdout) =
        (child.stdin.take().expect("a keyboard"), child.stdout.take().expect("a screen"));
    let written = Arc::new(Mutex::new(Vec::new()));
    let reader = thread::spawn({
        let written = Arc::clone(&written);
        move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                written.lock().expect("a screen").extend_from_slice(&bytes[..count]);
            }
        }
    });
    let output = || String::from_utf8_lossy(&written.lock().expect("a screen")).into_owned();
    for (text, key) in keys {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !screen(&output()).contains(text) {
            assert!(Instant::now() < deadline, "no '{text}' in a minute:\n{}", screen(&output()));
            thread::sleep(Duration::from_millis(20));
        }
        stdin.write_all(key.as_bytes()).and_then(|()| stdin.flush()).expect("a key press");
    }
    let status = child.wait().expect("the terminal closes");
    reader.join().expect("a screen");
    assert!(status.success(), "{status}");
    Some(output())
}

/// What a terminal shows after this output: letters at the places to which the cursor was sent.
fn screen(output: &str) -> String {
    let (columns, rows) = SIZE;
    let mut letters = vec![vec![' '; columns]; rows];
    let (mut row, mut column) = (0, 0);
    let mut rest = output.split_once(ALTERNATE).map_or("", |(_, rest)| rest).chars();
    while let Some(letter) = rest.next() {
        if letter != '\x1b' {
            if let Some(place) = letters.get_mut(row).and_then(|row| row.get_mut(column)) {
                *place = letter;
            }
            column += 1;
            continue;
        }
        let sequence: String =
            rest.by_ref().skip(1).take_while(|letter| !letter.is_ascii_alphabetic()).collect();
        // Of all sequences this one has two numbers; colours have more.
        let numbers: Vec<usize> = sequence.split(';').filter_map(|number| number.parse().ok()).collect();
        if let [to_row, to_column] = numbers[..] {
            (row, column) = (to_row - 1, to_column - 1);
        }
    }
    letters.iter().map(|row| row.iter().collect::<String>() + "\n").collect()
}

/// Fails unless the terminal is as it was before; returns what was said then.
fn given_back(output: &str) -> &str {
    let (_, rest) = output.split_once(ALTERNATE).expect("the alternate screen");
    let (shown, after) = rest.split_once(BEFORE).expect("the screen of before");
    assert!(after.contains(" icanon") && after.contains(" echo "), "the terminal is still raw: {after}");
    assert!(shown.contains("\x1b[?25l") && shown.contains("\x1b[?25h"), "the cursor is gone");
    after
}

#[test]
fn the_built_in_game_is_played_and_left_with_a_key() {
    let keys =
        [("you play", "d"), ("right ", "\x1b[D "), ("leftfire", "p"), ("paused", "r"), ("score   0", "q")];
    let Some(output) = in_a_terminal(&format!("{PROGRAM} play"), &keys) else { return };
    let last = screen(&output);
    for expected in ["Harvest", "joystick", "paused", "▄▄▄▄"] {
        assert!(last.contains(expected), "no '{expected}' is shown:\n{last}");
    }
    assert!(output.contains("\x1b[38;2;"), "no colours");
    let after = given_back(&output);
    assert!(after.contains("Harvest: score 0, best 0"), "{after}");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let killed = format!("sh -c '(sleep 3; kill -TERM $$) & exec {PROGRAM} play'");
    let Some(output) = in_a_terminal(&killed, &[]) else { return };
    given_back(&output);
}

#[test]
fn an_agent_looks_on_and_takes_over() {
    let temp = TempDir::new().expect("a folder");
    for algorithm in ["ppo", "dqn"] {
        let run = temp.path().join(algorithm);
        let run = run.to_str().expect("a name");
        let small = ["--total-frames", "1024", "--num-envs", "2", "--set", &format!("{algorithm}.gamma=0.9")];
        let length = if algorithm == "ppo" {
            ["--set", "ppo.num_steps=16"]
        } else {
            ["--set", "dqn.learning_starts=9"]
        };
        let train = [algorithm, "--quiet", "--run-dir", run, "--set", "evaluation.episodes=0"];
        let trained = Command::new(PROGRAM).args(train).args(small).args(length).status();
        assert!(trained.expect("the program starts").success());
        let command = format!("{PROGRAM} play --checkpoint {run}");
        let keys = [("you play", "\t"), ("the agent plays", "\t"), ("you play", "q")];
        let Some(output) = in_a_terminal(&command, &keys) else { return };
        let last = screen(&output);
        let number = if algorithm == "ppo" { " %" } else { "." };
        for expected in ["the agent's value", "hand over", number, "noop"] {
            assert!(last.contains(expected), "no '{expected}' is shown:\n{last}");
        }
        given_back(&output);
    }
}

#[test]
fn without_a_terminal_there_is_no_game() {
    let complaint = |arguments: &[&str]| {
        let Output { status, stdout, stderr } =
            Command::new(PROGRAM).args(arguments).stdin(Stdio::null()).output().expect("the program starts");
        let stderr = String::from_utf8(stderr).expect("text");
        assert_eq!((status.code(), stdout.len(), stderr.lines().count()), (Some(2), 0, 1), "{stderr}");
        stderr
    };
    for (arguments, expected) in [
        (&["play"][..], "needs a terminal for its picture and keys"),
        (&["play", "brekout"], "did you mean breakout?"),
        (&["play", "atari5"], "'atari5' is 5 games; one can be played"),
        (&["play", "harvest", "--mode", "7"], "modes are [0]"),
        (&["play", "harvest", "--sticky", "2"], "it must be in 0..=1"),
        (&["play", "--checkpoint", "nowhere"], "there is no nowhere"),
    ] {
        let complaint = complaint(arguments);
        assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
    }
}
