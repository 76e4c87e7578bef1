//! Renders a page of `ale-train report`, and a run in TensorBoard, in headless Chromium and checks the resulting
//! documents. The screenshots are kept in the target directory, under `tmp/browser/`.
//!
//! Skipped without Chromium, or without TensorBoard in `$ALE_TRAIN_TEST_PYTHON` or else python3; `.ci/run` installs
//! both, and CI skips nothing.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::program::{run, skip, succeed};
use crate::python::python_with;

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
    run("report one two --out report.html").within(directory).succeed();
    let url = format!("file://{}", directory.join("report.html").display());
    let size = (1240, 900);
    let document = browser.document(&url, size);
    for part in
        ["Learning curves", "explained variance", "<polyline", "<polygon", "harvest</td>", ">two</td>"]
    {
        assert!(document.contains(part), "no '{part}' in {document}");
    }
    browser.screenshot(&url, size, "report.png");
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
