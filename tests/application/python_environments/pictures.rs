//! Videos and the terminal show the frames that environments render.

use std::fs;
use std::path::Path;

use super::Modules;
use crate::play::{PLAIN, Terminal, screen};
use crate::program::{ALE_TRAIN, run};

/// Returns the first pixel of each frame of a GIF, after checking its size and its speed.
fn pixels(path: &Path) -> Vec<[u8; 3]> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(fs::File::open(path).expect("a GIF")).expect("a GIF");
    assert_eq!((decoder.width(), decoder.height()), (60, 30 + 12));
    let mut pixels = Vec::new();
    while let Some(frame) = decoder.read_next_frame().expect("a frame") {
        // Hundredths of a second: 20 frames per second.
        assert_eq!(frame.delay, 5);
        pixels.push([frame.buffer[0], frame.buffer[1], frame.buffer[2]]);
    }
    pixels
}

#[test]
fn a_video_has_the_frames_of_an_episode_up_to_its_end() {
    let Some(modules) = Modules::new() else { return };
    for (name, settings) in [
        ("ppo", "ppo --env python:envs:Shown --total-frames 4096"),
        ("lstm", "ppo --env python:envs:Shown --total-frames 4096 --set policy.lstm=8"),
        ("dqn", "dqn --env python:envs:Shown --total-frames 1000 --set dqn.learning_starts=100"),
    ] {
        modules.train(name, settings).succeed();
        let record = run("record --seed 3 --out video.gif").arg(modules.run(name));
        let said = record.within(modules.directory.path()).stdout();
        let pixels = pixels(&modules.run("video.gif"));
        let steps = pixels.len();
        // Position, steps and a constant.
        let [position, _, _] = pixels[steps - 1];
        for (step, &[_, shown, constant]) in (1..).zip(&pixels) {
            assert_eq!((shown, constant), (step, 7), "{name}: {pixels:?}");
        }
        // The end of the corridor is 10; episodes are truncated after 50 steps. Each step costs 1, and the end gives
        // 10.
        assert!(position == 200 || steps == 50, "{name}: {pixels:?}");
        let score = if position == 200 { 11 - steps as i64 } else { -(steps as i64) };
        assert_eq!(said, format!("score {score} after {steps} steps, in video.gif\n"), "{name}");
    }
}

#[test]
fn an_agent_is_watched_in_the_terminal() {
    let Some(modules) = Modules::new() else { return };
    modules.train("run", "ppo --env python:envs:Shown --total-frames 4096").succeed();
    let directory = modules.directory.path().display();
    let play = format!("cd {directory}; {ALE_TRAIN} play --checkpoint run --watch");
    let Some(mut terminal) = Terminal::run(&play) else { return };
    terminal.answer(PLAIN);
    terminal.on("the agent plays", "\t");
    terminal.on("the agent plays", "p");
    terminal.on("paused", "q");
    let (output, after) = terminal.close();
    let last = screen(&output);
    for expected in ["python:envs:Shown", "agent's value", " %", "▄▄▄▄"] {
        assert!(last.contains(expected), "no '{expected}' on the screen:\n{last}");
    }
    assert!(!last.contains("joystick") && !last.contains("switch"), "{last}");
    assert!(after.contains("python:envs:Shown: score "), "{after}");
}

#[test]
fn environments_that_cannot_be_shown_say_why() {
    let Some(modules) = Modules::new() else { return };
    modules.train("corridor", "ppo --env python:corridor:Corridor --total-frames 4096").succeed();
    modules.train("cart", "ppo --env gym:CartPole-v1 --total-frames 4096").succeed();
    modules.train("shown", "ppo --env python:envs:Shown --total-frames 4096").succeed();
    fs::write(modules.run("pygame.py"), "raise ImportError('no pygame')").expect("a module");
    for (words, expected) in [
        ("record corridor --out a.gif", "unexpected keyword argument 'render_mode'); possible are none"),
        ("record cart --out a.gif", "render failed: pygame is not installed, run `pip install"),
        ("record shown --game pong --out a.gif", "was not trained on 'pong'; it plays python:envs:Shown"),
        ("play --checkpoint shown", "python:envs:Shown can only be watched: add --watch"),
        (
            "play --checkpoint shown --watch --mode 3",
            "--mode is not possible: python:envs:Shown is not an Atari game",
        ),
        ("play --checkpoint cart --watch", "pygame is not installed"),
    ] {
        let message = run(words).within(modules.directory.path()).fail(2);
        assert!(message.contains(expected) && message.lines().count() == 1, "{words}: {message}");
    }
    assert!(!modules.run("a.gif").exists());
}
