// The list of runs, and the facts about the one that is shown.
import * as address from "./address.js";

let list = [];
// The colours of the runs whose curves are shown: numbers of variables of the style sheet.
const colours = new Map();

export function find(id) {
  return list.find((run) => run.id === id);
}

// Returns the runs whose curves are shown: the chosen one and the marked ones.
export function charted() {
  const { id, marked } = address.current();
  const shown = [...new Set([id, ...marked])].map(find).filter((run) => run !== undefined);
  const ids = new Set(shown.map((run) => run.id));
  [...colours.keys()].filter((known) => !ids.has(known)).forEach((known) => colours.delete(known));
  return shown.map((run) => ({ ...run, name: name(run), colour: colour(run.id) }));
}

// A run keeps its colour while it is shown. Others get the first free one.
function colour(id) {
  if (!colours.has(id)) {
    const used = new Set(colours.values());
    let index = 0;
    while (used.has(index)) {
      index++;
    }
    colours.set(id, index);
  }
  return `--curve-${colours.get(id) % Number(style("--curves"))}`;
}

function name(run) {
  return run.id === "." ? "this run" : run.id;
}

function games(run) {
  if (run.labels === null) {
    return "";
  }
  return run.labels.length === 1 ? run.labels[0] : `${run.labels.length} games`;
}

function score(run) {
  if (run.score === null) {
    return "no score yet";
  }
  const { value, human_normalised: isShare } = run.score;
  return isShare ? `${Math.round(100 * value)} % of a human` : `score ${quantity(value)}`;
}

function entry(run, { id, play, marked }) {
  const item = element("li");
  const isMarked = marked.includes(run.id);
  const check = element("input", "", { type: "checkbox", checked: isMarked, title: "show its curves, too" });
  check.addEventListener("change", () => {
    const others = address.current().marked.filter((other) => other !== run.id);
    address.change({ marked: check.checked ? [...others, run.id] : others });
  });
  const target = { id: run.id, play: run.id === id ? play : null, marked };
  const link = element("a", name(run), { href: address.link(target) });
  const about = element("small", [games(run), run.state, score(run)].filter((part) => part !== "").join(", "));
  const done = element("progress", "", { max: 100, value: run.percent_done ?? 0, title: `${run.percent_done ?? 0} %` });
  item.append(check, link, about, done);
  return item;
}

function describe(run) {
  document.getElementById("name").textContent = run.id === "." ? run.path : run.id;
  const facts = [run.algorithm?.toUpperCase(), `${games(run)}`, run.seed === null ? "" : `seed ${run.seed}`, run.state];
  if (run.problem) {
    facts.push(run.problem);
  }
  if (run.frames !== null) {
    facts.push(`${quantity(run.frames)} of ${quantity(run.total_frames)} frames, ${run.percent_done} %`, score(run));
  }
  document.getElementById("facts").textContent = facts.filter(Boolean).join(" · ");
}

export function receive(runs) {
  list = runs;
  document.getElementById("no-runs").hidden = runs.length > 0;
  show();
}

// Shows the list, in which the run of the address is chosen.
export function show() {
  const state = address.current();
  const focused = document.activeElement?.closest("#runs li");
  const index = [...document.getElementById("runs").children].indexOf(focused);
  const tag = document.activeElement?.tagName;
  const shown = charted();
  document.getElementById("runs").replaceChildren(...list.map((run) => {
    const item = entry(run, state);
    item.classList.toggle("shown", run.id === state.id);
    const own = shown.find(({ id }) => id === run.id);
    if (own !== undefined && shown.length > 1) {
      item.style.setProperty("--own", `var(${own.colour})`);
    }
    return item;
  }));
  // The keyboard stays where it was.
  document.querySelector(`#runs li:nth-child(${index + 1}) ${tag === "A" ? "a" : "input"}`)?.focus();
  const ids = state.marked.filter((id) => find(id) !== undefined);
  const report = document.getElementById("report");
  report.hidden = ids.length === 0;
  report.href = `/report?${new URLSearchParams({ runs: ids.join("\n") })}`;
  const run = find(state.id);
  if (run !== undefined) {
    describe(run);
  }
}
