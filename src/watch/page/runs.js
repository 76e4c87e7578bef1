// The list of runs, and the facts about the one that is shown.

let list = [];
// The ids of the runs for the report.
const marked = new Set();

export function find(id) {
  return list.find((run) => run.id === id);
}

export function quantity(value) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size) {
      return `${Number((value / size).toPrecision(3))}${unit}`;
    }
  }
  return `${Number(value.toPrecision(4))}`;
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

function element(name, text = "", properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, properties);
}

function entry(run, shownId) {
  const item = element("li", "", { className: run.id === shownId ? "shown" : "" });
  const check = element("input", "", { type: "checkbox", checked: marked.has(run.id), title: "mark for the report" });
  check.addEventListener("change", () => {
    marked[check.checked ? "add" : "delete"](run.id);
    linkReport();
  });
  const link = element("a", run.id === "." ? "this run" : run.id, { href: `#${new URLSearchParams({ run: run.id })}` });
  const about = element("small", [games(run), run.state, score(run)].filter((part) => part !== "").join(", "));
  const done = element("progress", "", { max: 100, value: run.percent_done ?? 0, title: `${run.percent_done ?? 0} %` });
  item.append(check, link, about, done);
  return item;
}

function linkReport() {
  const ids = list.map((run) => run.id).filter((id) => marked.has(id));
  const link = document.getElementById("report");
  link.hidden = ids.length === 0;
  link.href = `/report?${new URLSearchParams({ runs: ids.join("\n") })}`;
}

function describe(run) {
  document.getElementById("name").textContent = run.id === "." ? run.path : run.id;
  const facts = [run.algorithm?.toUpperCase(), `${games(run)}`, `seed ${run.seed}`, run.state];
  if (run.problem) {
    facts.push(run.problem);
  }
  if (run.frames !== null) {
    facts.push(`${quantity(run.frames)} of ${quantity(run.total_frames)} frames, ${run.percent_done} %`, score(run));
  }
  document.getElementById("facts").textContent = facts.filter(Boolean).join(" · ");
}

export function receive(runs, shownId) {
  list = runs;
  document.getElementById("runs").replaceChildren(...runs.map((run) => entry(run, shownId)));
  document.getElementById("no-runs").hidden = runs.length > 0;
  linkReport();
  mark(shownId);
}

export function mark(id) {
  const entries = [...document.getElementById("runs").children];
  entries.forEach((item, index) => item.classList.toggle("shown", list[index]?.id === id));
  const run = find(id);
  if (run !== undefined) {
    describe(run);
  }
}
