//! Renders a page of `ale-train report`, and a run in TensorBoard, in headless Chromium and checks the resulting
//! documents. The screenshots are kept in the target directory, under `tmp/browser/`.
//!
//! Skipped without Chromium, or without TensorBoard in `$ALE_TRAIN_TEST_PYTHON` or else python3; `.ci/run` installs
//! both, and CI skips nothing.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{run, skip, succeed};
use crate::python::python_with;
use crate::watch::Watch;

const WAIT: Duration = Duration::from_mins(3);

/// Trains a run that is long enough for episodes to finish.
fn train(words: &str, directory: &Path) {
    let fixed = "ppo --total-frames 16384 --num-threads 1 --set evaluation.episodes=2 --quiet";
    run(fixed).words(words).within(directory).succeed();
}

struct Browser {
    program: PathBuf,
    /// A separate profile, independent of the user's browser.
    profile: TempDir,
}

impl Browser {
    fn find() -> Option<Self> {
        let works =
            |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works);
        if program.is_none() {
            skip("Chromium is not installed (Debian: apt-get install chromium)");
        }
        Some(Self { program: program?.into(), profile: TempDir::new().expect("a temporary directory") })
    }

    /// Loads a page and runs its scripts until they are idle.
    fn show(&self, url: &str, size: (u32, u32), further: &[String]) -> Vec<u8> {
        let (width, height) = size;
        let mut command = Command::new(&self.program);
        // Chromium refuses its sandbox as root, as in a container; the pages are trusted.
        command
            .args(["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"])
            // Without WebGL, TensorBoard draws its curves as SVG, so that they are in the document.
            .args(["--disable-gpu", "--disable-3d-apis"])
            .arg(format!("--user-data-dir={}", self.profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .arg("--virtual-time-budget=20000")
            .args(further)
            .arg(url);
        succeed(&mut command).stdout
    }

    /// Returns the document after its scripts have run.
    fn document(&self, url: &str, size: (u32, u32)) -> String {
        String::from_utf8(self.show(url, size, &["--dump-dom".to_owned()])).expect("text")
    }

    /// Saves a screenshot of a page and asserts that it is not blank.
    fn screenshot(&self, url: &str, size: (u32, u32), name: &str) {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
        fs::create_dir_all(&directory).expect("a directory");
        let file = directory.join(name);
        self.show(url, size, &[format!("--screenshot={}", file.display())]);
        let decoder =
            png::Decoder::new(std::io::BufReader::new(fs::File::open(&file).expect("a screenshot")));
        let mut image = decoder.read_info().expect("a PNG");
        assert_eq!((image.info().width, image.info().height), size);
        let mut pixels = vec![0; image.output_buffer_size().expect("a size")];
        image.next_frame(&mut pixels).expect("pixels");
        let colours: HashSet<&[u8]> = pixels.chunks_exact(image.info().bytes_per_pixel()).collect();
        assert!(colours.len() > 30, "{name} has {} colours", colours.len());
        eprintln!("screenshot: {}", file.display());
    }
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

/// A page whose scripts never become idle, controlled by the protocol of Chromium's developer tools.
struct Page {
    process: Child,
    requests: fs::File,
    answers: BufReader<fs::File>,
    count: u64,
    session: String,
    /// Exceptions of scripts, and files that were refused.
    errors: Vec<String>,
    /// The directory of the pipes.
    _temp: TempDir,
}

impl Page {
    fn open(browser: &Browser, url: &str, (width, height): (u32, u32)) -> Self {
        let temp = TempDir::new().expect("a directory");
        let [requests, answers] = ["requests", "answers"].map(|name| temp.path().join(name));
        succeed(Command::new("mkfifo").args([&requests, &answers]));
        // Chromium reads requests from the file descriptor 3 and writes answers to 4.
        let process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<"$REQUESTS" 4>"$ANSWERS""#])
            .arg(&browser.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--disable-gpu",
            ])
            .arg(format!("--user-data-dir={}", browser.profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .arg("--remote-debugging-pipe")
            .envs([("REQUESTS", &requests), ("ANSWERS", &answers)])
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium");
        let requests = fs::File::options().write(true).open(requests).expect("a pipe");
        let answers = BufReader::new(fs::File::open(answers).expect("a pipe"));
        let session = String::new();
        let mut page =
            Self { process, requests, answers, count: 0, session, errors: Vec::new(), _temp: temp };
        let target = page.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached =
            page.call("Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        attached["sessionId"].as_str().expect("a session").clone_into(&mut page.session);
        for method in ["Runtime.enable", "Log.enable", "Page.enable"] {
            page.call(method, &json!({}));
        }
        // A window is never narrower than 500 pixels.
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        page.call("Emulation.setDeviceMetricsOverride", &metrics);
        page.call("Page.navigate", &json!({ "url": url }));
        page
    }

    /// Calls a method and returns its result.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut request = json!({ "id": self.count, "method": method, "params": params });
        if !self.session.is_empty() {
            request["sessionId"] = self.session.clone().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).expect("a request");
        loop {
            let mut answer = Vec::new();
            self.answers.read_until(0, &mut answer).expect("an answer");
            let answer: Value =
                serde_json::from_slice(answer.strip_suffix(b"\0").expect("an answer")).expect("JSON");
            if answer["id"] == self.count {
                return answer["result"].clone();
            }
            if ["Runtime.exceptionThrown", "Log.entryAdded"].iter().any(|event| answer["method"] == *event) {
                self.errors.push(answer.to_string());
            }
        }
    }

    /// Returns the value of an expression.
    fn evaluate(&mut self, expression: &str) -> Value {
        let evaluated =
            self.call("Runtime.evaluate", &json!({ "expression": expression, "returnByValue": true }));
        evaluated["result"]["value"].clone()
    }

    /// Waits until the visible part of the document contains a text.
    fn wait_for(&mut self, part: &str) {
        let deadline = Instant::now() + WAIT;
        loop {
            // The text that is visible, and the elements.
            let document = self.evaluate(
                "document.body.innerText + [...document.querySelectorAll('main *')].map((it) => it.cloneNode().outerHTML)",
            );
            if document.as_str().is_some_and(|document| document.contains(part)) {
                return;
            }
            assert!(Instant::now() < deadline, "no '{part}' in {document}; errors: {:?}", self.errors);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until an expression is true.
    fn wait_until(&mut self, expression: &str) {
        let deadline = Instant::now() + WAIT;
        while self.evaluate(expression) != true {
            assert!(Instant::now() < deadline, "{expression} is not true; errors: {:?}", self.errors);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn screenshot(&mut self, name: &str) {
        let picture = self.call("Page.captureScreenshot", &json!({}));
        let picture = STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base64");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join(name), picture).expect("a file");
        eprintln!("screenshot: {}", directory.join(name).display());
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
