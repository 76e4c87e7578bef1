//! Headless Chromium, for tests of pages. The screenshots are kept in the target directory, under `tmp/browser/`.

// Every test binary compiles this module and uses a part of it.
#![allow(dead_code)]

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{skip, succeed};

/// The longest time that a page may take.
pub(crate) const WAIT: Duration = Duration::from_mins(3);

/// An installed Chromium.
pub(crate) struct Browser {
    program: PathBuf,
    /// A separate profile, independent of the user's browser.
    profile: TempDir,
}

impl Browser {
    pub(crate) fn find() -> Option<Self> {
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
    pub(crate) fn document(&self, url: &str, size: (u32, u32)) -> String {
        String::from_utf8(self.show(url, size, &["--dump-dom".to_owned()])).expect("text")
    }

    /// Saves a screenshot of a page and asserts that it is not blank.
    pub(crate) fn screenshot(&self, url: &str, size: (u32, u32), name: &str) {
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

/// A page whose scripts never become idle, controlled by the protocol of Chromium's developer tools.
pub(crate) struct Page {
    process: Child,
    requests: fs::File,
    answers: BufReader<fs::File>,
    count: u64,
    session: String,
    /// Exceptions of scripts, and files that were refused.
    pub(crate) errors: Vec<String>,
    /// The directory of the pipes.
    _temp: TempDir,
}

impl Page {
    pub(crate) fn open(browser: &Browser, url: &str, (width, height): (u32, u32)) -> Self {
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
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
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
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let evaluated =
            self.call("Runtime.evaluate", &json!({ "expression": expression, "returnByValue": true }));
        evaluated["result"]["value"].clone()
    }

    /// Waits until the visible part of the document contains a text.
    pub(crate) fn wait_for(&mut self, part: &str) {
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
    pub(crate) fn wait_until(&mut self, expression: &str) {
        let deadline = Instant::now() + WAIT;
        while self.evaluate(expression) != true {
            assert!(Instant::now() < deadline, "{expression} is not true; errors: {:?}", self.errors);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn screenshot(&mut self, name: &str) {
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
