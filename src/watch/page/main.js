// One stream of events brings everything that is shown: the list of runs, curves, and games of an agent.
import * as address from "./address.js";
import * as curves from "./curves.js";
import * as runs from "./runs.js";
import * as stage from "./stage.js";

const RETRY_MILLISECONDS = 2000;
let events = null;

function connect() {
  events?.close();
  const { id, play, marked } = address.current();
  const parameters = new URLSearchParams({ marked: marked.join("\n") });
  if (id !== null) {
    parameters.set("run", id);
    parameters.set("play", play ?? "");
  }
  events = new EventSource(`/events?${parameters}`);
  events.onopen = () => document.getElementById("connection").hidden = true;
  events.onerror = () => {
    document.getElementById("connection").hidden = false;
    // After an answer such as 404, the browser does not try again: the run may have been removed.
    if (events.readyState === EventSource.CLOSED) {
      setTimeout(() => (id === null ? connect() : location.hash = ""), RETRY_MILLISECONDS);
    }
  };
  const listen = (name, receive) => events.addEventListener(name, (event) => receive(JSON.parse(event.data)));
  listen("runs", receiveRuns);
  listen("curves", curves.receive);
  listen("scene", stage.receive);
}

function receiveRuns(list) {
  runs.receive(list);
  const { id, marked } = address.current();
  if (id === null && list.length === 1) {
    address.change({ id: list[0].id });
    return;
  }
  show();
  document.getElementById("choose").hidden = id !== null || marked.length > 0 || list.length === 0;
}

// Shows the run of the address, and the curves of that and of the marked ones.
function show() {
  const { id, play } = address.current();
  const run = runs.find(id);
  const shown = runs.charted();
  document.getElementById("run").hidden = run === undefined;
  document.getElementById("curves").hidden = shown.length === 0;
  curves.show(shown);
  if (run === undefined) {
    return;
  }
  stage.choices(run, play ?? "");
  // A run that is opened shows its first game at once, unless that would execute code of the run.
  if (play === null && run.games !== null) {
    const isInPython = /^(gymnasium|gym|python):/.test(run.games[0]);
    address.change({ play: isInPython ? "" : run.games[0] });
  }
}

function follow() {
  stage.clear();
  runs.show();
  show();
  connect();
}

addEventListener("hashchange", follow);
stage.onChoice((play) => address.change({ play }));
follow();
