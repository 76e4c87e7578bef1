//! Renders a page of `ale-train report`, and a run in TensorBoard, in headless Chromium and checks the resulting
//! documents. The screenshots are kept in the target directory, under `tmp/browser/`.
//!
//! Skipped without Chromium, or without TensorBoard in `$ALE_TRAIN_TEST_PYTHON` or else python3; `.ci/run` installs
//! both, and CI skips nothing.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::chromium::{Browser, Page, WAIT};
use crate::program::run;
use crate::python::python_with;
use crate::watch::Watch;

/// Trains a run that is long enough for episodes to finish.
fn train(words: &str, directory: &Path) {
    let fixed = "ppo --total-frames 16384 --num-threads 1 --set evaluation.episodes=2 --quiet";
    run(fixed).words(words).within(directory).succeed();
}

#[test]
fn a_report_shows_curves_and_tables() {
    let Some(browser) = Browser::find() else { return };
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    train("--games harvest --seed 1 --run-dir one", directory);
    train("--games harvest --seed 2 --run-dir two", directory);
    train("--games harvest --seed 1 --set ppo.gamma=0.9 --run-dir three", directory);
    let long = format!("a_{}_<script>name=three", "long".repeat(30));
    run("report one two").arg(&long).words("--out report.html").within(directory).succeed();
    let url = format!("file://{}", directory.join("report.html").display());
    for width in [380, 1240, 2000] {
        let mut page = Page::open(&browser, &url, (width, 900));
        for part in ["Learning curves", "explained variance", "<canvas", "harvest", "two", "_<script>name"] {
            page.wait_for(part);
        }
        assert_eq!(page.evaluate("document.documentElement.scrollWidth"), width, "wider than the window");
        let values = "[...document.querySelectorAll('.chart .u-series:not(.edge) .u-value')].map((it) => it.innerText)";
        page.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": 200, "y": 200 }));
        page.evaluate("document.querySelector('.chart').scrollIntoView({ block: 'center' })");
        let chart = page.evaluate("(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.querySelector('.chart .u-over').getBoundingClientRect())");
        page.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": chart[0], "y": chart[1] }));
        page.wait_until(&format!("{values}.filter((value) => /[0-9]/.test(value)).length >= 3"));
        page.screenshot(&format!("report-{width}.png"));
        // The legend hides a setting in all charts.
        let curves = "document.querySelector('.chart').querySelectorAll('.u-series:not(.edge)').length";
        assert_eq!(page.evaluate(curves), 3, "frames and two settings");
        page.evaluate("document.querySelector('.legend input').click()");
        page.wait_until(&format!("{curves} === 2"));
        assert_eq!(page.errors, Vec::<String>::new());
    }
}

#[test]
fn a_watched_run_shows_curves_and_the_agent() {
    let Some(browser) = Browser::find() else { return };
    let temp = TempDir::new().expect("a temporary directory");
    train("--games harvest --seed 1 --run-dir one", temp.path());
    train("--games harvest --seed 2 --run-dir two", temp.path());
    let watch = Watch::start(temp.path(), &[]);
    let url = format!("http://{}/#run=one", watch.address);
    let size = (1400, 1000);
    let mut page = Page::open(&browser, &url, size);
    for part in ["the screen of Harvest", "policy loss", "steps per second", "<canvas", "finished", "100 %"] {
        page.wait_for(part);
    }
    let screens = r"document.querySelector('.cell img').src";
    let first = page.evaluate(screens);
    while page.evaluate(screens) == first {}
    page.screenshot("watch.png");
    // A marked run is drawn in the same charts, and its curves can be compared in a report.
    page.evaluate("[...document.querySelectorAll('#runs li')].find((it) => it.innerText.includes('two')).querySelector('input').click()");
    page.wait_until("document.querySelectorAll('.chart:first-child .u-series').length === 3");
    page.wait_until(
        "document.querySelectorAll('#legend li').length === 2 && !document.querySelector('#report').hidden",
    );
    page.wait_for("the screen of Harvest");
    page.screenshot("watch-marked.png");
    for run in ["one", "two"] {
        fs::remove_dir_all(temp.path().join(run)).expect("a run");
    }
    page.wait_for("There are no runs yet");
    assert_eq!(page.errors, Vec::<String>::new());
}

/// A TensorBoard process that is killed at the end of the test.
struct TensorBoard {
    process: Child,
    url: String,
}

impl TensorBoard {
    fn start(logdir: &Path) -> Option<Self> {
        let python = python_with("tensorboard")?;
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let mut process = Command::new(&python)
            .args(["-m", "tensorboard.main", "--host", "127.0.0.1", "--port", &port.to_string(), "--logdir"])
            .arg(logdir)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("TensorBoard");
        let beginning = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = process.try_wait().expect("a process") {
                let mut message = String::new();
                process.stderr.take().expect("a pipe").read_to_string(&mut message).expect("text");
                panic!("TensorBoard ended with {status}: {message}");
            }
            assert!(beginning.elapsed() < WAIT, "TensorBoard does not answer");
            std::thread::sleep(Duration::from_millis(200));
        }
        Some(Self { process, url: format!("http://127.0.0.1:{port}/#timeseries") })
    }
}

impl Drop for TensorBoard {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Counts the paths with many points. The icons of TensorBoard are paths too, but short ones.
fn curves(document: &str) -> usize {
    let paths = document.split("<path d=\"M").skip(1).filter_map(|path| path.split('"').next());
    paths.filter(|path| path.matches('L').count() >= 15).count()
}

#[test]
fn tensorboard_shows_the_curves_of_a_run() {
    let Some(browser) = Browser::find() else { return };
    let temp = TempDir::new().expect("a temporary directory");
    let directory = temp.path();
    let Some(tensorboard) = TensorBoard::start(directory) else { return };
    train("--games CartPole-v1 --run-dir run", directory);
    let size = (1400, 1200);
    // TensorBoard polls for new events every few seconds.
    let beginning = Instant::now();
    loop {
        let document = browser.document(&tensorboard.url, size);
        let tags = ["charts/SPS", "charts/episodic_return", "charts/episodic_length"];
        let missing = tags.iter().find(|tag| !document.contains(**tag));
        let curves = curves(&document);
        if missing.is_none() && curves >= tags.len() {
            break;
        }
        assert!(beginning.elapsed() < WAIT, "TensorBoard shows {curves} curves and not {missing:?}");
    }
    browser.screenshot(&tensorboard.url, size, "tensorboard.png");
}
