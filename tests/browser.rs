//! What people look at, in a real browser: the page of `report`, and a run in TensorBoard. Chromium shows them without a
//! screen, and this reads what it made of them. The screenshots stay in the build folder, under `browser/`, to be looked at.
//!
//! A machine without Chromium, or without TensorBoard in `$ALE_TRAIN_TEST_PYTHON` (or else python3), says so; `.ci/run` has both.

mod program;
mod python;

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use program::{ale_train, succeed};
use python::python_with;

const WAIT: Duration = Duration::from_mins(3);

/// A run whose episodes end, of a game and of a task that is none.
fn train(name: &str, task: &str, seed: &str, folder: &Path) {
    let arguments = ["ppo", "--games", task, "--seed", seed, "--total-frames", "16384", "--num-threads", "1"];
    let quick = ["--set", "evaluation.episodes=2", "--quiet", "--run-dir", name];
    succeed(ale_train().args(arguments).args(quick).current_dir(folder));
}

struct Browser {
    program: PathBuf,
    /// Whatever the user's own browser has open stays out of it.
    profile: TempDir,
}

impl Browser {
    fn find() -> Option<Self> {
        let works =
            |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works);
        if program.is_none() {
            eprintln!(
                "not looked at in a browser: Chromium is not installed (Debian: apt-get install chromium)"
            );
        }
        Some(Self { program: program?.into(), profile: TempDir::new().expect("a folder") })
    }

    /// Shows a page until its scripts have come to rest.
    fn show(&self, url: &str, size: (u32, u32), further: &[String]) -> Vec<u8> {
        let (width, height) = size;
        let mut command = Command::new(&self.program);
        // The sandbox of a process that runs as root, as in a container, is refused; the pages are our own.
        command
            .args(["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"])
            // Without WebGL TensorBoard draws its curves as SVG: they are in the document then.
            .args(["--disable-gpu", "--disable-3d-apis"])
            .arg(format!("--user-data-dir={}", self.profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .arg("--virtual-time-budget=20000")
            .args(further)
            .arg(url);
        succeed(&mut command).stdout
    }

    /// The document as it stands when the scripts have run.
    fn document(&self, url: &str, size: (u32, u32)) -> String {
        String::from_utf8(self.show(url, size, &["--dump-dom".to_owned()])).expect("text")
    }

    /// Keeps a picture of the page, and asserts that something is on it.
    fn screenshot(&self, url: &str, size: (u32, u32), name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join(name);
        self.show(url, size, &[format!("--screenshot={}", file.display())]);
        let decoder =
            png::Decoder::new(std::io::BufReader::new(fs::File::open(&file).expect("a screenshot")));
        let mut picture = decoder.read_info().expect("a picture");
        assert_eq!((picture.info().width, picture.info().height), size);
        let mut pixels = vec![0; picture.output_buffer_size().expect("a size")];
        picture.next_frame(&mut pixels).expect("pixels");
        let colours: HashSet<&[u8]> = pixels.chunks_exact(picture.info().bytes_per_pixel()).collect();
        assert!(colours.len() > 30, "{name} has {} colours", colours.len());
        eprintln!("screenshot: {}", file.display());
    }
}

#[test]
fn a_browser_shows_the_curves_and_tables_of_a_report() {
    let Some(browser) = Browser::find() else { return };
    let temp = TempDir::new().expect("a folder");
    let folder = temp.path();
    train("one", "harvest", "1", folder);
    train("two", "harvest", "2", folder);
    succeed(ale_train().args(["report", "one", "two", "--out", "report.html"]).current_dir(folder));
    let url = format!("file://{}", folder.join("report.html").display());
    let size = (1240, 900);
    let document = browser.document(&url, size);
    assert_eq!(document.matches("<svg").count(), 1, "{document}");
    for part in ["Learning curves", "thousand frames", "<polyline", "<polygon", "harvest</td>", "1, 2</td>"] {
        assert!(document.contains(part), "no '{part}' in {document}");
    }
    assert_eq!(document.matches("<table>").count(), 2, "runs and games: {document}");
    browser.screenshot(&url, size, "report.png");
}

/// A TensorBoard that ends with the test.
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
                let mut said = String::new();
                process.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
                panic!("TensorBoard ended with {status}: {said}");
            }
            assert!(beginning.elapsed() < WAIT, "TensorBoard does not answer");
            std::thread::sleep(Duration::from_millis(200));
        }
        Some(Self { process, url: format!("http://127.0.0.1:{port}/#timeseries") })
    }
}

impl Drop for TensorBoard {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Lines of many points; TensorBoard's icons are paths too, but short ones.
fn curves(document: &str) -> usize {
    let paths = document.split("<path d=\"M").skip(1).filter_map(|path| path.split('"').next());
    paths.filter(|path| path.matches('L').count() >= 15).count()
}

#[test]
fn tensorboard_shows_the_curves_of_a_run() {
    let Some(browser) = Browser::find() else { return };
    let temp = TempDir::new().expect("a folder");
    let folder = temp.path();
    let Some(tensorboard) = TensorBoard::start(folder) else { return };
    train("run", "CartPole-v1", "1", folder);
    let size = (1400, 1200);
    // TensorBoard looks for new events every few seconds.
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
