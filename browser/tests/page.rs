//! The page in headless Chromium: its traces equal those of the native program, it plays 60 frames a second, and the
//! visitor can take over and open files.
//!
//! Skipped without Chromium, or without Rust's target wasm32-unknown-unknown; `.ci/run` installs both.

#[path = "../../tests/chromium/mod.rs"]
mod chromium;
mod program;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use ale::{Action, Ale, AleSettings, PoweredGame, roms};
use browser::{Agent, Evaluation, Rom, Session};
use chromium::{Browser, Page};
use program::skip;
use serde_json::{Value, json};

const DESKTOP: (u32, u32) = (1200, 820);
const PHONE: (u32, u32) = (390, 844);
const SEED: u32 = 7;

/// Functions of the tests, for the page.
const FUNCTIONS: &str = r#"
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
// The RAM after each action of a game that the visitor plays alone. An ended game is followed by the next one.
const ramTrace = (seed, actions) => {
  page.player.isPaused = true;
  page.emulator.start(seed, true);
  return actions.map((action) => {
    if (page.emulator.isOver) page.emulator.restart();
    page.emulator.step(action);
    return hex(page.emulator.ram);
  });
};
// The observation and the agent's outputs after each action of a game with the agent.
const agentTrace = (seed, actions, outputs) => {
  page.player.isPaused = true;
  page.emulator.start(seed);
  return actions.map((action) => {
    if (page.emulator.isOver) page.emulator.restart();
    page.emulator.step(action);
    return { observation: hex(page.emulator.observation), outputs: [...page.emulator.outputs(outputs), page.emulator.value] };
  });
};
// The score of the agent, and the milliseconds for each frame.
const play = (seed) => {
  page.player.isPaused = true;
  page.emulator.start(seed);
  const begin = performance.now();
  let frames = 0;
  while (!page.emulator.isOver) {
    frames += page.emulator.step();
    page.emulator.screen(0, 210);
  }
  return { score: page.emulator.score, milliseconds: (performance.now() - begin) / frames };
};
"#;

/// Builds the page once. Returns its address, or `None` if Chromium or the target is missing.
fn address() -> Option<&'static str> {
    static DIRECTORY: OnceLock<Option<String>> = OnceLock::new();
    let built = DIRECTORY.get_or_init(|| {
        if !has_target() {
            skip("the target is not installed (rustup target add wasm32-unknown-unknown)");
            return None;
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
        let status = Command::new("python3").arg(root.join("build.py")).arg(&directory).status();
        assert!(status.expect("Python").success(), "the page cannot be built");
        Some(format!("file://{}", directory.join("index.html").display()))
    });
    built.as_deref()
}

fn has_target() -> bool {
    let mut rustc = Command::new("rustc");
    let output = rustc.args(["--print", "target-libdir", "--target", "wasm32-unknown-unknown"]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists())
}

/// Opens the page, and waits until it plays.
fn open(size: (u32, u32)) -> Option<(Browser, Page)> {
    let browser = Browser::find()?;
    let mut page = Page::open(&browser, address()?, size);
    page.wait_until("typeof page !== 'undefined' && page.player !== undefined && page.player.frames > 10");
    page.evaluate(FUNCTIONS);
    Some((browser, page))
}

/// Returns random positions of the joystick, each held for some frames.
fn actions(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut action = 0;
    let next = |index: usize| {
        if index.is_multiple_of(7) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            action = (state >> 24) as u8 % 18;
        }
        action
    };
    (0..count).map(next).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text");
        text
    })
}

#[test]
fn ram_equals_that_of_the_native_program_after_every_action() {
    let Some((_browser, mut page)) = open(DESKTOP) else { return };
    let actions = actions(2500);
    let theirs = page.evaluate(&format!("ramTrace({SEED}, {})", json!(actions)));
    let rom = roms::built_in("harvest").expect("the built-in game");
    let powered = PoweredGame::new(ale::game("harvest").expect("the game"), rom.into()).expect("a cartridge");
    let settings = AleSettings { repeat_action_probability: 0.0, ..AleSettings::default() };
    let mut ale = Ale::new(&powered, settings, SEED).expect("valid settings");
    ale.reset_game();
    let mut episodes = 1;
    let ours = actions.iter().map(|&action| {
        if ale.game_over() {
            ale.reset_game();
            episodes += 1;
        }
        ale.act(Action::new(action).expect("an action"), 1.0);
        Value::String(hex(ale.ram()))
    });
    let ours: Vec<Value> = ours.collect();
    let theirs = theirs.as_array().expect("a trace");
    assert_eq!(theirs.len(), ours.len());
    let first = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
    assert_eq!(first, None, "the first action with another RAM");
    assert!(episodes > 1, "a single episode");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn observations_and_outputs_equal_those_of_the_native_program() {
    let Some((_browser, mut page)) = open(DESKTOP) else { return };
    let actions = actions(600);
    let theirs = page.evaluate(&format!("agentTrace({SEED}, {}, 3)", json!(actions)));
    let agent = Agent::read(include_bytes!("../../checkpoints/zoo/harvest.safetensors")).expect("an agent");
    let rom = Rom::built_in().expect("the built-in game");
    let mut session = Session::new(&rom, Some(Arc::new(agent)), SEED.into()).expect("a session");
    for (step, (&action, theirs)) in actions.iter().zip(theirs.as_array().expect("a trace")).enumerate() {
        if session.is_over() {
            session.restart();
        }
        session.press(Action::new(action).expect("an action"));
        assert_eq!(theirs["observation"], hex(session.observation()), "step {step}");
        let Some(Evaluation::Policy { log_probabilities, value }) = session.evaluation() else {
            panic!("an agent with a policy")
        };
        let ours = log_probabilities.iter().map(|value| value.exp()).chain([*value]);
        for (ours, theirs) in ours.zip(theirs["outputs"].as_array().expect("outputs")) {
            let difference = f64::from(ours) - theirs.as_f64().expect("a number");
            assert!(difference.abs() < 1e-5, "step {step}: {ours} and {theirs}");
        }
    }
}

#[test]
fn the_page_plays_60_frames_per_second() {
    let Some((_browser, mut page)) = open(DESKTOP) else { return };
    page.wait_until("page.player.framesPerSecond >= 60");
    page.screenshot("page.png");
    // Another program may use the processor during a measurement.
    let measured = (0..5).map(|_| page.evaluate(&format!("play({SEED})")));
    let fast = measured.map(|played| {
        assert!(played["score"].as_f64().is_some_and(|score| score >= 34.0), "{played}");
        played["milliseconds"].as_f64().expect("a number")
    });
    let milliseconds = fast.fold(f64::INFINITY, f64::min);
    eprintln!("{:.0} frames per second without pauses", 1000.0 / milliseconds);
    assert!(milliseconds < 1000.0 / 60.0, "{milliseconds} ms for each frame");
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn the_module_imports_nothing_and_the_page_connects_to_nothing() {
    let Some((_browser, mut page)) = open(DESKTOP) else { return };
    let imports = "WebAssembly.Module.imports(new WebAssembly.Module(decoded('module'))).length";
    assert_eq!(page.evaluate(imports), 0);
    assert_eq!(page.evaluate("performance.getEntriesByType('resource').length"), 0);
    // The policy of the page refuses what a script might try.
    page.evaluate("fetch('https://example.com/').catch((error) => globalThis.refused = error.name)");
    page.wait_until("globalThis.refused === 'TypeError'");
    assert!(page.errors.iter().any(|error| error.contains("Content Security Policy")), "{:?}", page.errors);
}

#[test]
fn the_visitor_takes_over_and_hands_back() {
    let Some((_browser, mut page)) = open(DESKTOP) else { return };
    let key = |page: &mut Page, kind: &str, key: &str, code: &str| {
        page.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "code": code }));
    };
    let pressed = "document.getElementById('you-play').getAttribute('aria-pressed')";
    assert_eq!(page.evaluate(pressed), "false");
    key(&mut page, "keyDown", "ArrowRight", "ArrowRight");
    key(&mut page, "keyDown", " ", "Space");
    page.wait_until(&format!("{pressed} === 'true'"));
    assert_eq!(page.evaluate("page.joystick.action"), 11, "RIGHTFIRE");
    key(&mut page, "keyDown", "ArrowLeft", "ArrowLeft");
    key(&mut page, "keyUp", " ", "Space");
    assert_eq!(page.evaluate("page.joystick.action"), 4, "LEFT: opposite directions are not held together");
    key(&mut page, "keyUp", "ArrowLeft", "ArrowLeft");
    key(&mut page, "keyDown", "t", "KeyT");
    page.wait_until(&format!("{pressed} === 'false'"));
    key(&mut page, "keyDown", "p", "KeyP");
    page.wait_until("document.getElementById('message').textContent === 'Paused'");
    let frames = page.evaluate("page.player.frames");
    page.evaluate("document.getElementById('restart').click()");
    assert_eq!(page.evaluate("page.player.frames"), frames);
    key(&mut page, "keyDown", "p", "KeyP");
    page.wait_until(&format!("page.player.frames > {frames} + 10"));
    assert_eq!(page.errors, Vec::<String>::new());
}

#[test]
fn the_joystick_works_on_a_touch_screen() {
    let Some((_browser, mut page)) = open(PHONE) else { return };
    page.call("Emulation.setTouchEmulationEnabled", &json!({ "enabled": true, "maxTouchPoints": 2 }));
    let metrics = json!({ "width": PHONE.0, "height": PHONE.1, "deviceScaleFactor": 2, "mobile": true });
    page.call("Emulation.setDeviceMetricsOverride", &metrics);
    page.wait_until("getComputedStyle(document.getElementById('touch')).display === 'flex'");
    page.evaluate("document.getElementById('touch').scrollIntoView({ block: 'center' })");
    assert_eq!(page.evaluate("document.documentElement.scrollWidth"), PHONE.0, "wider than the window");
    let place = "(({ x, y, width, height }) => [x + 0.9 * width, y + 0.5 * height])(document.getElementById('pad').getBoundingClientRect())";
    let place = page.evaluate(place);
    let touch = json!({ "type": "touchStart", "touchPoints": [{ "x": place[0], "y": place[1] }] });
    page.call("Input.dispatchTouchEvent", &touch);
    page.wait_until("page.joystick.action === 3 && page.player.isManual");
    page.screenshot("page-phone-touch.png");
    page.call("Input.dispatchTouchEvent", &json!({ "type": "touchEnd", "touchPoints": [] }));
    page.wait_until("page.joystick.action === 0");
    page.evaluate("scrollTo(0, 0)");
    page.screenshot("page-phone.png");
}

#[test]
fn files_of_the_visitor_are_opened_and_faults_are_explained() {
    let Some((_browser, mut page)) = open(DESKTOP) else { return };
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    page.call("Emulation.setEmulatedMedia", &dark);
    let notice = "document.getElementById('notice').textContent";
    page.evaluate("openFiles([new File(['nonsense'], 'agent.safetensors')])");
    page.wait_until(&format!("{notice}.startsWith('agent.safetensors cannot be used: it is not an agent')"));
    page.evaluate("openFiles([new File([new Uint8Array(100)], 'odd.bin')])");
    page.wait_until(&format!("{notice}.startsWith('odd.bin cannot be used: the ROM of odd.bin')"));
    assert_eq!(page.evaluate("document.getElementById('title').textContent"), "Harvest");

    // A changed image that its name calls Pong: the agent of Harvest does not play it, that of Pong does.
    let image = json!(roms::built_in("harvest").expect("the built-in game"));
    page.evaluate(&format!(
        "globalThis.image = new Uint8Array({image}); image[0] ^= 1; openFiles([new File([image], 'pong.bin')])"
    ));
    page.wait_until("document.getElementById('title').textContent === 'Pong'");
    page.wait_until(&format!(
        "{notice}.includes('unknown ROM of pong') && {notice}.includes('zoo:harvest plays harvest, not Pong')"
    ));
    assert_eq!(page.evaluate("document.getElementById('agent-plays').disabled"), true);
    page.screenshot("page-other-rom.png");
    let agent = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../checkpoints/zoo/pong.safetensors"));
    page.evaluate(&format!(
        "globalThis.agent = new Uint8Array({}); openFiles([new File([agent], 'mine.safetensors')])",
        json!(agent.expect("an agent"))
    ));
    page.wait_until("document.getElementById('agent').textContent === 'mine.safetensors'");
    page.wait_until("document.querySelectorAll('#outputs dt').length === 7 && !page.player.isManual");
    page.screenshot("page-dark.png");
    page.evaluate("document.getElementById('reset').click()");
    page.wait_until("document.getElementById('agent').textContent === 'zoo:harvest' && page.player.hasAgent");
    assert_eq!(page.errors, Vec::<String>::new());
}
