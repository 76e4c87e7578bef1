//! `ale-train play` in a pseudo-terminal: it plays, and always restores the terminal at its end.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ale::SOUND_SAMPLES;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::program::is_alive;
use crate::program::{self, ALE_TRAIN, fail, skip};

/// The sequences that switch to the alternate screen and back to the main screen.
const ALTERNATE: &str = "\x1b[?1049h";
const MAIN: &str = "\x1b[?1049l";
/// The query for the attributes of the terminal, which ends the query for its keyboard protocol.
const QUERY: &str = "\x1b[c";
/// The answers of a terminal without kitty's keyboard protocol, and of one with it.
pub(crate) const PLAIN: &str = "\x1b[?62c";
const KITTY: &str = "\x1b[?0u\x1b[?62c";

/// Columns and rows.
pub(crate) type Size = (usize, usize);
const SIZE: Size = (100, 40);

/// A command that runs in a pseudo-terminal.
pub(crate) struct Terminal {
    size: Size,
    script: Child,
    keyboard: ChildStdin,
    output: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Runs `command`, then `stty -a`. Returns `None` if `script`, which makes the pseudo-terminal, is not installed.
    pub(crate) fn run(command: &str) -> Option<Self> {
        Self::run_in(SIZE, command)
    }

    /// Does the same in a terminal of another size.
    pub(crate) fn run_in(size: Size, command: &str) -> Option<Self> {
        let (columns, rows) = size;
        let command = format!("stty cols {columns} rows {rows}; {command}; stty -a");
        let Ok(mut script) = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("COLORTERM", "truecolor")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            skip("`script`, which makes pseudo-terminals, is not installed");
            return None;
        };
        let keyboard = script.stdin.take().expect("a pipe");
        let mut stdout = script.stdout.take().expect("a pipe");
        let output = Arc::new(Mutex::new(Vec::new()));
        let reader = thread::spawn({
            let output = Arc::clone(&output);
            move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                    output.lock().expect("the output").extend_from_slice(&bytes[..count]);
                }
            }
        });
        Some(Self { size, script, keyboard, output, reader })
    }

    fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().expect("the output")).into_owned()
    }

    fn send(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a key press");
        self.keyboard.flush().expect("a key press");
    }

    /// Answers the queries of the program.
    pub(crate) fn answer(&mut self, answer: &str) {
        self.wait_until("query", |output| output.contains(QUERY));
        self.send(answer);
    }

    /// Waits until the screen shows a text, then sends keys.
    pub(crate) fn on(&mut self, text: &str, keys: &str) {
        self.wait_until(text, |output| screen_of(self.size, output).contains(text));
        self.send(keys);
    }

    /// Returns the letters on the screen.
    pub(crate) fn screen(&self) -> String {
        screen_of(self.size, &self.output())
    }

    fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !condition(&self.output()) {
            assert!(Instant::now() < deadline, "no '{what}' in a minute:\n{}", self.screen());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end. Asserts that the terminal is as it was before; returns the whole output, and the part that
    /// followed the game.
    pub(crate) fn close(mut self) -> (String, String) {
        let status = self.script.wait().expect("an exit status");
        // The keyboard stays open until here: closing it would end the program.
        drop(self.keyboard);
        self.reader.join().expect("the output");
        let output = String::from_utf8_lossy(&self.output.lock().expect("the output")).into_owned();
        assert!(status.success(), "{status}: {output}");
        let (_, game) = output.split_once(ALTERNATE).expect("the alternate screen");
        let (game, after) = game.split_once(MAIN).expect("the main screen");
        assert!(after.contains(" icanon") && after.contains(" echo "), "the terminal is still raw: {after}");
        assert!(game.contains("\x1b[?25l") && game.contains("\x1b[?25h"), "the cursor is still hidden");
        let after = after.to_owned();
        (output, after)
    }
}

/// Returns the letters on the alternate screen after this output.
pub(crate) fn screen(output: &str) -> String {
    screen_of(SIZE, output)
}

fn screen_of((columns, rows): Size, output: &str) -> String {
    let mut letters = vec![vec![' '; columns]; rows];
    let (mut row, mut column) = (0, 0);
    let game = output.split_once(ALTERNATE).map_or("", |(_, game)| game);
    let mut rest = game.split_once(MAIN).map_or(game, |(game, _)| game).chars();
    while let Some(letter) = rest.next() {
        if letter != '\x1b' {
            if let Some(place) = letters.get_mut(row).and_then(|row| row.get_mut(column)) {
                *place = letter;
            }
            column += 1;
            continue;
        }
        let mut end = ' ';
        let is_parameter = |letter: &char| {
            end = *letter;
            !letter.is_ascii_alphabetic()
        };
        let sequence: String = rest.by_ref().skip(1).take_while(is_parameter).collect();
        let parameters: Vec<usize> = sequence.split(';').filter_map(|number| number.parse().ok()).collect();
        if let ('H', [to_row, to_column]) = (end, &parameters[..]) {
            (row, column) = (to_row - 1, to_column - 1);
        }
    }
    letters.iter().map(|row| row.iter().collect::<String>() + "\n").collect()
}

#[test]
fn the_built_in_game_is_played_with_the_keys_of_the_panel() {
    let Some(mut terminal) = Terminal::run(&format!("{ALE_TRAIN} play")) else { return };
    terminal.answer(PLAIN);
    terminal.on("you play", "d");
    terminal.on("right ", "\x1b[D ");
    terminal.on("leftfire", "p");
    terminal.on("paused", "r");
    terminal.on("score   0", "q");
    let (output, after) = terminal.close();
    let last = screen(&output);
    for expected in ["Harvest", "joystick", "paused", "▄▄▄▄"] {
        assert!(last.contains(expected), "no '{expected}' on the screen:\n{last}");
    }
    assert!(output.contains("\x1b[38;2;"), "no colours");
    // No game was completed, so there is no best score.
    assert!(after.contains("Harvest: score 0\r\n"), "{after:?}");
}

#[test]
fn a_lone_escape_quits() {
    let Some(mut terminal) = Terminal::run(&format!("{ALE_TRAIN} play")) else { return };
    terminal.answer(PLAIN);
    terminal.on("you play", "\x1b");
    let (_, after) = terminal.close();
    assert!(after.contains("Harvest: score 0"), "{after}");
}

#[test]
fn a_key_is_held_until_the_terminal_reports_its_release() {
    let Some(mut terminal) = Terminal::run(&format!("{ALE_TRAIN} play")) else { return };
    terminal.answer(KITTY);
    terminal.on("you play", "\x1b[1;1:1C");
    terminal.on("action  right ", "");
    // Longer than a press is held on terminals that do not report releases.
    thread::sleep(Duration::from_millis(600));
    terminal.on("action  right ", "\x1b[1;1:3C");
    terminal.on("action  noop", "\x1b[27u");
    let (output, _) = terminal.close();
    assert!(
        output.contains("\x1b[>11u") && output.contains("\x1b[<1u"),
        "the protocol is switched on and off"
    );
}

/// Starts a game and waits for its first screen. Returns its process id too. The game's exit status is printed at its
/// end.
fn started_game() -> Option<(Terminal, u32)> {
    let temp = TempDir::new().expect("a temporary directory");
    let pid = temp.path().join("pid");
    let command = format!("sh -c 'echo $$ > {}; exec {ALE_TRAIN} play'; echo status $?", pid.display());
    let mut terminal = Terminal::run(&command)?;
    terminal.answer(PLAIN);
    terminal.on("you play", "");
    let pid = std::fs::read_to_string(pid).expect("a file").trim().parse().expect("a process id");
    Some((terminal, pid))
}

#[test]
fn a_signal_restores_the_terminal() {
    let Some((terminal, pid)) = started_game() else { return };
    program::signal(pid, "-TERM");
    let (_, after) = terminal.close();
    assert!(after.contains("status 143"), "{after}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_terminal_ends_the_game() {
    let Some((mut terminal, pid)) = started_game() else { return };
    terminal.script.kill().expect("a running process");
    terminal.script.wait().expect("an exit status");
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_alive(pid) {
        assert!(Instant::now() < deadline, "the game is still running");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_agent_shows_its_reading_and_takes_over() {
    let temp = TempDir::new().expect("a temporary directory");
    for (name, algorithm, settings, digits) in [
        ("ppo", "ppo", &["ppo.num_steps=16"][..], " %"),
        ("factored", "ppo", &["ppo.num_steps=16", "environments.factored_actions=true"], " %"),
        ("dqn", "dqn", &["dqn.learning_starts=9"], "."),
    ] {
        let run = temp.path().join(name);
        let line = program::train(&run, algorithm).words("--quiet --total-frames 1024 --num-envs 2");
        line.set(&format!("{algorithm}.gamma"), 0.9).settings(settings).succeed();
        let play = format!("{ALE_TRAIN} play --checkpoint {}", run.display());
        let Some(mut terminal) = Terminal::run(&play) else {
            return;
        };
        terminal.answer(PLAIN);
        terminal.on("you play", "\t");
        terminal.on("the agent plays", "\t");
        terminal.on("you play", "q");
        let (output, _) = terminal.close();
        let last = screen(&output);
        for expected in ["agent's value", "switch player", digits, "noop"] {
            assert!(last.contains(expected), "no '{expected}' on the screen:\n{last}");
        }
    }
}

#[test]
fn an_agent_of_the_zoo_plays_at_once() {
    let command = format!("{ALE_TRAIN} --offline play --checkpoint zoo:harvest --watch");
    let Some(mut terminal) = Terminal::run(&command) else { return };
    terminal.answer(PLAIN);
    terminal.on("the agent plays", "q");
    let (output, _) = terminal.close();
    assert!(screen(&output).contains("agent's value"), "{}", screen(&output));
}

#[test]
fn refuses_without_a_terminal_or_with_wrong_arguments() {
    for (words, expected) in [
        ("play", "needs a terminal as standard input and output"),
        ("play brekout", "did you mean breakout?"),
        ("play atari5", "'atari5' selects 5 games; choose one to play"),
        ("play harvest --mode 7", "modes are [0]"),
        ("play harvest --sticky 2", "it must be a number in 0..=1"),
        ("play --checkpoint nowhere", "nowhere does not exist"),
    ] {
        let message = fail(program::run(words).command().stdin(Stdio::null()), 2);
        assert!(message.contains(expected), "{words}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

/// Writes an executable script of the shell.
fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a script that can be run");
}

#[test]
fn the_sound_is_piped_into_the_first_program_that_works() {
    let directory = TempDir::new().expect("a directory");
    let [programs, samples] = ["programs", "samples"].map(|name| directory.path().join(name));
    fs::create_dir(&programs).expect("a directory");
    // There is no device.
    script(&programs.join("pacat"), "exit 1");
    script(&programs.join("aplay"), &format!("echo \"$@\" >&2; exec cat > {}", samples.display()));
    let path = format!("PATH={}:$PATH", programs.display());
    let Some(mut terminal) = Terminal::run(&format!("{path} {ALE_TRAIN} play --sound")) else { return };
    terminal.answer(PLAIN);
    terminal.on("you play", "d");
    thread::sleep(Duration::from_secs(1));
    terminal.on("you play", "q");
    terminal.close();
    let length = fs::metadata(samples).expect("the samples").len() as usize;
    let frames = length / SOUND_SAMPLES;
    assert!(length.is_multiple_of(SOUND_SAMPLES) && (20..600).contains(&frames), "{length} samples");
}

#[test]
fn sound_needs_a_program_that_plays_it() {
    let directory = TempDir::new().expect("a directory");
    let mut play = Command::new(ALE_TRAIN);
    let message = fail(play.args(["play", "--sound"]).env("PATH", directory.path()), 2);
    assert_eq!(
        message,
        "error: --sound needs a device for sound and one of these programs: pacat, aplay, play, ffplay\n"
    );
}
