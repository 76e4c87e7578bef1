use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::future::{self, Either};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time;

use super::assets::assets;
use super::directory::Directory;
use super::scene::Scene;
use super::series::{News, Series};
use super::stage::Stage;
use crate::cli::Global;
use crate::failure::sentence;
use crate::interrupt::Interrupt;
use crate::report;
use crate::runs::GrowingCurves;

/// The time between two looks at the files of a run.
const LOOK: Duration = Duration::from_secs(1);
/// The number of looks at a run between two looks at the list of runs.
const LOOKS_PER_LIST: u32 = 3;
/// The time between two looks for a signal.
const SIGNAL: Duration = Duration::from_millis(100);
/// The most stages at once: each keeps a core busy.
const STAGES: usize = 4;
/// The most threads that read files.
const READERS: usize = 8;

/// The headers of every answer: the page takes nothing from elsewhere, and is no part of another page.
const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// The policy of the page. A report has its own.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The state that all requests share.
struct Site {
    directory: Directory,
    global: Global,
    address: SocketAddr,
    stages: Arc<Semaphore>,
}

/// Answers requests until a signal arrives.
pub(super) fn serve(
    listener: TcpListener,
    directory: Directory,
    global: Global,
    interrupt: &Interrupt,
) -> Result<()> {
    let address = listener.local_addr()?;
    let site = Site { directory, global, address, stages: Arc::new(Semaphore::new(STAGES)) };
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(READERS)
        .build()?;
    let served = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = axum::serve(listener, router(Arc::new(site))).into_future();
        match future::select(pin!(serving), pin!(signalled(interrupt))).await {
            Either::Left((served, _)) => served,
            Either::Right(((), _)) => Ok(()),
        }
    });
    // Streams of events have no end.
    runtime.shutdown_background();
    Ok(served?)
}

async fn signalled(interrupt: &Interrupt) {
    while !interrupt.is_requested() {
        time::sleep(SIGNAL).await;
    }
}

fn router(site: Arc<Site>) -> Router {
    let mut router = Router::new().route("/events", get(events)).route("/report", get(report_page));
    for asset in assets() {
        let answer = ([(header::CONTENT_TYPE, asset.content_type)], asset.content);
        router = router.route(asset.path, get(move || async move { answer }));
    }
    router.layer(middleware::from_fn_with_state(Arc::clone(&site), guard)).with_state(site)
}

/// Refuses requests to the names of other hosts, with which a page from elsewhere could read the answers, and requests
/// that a page from elsewhere makes.
async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    if !is_own(&request, site.address) {
        let text = format!("this page has the address http://{}", site.address);
        return (StatusCode::MISDIRECTED_REQUEST, text).into_response();
    }
    let mut response = next.run(request).await;
    response.headers_mut().extend(HEADERS.map(|(name, value)| (Some(name), value)));
    response.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert(POLICY);
    response
}

/// Returns true if a request names this server, and its own page or no page makes it.
fn is_own(request: &Request, address: SocketAddr) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let own = [address.to_string(), format!("localhost:{}", address.port())];
    let is_own_host = header("host").is_some_and(|host| own.iter().any(|name| name == host));
    let is_own_page = matches!(header("sec-fetch-site"), None | Some("same-origin" | "none"));
    // A link on another page may open this one.
    let is_opened = header("sec-fetch-mode") == Some("navigate") && request.uri().path() == "/";
    is_own_host && (is_own_page || is_opened)
}

/// The query of a stream of events.
#[derive(Deserialize)]
struct Shown {
    /// The id of a run, if one is shown.
    run: Option<String>,
    /// The games that its agent plays, separated by commas.
    #[serde(default)]
    play: String,
    /// The ids of further runs whose curves are shown, one on each line. Runs that have been removed are ignored.
    #[serde(default)]
    marked: String,
}

/// A run whose curves are shown.
struct Charted {
    id: String,
    curves: GrowingCurves,
}

/// Streams the list of runs, the curves of the run that is shown and of the marked ones, and the games of the former.
async fn events(
    State(site): State<Arc<Site>>,
    Query(shown): Query<Shown>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, (StatusCode, String)> {
    let run_dir = match &shown.run {
        Some(id) => Some(site.directory.run(id).ok_or_else(|| no_run(id))?),
        None => None,
    };
    let games: Vec<String> =
        shown.play.split(',').filter(|game| !game.is_empty()).map(str::to_owned).collect();
    let (sender, receiver) = mpsc::channel(1);
    if let (Some(run_dir), false) = (&run_dir, games.is_empty()) {
        tokio::spawn(send_scenes(open_stage(&site, run_dir.clone(), games), sender.clone()));
    }
    let marked = shown.marked.lines().filter(|id| shown.run.as_deref() != Some(*id));
    let marked = marked.filter_map(|id| Some((id, site.directory.run(id)?)));
    let charted = shown.run.as_deref().zip(run_dir).into_iter().chain(marked);
    let charted =
        charted.map(|(id, run_dir)| Charted { id: id.to_owned(), curves: GrowingCurves::of(&run_dir) });
    let charted = charted.collect();
    tokio::spawn(send_runs(site, charted, sender));
    let events =
        stream::unfold(receiver, |mut receiver| async { Some((Ok(receiver.recv().await?), receiver)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

fn no_run(id: &str) -> (StatusCode, String) {
    (StatusCode::NOT_FOUND, format!("there is no run {id}"))
}

fn event(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

fn open_stage(site: &Site, run_dir: PathBuf, games: Vec<String>) -> watch::Receiver<Scene> {
    let global = Global { quiet: true, ..site.global.clone() };
    let Ok(permit) = Arc::clone(&site.stages).try_acquire_owned() else {
        let problem = format!("{STAGES} agents play already; close another page");
        return watch::channel(Scene::Problem(problem)).1;
    };
    Stage { run_dir, games, global, permit: Some(permit) }.open()
}

/// Sends what happens in the games, as often as the page takes it.
async fn send_scenes(mut scenes: watch::Receiver<Scene>, page: mpsc::Sender<Event>) {
    loop {
        scenes.mark_unchanged();
        let current = scenes.clone();
        // Screens are encoded as pictures.
        let encoded = tokio::task::spawn_blocking(move || event("scene", &current.borrow().json()));
        let Ok(scene) = encoded.await else { return };
        if page.send(scene).await.is_err() || scenes.changed().await.is_err() {
            return;
        }
    }
}

/// Sends the list of runs when it changes, and the new part of the curves.
async fn send_runs(site: Arc<Site>, mut charted: Vec<Charted>, page: mpsc::Sender<Event>) {
    let mut listed = String::new();
    for look in 0_u32.. {
        let mut events = Vec::new();
        if look.is_multiple_of(LOOKS_PER_LIST) {
            let site = Arc::clone(&site);
            let Ok(runs) = tokio::task::spawn_blocking(move || site.directory.list()).await else { return };
            let runs = Value::from(runs).to_string();
            if runs != listed {
                events.push(Event::default().event("runs").data(&runs));
                listed = runs;
            }
        }
        let read = tokio::task::spawn_blocking(move || {
            let new = charted.iter_mut().filter_map(|run| read_on(run, look == 0)).collect::<Vec<Event>>();
            (charted, new)
        });
        let Ok((same, new)) = read.await else { return };
        charted = same;
        events.extend(new);
        for event in events {
            if page.send(event).await.is_err() {
                return;
            }
        }
        if page.is_closed() {
            return;
        }
        time::sleep(LOOK).await;
    }
}

/// Reads the records that a run has written since the last call, as an event; none if there are none.
fn read_on(run: &mut Charted, is_first: bool) -> Option<Event> {
    let mut series = Series::default();
    let value = match series.read_on(&mut run.curves) {
        Err(error) => json!({ "run": run.id, "problem": sentence(&error.into()) }),
        Ok(None) if !is_first => return None,
        Ok(news) => series.json(&run.id, is_first || news == Some(News::Restart)),
    };
    Some(event("curves", &value))
}

/// The runs of a report.
#[derive(Deserialize)]
struct Reported {
    /// Their ids, one on each line.
    runs: String,
}

/// Returns the report of some runs, as `ale-train report` writes it, with its policy.
async fn report_page(
    State(site): State<Arc<Site>>,
    Query(reported): Query<Reported>,
) -> Result<impl IntoResponse, (StatusCode, String)> {
    let ids = reported.runs.lines();
    let runs = ids.map(|id| site.directory.run(id).ok_or_else(|| no_run(id)));
    let runs = runs.collect::<Result<Vec<PathBuf>, _>>()?;
    let page = tokio::task::spawn_blocking(move || report::page(&runs)).await;
    let page = page.map_err(io::Error::other).map_err(anyhow::Error::from).flatten();
    let page = page.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, sentence(&error)))?;
    Ok(([(header::CONTENT_SECURITY_POLICY, report::content_security_policy())], Html(page)))
}
