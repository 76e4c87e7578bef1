// The state of the page is in its address: #run=ID&play=GAMES. One stream of events brings everything that is shown.
import * as charts from "./charts.js";
import * as runs from "./runs.js";
import * as stage from "./stage.js";

const RETRY_MILLISECONDS = 2000;
let events = null;
let shown = { id: null, play: "" };

function address() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  return { id: parameters.get("run"), play: parameters.get("play") };
}

export function show(id, play) {
  const parameters = new URLSearchParams({ run: id });
  if (play !== null) {
    parameters.set("play", play);
  }
  location.hash = parameters;
}

function connect() {
  events?.close();
  const parameters = new URLSearchParams();
  if (shown.id !== null) {
    parameters.set("run", shown.id);
    parameters.set("play", shown.play);
  }
  events = new EventSource(`/events?${parameters}`);
  events.onopen = () => document.getElementById("connection").hidden = true;
  events.onerror = () => {
    document.getElementById("connection").hidden = false;
    // After an answer such as 404, the browser does not try again: the run may have been removed.
    if (events.readyState === EventSource.CLOSED) {
      setTimeout(() => (shown.id === null ? connect() : location.hash = ""), RETRY_MILLISECONDS);
    }
  };
  const listen = (name, receive) => events.addEventListener(name, (event) => receive(JSON.parse(event.data)));
  listen("runs", receiveRuns);
  listen("curves", charts.receive);
  listen("scene", stage.receive);
}

function receiveRuns(list) {
  runs.receive(list, shown.id);
  if (shown.id === null && list.length === 1) {
    show(list[0].id, null);
    return;
  }
  const run = runs.find(shown.id);
  document.getElementById("run").hidden = run === undefined;
  document.getElementById("choose").hidden = run !== undefined || list.length === 0;
  if (run === undefined) {
    return;
  }
  charts.choices(run);
  stage.choices(run, shown.play);
  // A run that is opened shows its first game at once, unless that would execute code of the run.
  if (address().play === null && run.games !== null) {
    const isInPython = /^(gymnasium|gym|python):/.test(run.games[0]);
    show(shown.id, isInPython ? "" : run.games[0]);
  }
}

function follow() {
  const { id, play } = address();
  if (id !== shown.id) {
    charts.clear();
    stage.clear();
  }
  shown = { id, play: play ?? "" };
  stage.clear();
  runs.mark(id);
  connect();
}

addEventListener("hashchange", follow);
stage.onChoice((play) => show(shown.id, play));
follow();
