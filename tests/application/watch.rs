//! The page of `ale-train watch`, as programs and browsers on this computer see it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{self, ALE_TRAIN, curves, outcome, run, signal};

const WAIT: Duration = Duration::from_mins(1);
/// A run with checkpoints and a game that can be shown.
const HARVEST: &str = "ppo --games harvest --total-frames 16384 --num-threads 1 --seed 1 --quiet \
    --set evaluation.episodes=0 --run-dir";

/// A server that is killed at the end of the test.
pub(crate) struct Watch {
    process: Child,
    /// The host and the port.
    pub(crate) address: String,
}

impl Watch {
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(ALE_TRAIN);
        command.arg("watch").arg(directory).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the program starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("an address");
        let address = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no address: {line}"));
        Self { address: address.to_owned(), process }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(WAIT)).expect("a timeout");
        stream
    }

    /// Sends a request and returns the stream of its answer.
    fn send(&self, target: &str, host: &str, headers: &str) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")
            .expect("a request");
        BufReader::new(stream)
    }

    /// Returns the status and the rest of an answer.
    fn get(&self, target: &str, host: &str, headers: &str) -> (u16, String) {
        let mut answer = String::new();
        self.send(target, host, headers).read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }

    fn status(&self, target: &str) -> u16 {
        self.get(target, &self.address, "").0
    }

    fn events(&self, query: &str) -> Events {
        Events(self.send(&format!("/events?{query}"), &self.address, ""))
    }

    #[cfg(target_os = "linux")]
    fn resources(&self) -> [usize; 2] {
        let count =
            |of: &str| fs::read_dir(format!("/proc/{}/{of}", self.process.id())).expect("a process").count();
        [count("fd"), count("task")]
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A stream of events.
struct Events(BufReader<TcpStream>);

impl Events {
    /// Returns the data of the next event with this name that fulfils a condition.
    fn next(&mut self, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WAIT;
        let (mut current, mut seen) = (String::new(), String::new());
        while Instant::now() < deadline {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("an event");
            if let Some(event) = line.strip_prefix("event: ") {
                event.trim().clone_into(&mut current);
            } else if let Some(data) = line.strip_prefix("data: ").filter(|_| current == name) {
                let data: Value = serde_json::from_str(data).expect("JSON");
                if is_wanted(&data) {
                    return data;
                }
                seen = data.to_string();
            }
        }
        panic!("no event {name}; the last one was {seen}");
    }
}

/// Returns a directory with a finished run of the built-in game.
fn with_run(name: &str) -> TempDir {
    let temp = TempDir::new().expect("a directory");
    run(HARVEST).arg(temp.path().join(name)).succeed();
    temp
}

#[test]
fn a_page_shows_runs_curves_and_the_agent() {
    let temp = with_run("sweep/seed1");
    let watch = Watch::start(temp.path(), &["--port", "1025"]);
    let (status, page) = watch.get("/", &watch.address, "");
    assert_eq!(status, 200);
    assert!(page.contains("<title>ale-train watch</title>") && page.contains("default-src 'none'"), "{page}");
    for file in ["main.js", "address.js", "runs.js", "curves.js", "stage.js", "chart.js", "uplot.js"] {
        assert_eq!(watch.status(&format!("/{file}")), 200, "{file}");
    }
    for file in ["/style.css", "/uplot.css"] {
        assert_eq!(watch.status(file), 200, "{file}");
    }
    let mut events = watch.events("run=sweep/seed1&play=harvest");
    let runs = events.next("runs", |_| true);
    assert_eq!((&runs[0]["id"], &runs[0]["state"]), (&"sweep/seed1".into(), &"finished".into()));
    let drawn = events.next("curves", |_| true);
    assert_eq!((&drawn["restart"], &drawn["end"]["frames"]), (&true.into(), &16384.into()));
    let recorded = curves(&temp.path().join("sweep/seed1"));
    let losses: Vec<&Value> = recorded.iter().filter_map(|record| record.get("losses/policy_loss")).collect();
    let shown = drawn["series"]["losses/policy_loss"][1].as_array().expect("values");
    assert_eq!(shown.iter().collect::<Vec<_>>(), losses);
    let mut screens = std::collections::HashSet::new();
    while screens.len() < 3 {
        let scene = events.next("scene", |scene| scene["cells"].is_array());
        let cell = &scene["cells"][0];
        let total: f64 = cell["outputs"].as_array().expect("outputs").iter().filter_map(Value::as_f64).sum();
        assert!((total - 1.0).abs() < 1e-3, "probabilities: {cell}");
        assert_eq!(cell["options"].as_array().map(Vec::len), cell["outputs"].as_array().map(Vec::len));
        screens.insert(cell["image"].to_string());
    }
    let (status, report) = watch.get("/report?runs=sweep%2Fseed1", &watch.address, "");
    assert!(status == 200 && report.contains("Learning curves"), "{report}");
    let (headers, page) = report.split_once("\r\n\r\n").expect("a page");
    let policies: Vec<&str> =
        headers.lines().filter_map(|line| line.strip_prefix("content-security-policy: ")).collect();
    assert!(matches!(policies[..], [policy] if page.contains(policy)), "{headers}");
}

#[test]
fn curves_of_marked_runs_come_in_the_same_stream() {
    let temp = with_run("one");
    run(HARVEST).arg(temp.path().join("two")).succeed();
    fs::create_dir(temp.path().join("directory")).expect("a directory");
    let watch = Watch::start(temp.path(), &[]);
    // A run that is shown and marked comes once; what is no run is ignored.
    let mut events = watch.events("run=one&marked=two%0Aone%0Anowhere%0Adirectory%0A..%2Fone");
    let drawn = [(); 2].map(|()| events.next("curves", |_| true));
    assert_eq!([&drawn[0]["run"], &drawn[1]["run"]], ["one", "two"]);
    assert!(drawn.iter().all(|drawn| drawn["restart"] == true && drawn["end"]["frames"] == 16384));
    let metrics = temp.path().join("two/metrics.jsonl");
    let text = fs::read_to_string(&metrics).expect("curves");
    fs::write(&metrics, format!("{text}{{\"frames\":20000,\"charts/SPS\":1}}\n")).expect("a file");
    let new = events.next("curves", |_| true);
    assert_eq!(
        (&new["run"], &new["restart"], &new["end"]["frames"]),
        (&"two".into(), &false.into(), &20000.into())
    );
    // Without a run that is shown.
    assert_eq!(watch.events("marked=two").next("curves", |_| true)["run"], "two");
}

#[test]
fn nothing_but_the_page_and_the_runs_is_served() {
    let temp = with_run("runs/one");
    run(HARVEST).arg(temp.path().join("outside")).succeed();
    let watch = Watch::start(&temp.path().join("runs"), &[]);
    for id in ["..%2Foutside", "one%2F..%2F..%2Foutside", "%2Fetc", "nowhere", ""] {
        assert_eq!(watch.status(&format!("/events?run={id}")), 404, "{id}");
        assert_eq!(watch.status(&format!("/report?runs={id}%0A{id}")), 404, "{id}");
    }
    for target in ["/../etc/passwd", "/one/config.toml", "/page/main.js"] {
        assert_eq!(watch.status(target), 404, "{target}");
    }
    // DNS rebinding: the name of another host leads to this computer.
    for host in
        ["attacker.example", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.1.attacker.example:8757"]
    {
        assert_eq!(watch.get("/", host, "").0, 421, "{host}");
    }
    let port = watch.address.rsplit(':').next().expect("a port");
    assert_eq!(watch.get("/", &format!("localhost:{port}"), "").0, 200);
    // A page from elsewhere.
    assert_eq!(
        watch.get("/events?run=one&play=harvest", &watch.address, "Sec-Fetch-Site: cross-site\r\n").0,
        421
    );
    let post = watch.connect();
    write!(&post, "POST / HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n\r\n", watch.address)
        .expect("a request");
    let mut status = String::new();
    BufReader::new(post).read_line(&mut status).expect("an answer");
    assert!(status.contains("405"), "{status}");
}

#[test]
fn a_busy_port_is_passed_over() {
    let temp = TempDir::new().expect("a directory");
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = busy.local_addr().expect("an address").port();
    let mut watch = Watch::start(temp.path(), &["--port", &port.to_string()]);
    let chosen: u16 = watch.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    assert!((port + 1..=port + 20).contains(&chosen), "{chosen} after {port}");
    signal(watch.process.id(), "-INT");
    let mut messages = String::new();
    watch.process.stderr.take().expect("a pipe").read_to_string(&mut messages).expect("messages");
    assert!(
        messages.contains(&format!("port {port} is busy, so the page is on port {chosen}")),
        "{messages}"
    );
    assert_eq!(watch.process.wait().expect("an end").code(), Some(130));
    let error = run("watch nowhere").fail(2);
    assert!(error.contains("nowhere does not exist"), "{error}");
}

#[test]
fn a_run_is_shown_from_its_start_to_its_removal_and_learns_the_same() {
    let temp = TempDir::new().expect("a directory");
    let (alone, watched) = (temp.path().join("alone"), temp.path().join("watched"));
    let settings = "--set checkpoints.interval_frames=4096";
    run(HARVEST).arg(&alone).words(settings).succeed();
    let watch = Watch::start(temp.path(), &[]);
    let mut training = run(HARVEST).arg(&watched).words(settings).start();
    program::wait_for(&mut training, "configuration", || {
        watched.join("run.json").exists() && watched.join("config.toml").exists()
    });
    let mut events = watch.events("run=watched&play=harvest");
    events.next("scene", |scene| scene["cells"].is_array());
    assert!(training.wait().expect("an end").success());
    events.next("runs", |runs| runs[0]["state"] == "finished");
    assert_eq!(outcome(&watched), outcome(&alone));
    let metrics = watched.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).expect("curves");
    fs::write(&metrics, format!("{text}damaged\n{{\"frames\":20000,\"charts/SPS\":1}}\n")).expect("a file");
    events.next("curves", |new| new["restart"] == false && new["end"]["frames"] == 20000);
    fs::write(&metrics, "{\"frames\":1,\"charts/SPS\":2}\n").expect("a file");
    events.next("curves", |new| new["restart"] == true && new["end"]["frames"] == 1);
    fs::remove_dir_all(&watched).expect("a run");
    events.next("runs", |runs| runs.as_array().is_some_and(|runs| runs.len() == 1));
    assert_eq!(watch.status("/events?run=watched"), 404);
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_readers_leave_nothing_behind() {
    let temp = with_run("one");
    let watch = Watch::start(temp.path(), &[]);
    watch.events("run=one&play=harvest").next("scene", |scene| scene["cells"].is_array());
    let settled = |limits: [usize; 2]| {
        let deadline = Instant::now() + WAIT;
        while watch.resources().iter().zip(limits).any(|(now, limit)| *now > limit) {
            assert!(Instant::now() < deadline, "{:?} files and threads, not {limits:?}", watch.resources());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // The threads that read files stay for a while.
    let [files, _] = watch.resources();
    for _ in 0..50 {
        let readers: Vec<Events> = (0..20).map(|_| watch.events("run=one&play=harvest")).collect();
        drop(readers);
    }
    settled([files + 4, 16]);
    assert_eq!(watch.status("/"), 200);
}
