// The curves of the run that is shown and of marked runs. The program sends them once, and then what is new.

// Longer series are merged in pairs.
const MOST_POINTS = 2048;
// The charts of a game, and those of all games together, in their order: a title, and the tag without the game.
const RETURN = "charts/recent_return";
const OF_GAMES = [
  ["return", RETURN],
  ["evaluation", "evaluation/return"],
  ["episode length", "charts/episodic_length"],
];
const OF_ALL = [
  ["median, human-normalised", "charts/human_normalised_median"],
  ["interquartile mean, human-normalised", "charts/human_normalised_iqm"],
  ["Elo rating among earlier versions", "self_play/elo"],
  ["win rate against earlier versions", "self_play/win_rate"],
  ["evaluation: median, human-normalised", "evaluation/human_normalised_median"],
];
const SPEED = [["steps per second", "charts/SPS"]];

// The runs whose curves are shown, and the series of each by tag: frames and values.
let runs = [];
let series = new Map();
let problems = new Map();
let charts = new Map();
let labels = [];
const container = () => document.getElementById("charts");
const charted = () => document.getElementById("charted");
const smoothing = () => Number(document.getElementById("smoothing").value);

// Chooses the runs: `{ id, name, colour, games, labels }`.
export function show(chosen) {
  runs = chosen;
  const ids = new Set(runs.map((run) => run.id));
  const isShown = ([id]) => ids.has(id);
  series = new Map([...series].filter(isShown));
  problems = new Map([...problems].filter(isShown));
  document.getElementById("legend").replaceChildren(...(runs.length > 1 ? runs.map(legendEntry) : []));
  chooseGames();
  draw();
}

function legendEntry({ name, colour }) {
  const key = element("span", "", { className: "key", style: `background: var(${colour})` });
  const item = element("li");
  item.append(key, name);
  return item;
}

function chooseGames() {
  const known = labels.join("\n");
  labels = [...new Set(runs.flatMap((run) => run.labels ?? []))];
  if (labels.join("\n") !== known || charted().options.length === 0) {
    // A choice stays; if there was none, all games are shown.
    const chosen = charted().options.length > 1 ? charted().value : "";
    const all = labels.length > 1 ? [new Option("all games", "")] : [];
    charted().replaceChildren(...all, ...labels.map((label) => new Option(label)));
    charted().value = labels.includes(chosen) ? chosen : charted().options[0]?.value;
  }
}

export function receive({ run, problem, restart, series: added }) {
  if (problem !== undefined) {
    problems.set(run, problem);
  } else {
    problems.delete(run);
    const known = restart ? new Map() : series.get(run) ?? new Map();
    for (const [tag, [frames, values]] of Object.entries(added)) {
      known.set(tag, joined(known.get(tag) ?? [[], []], [frames, values]));
    }
    series.set(run, known);
  }
  draw();
}

function joined(known, added) {
  let columns = known.map((column, index) => column.concat(added[index]));
  while (columns[0].length > MOST_POINTS) {
    columns = columns.map(merged);
  }
  return columns;
}

function merged(values) {
  return Array.from({ length: Math.ceil(values.length / 2) }, (_, index) => {
    const [first, second = first] = values.slice(2 * index, 2 * index + 2);
    return (first + second) / 2;
  });
}

// Returns the curves of the runs that have a series with the tag that `tagOf` returns.
function curvesOf(tagOf) {
  return runs.flatMap((run) => {
    const known = series.get(run.id)?.get(tagOf(run));
    return known === undefined ? [] : [{ name: run.name, colour: run.colour, frames: known[0], values: known[1] }];
  });
}

// Returns the tag of a game in a run. Runs of a single game have tags without games.
function tagOfGame(tag, label) {
  return (run) => {
    const index = run.labels?.indexOf(label) ?? -1;
    if (index < 0) {
      return undefined;
    }
    return run.games.length > 1 ? `${tag}/${run.games[index]}` : tag;
  };
}

// Returns the charts: their titles, curves and notes.
function wanted() {
  const shown = charted().value ? [charted().value] : labels;
  const found = [];
  const add = (title, tagOf, note = () => "") => {
    const curves = curvesOf(tagOf);
    found.push({ title, curves, note: note(curves) });
  };
  for (const [title, tag] of OF_GAMES) {
    for (const label of shown) {
      const own = labels.length > 1 ? `${label}: ${title}` : title;
      add(own, tagOfGame(tag, label), tag === RETURN ? (curves) => missing(label, curves) : undefined);
    }
    if (tag === RETURN && charted().value === "") {
      OF_ALL.forEach(([title, tag]) => add(title, () => tag));
    }
  }
  const tags = [...series.values()].flatMap((known) => [...known.keys()]);
  const losses = [...new Set(tags)].filter((tag) => /^losses\/[^/]+$/.test(tag)).sort();
  losses.forEach((tag) => add(tag.slice("losses/".length).replaceAll("_", " "), () => tag));
  SPEED.forEach(([title, tag]) => add(title, () => tag));
  return found.filter(({ curves, note }) => curves.length > 0 || note !== "");
}

// Names the runs without a finished episode of a game.
function missing(label, curves) {
  const have = new Set(curves.map(({ name }) => name));
  const waiting = runs.filter((run) => run.labels?.includes(label) && !have.has(run.name));
  if (waiting.length === 0) {
    return "";
  }
  const of = runs.length > 1 ? ` of ${waiting.map(({ name }) => name).join("; ")}` : "";
  return `No episode${of} has ended yet.`;
}

function draw() {
  const notes = runs.filter(({ id }) => problems.has(id)).map(({ id, name }) => `${name}: ${problems.get(id)}`);
  document.getElementById("problems").replaceChildren(...notes.map((note) => element("p", note)));
  const found = series.size === 0 ? [] : wanted();
  const titles = new Set(found.map(({ title }) => title));
  for (const [title, chart] of charts) {
    if (!titles.has(title)) {
      chart.clear();
      chart.element.remove();
      charts.delete(title);
    }
  }
  found.forEach(({ title }) => charts.has(title) || charts.set(title, new Chart(title)));
  const elements = found.map(({ title }) => charts.get(title).element);
  const shown = [...container().children];
  if (elements.length !== shown.length || elements.some((element, index) => element !== shown[index])) {
    container().replaceChildren(...elements);
  }
  const extent = extentOf(found.flatMap(({ curves }) => curves));
  found.forEach(({ title, curves, note }) => charts.get(title).draw(curves, extent, smoothing(), note));
}

addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
addEventListener("DOMContentLoaded", () => {
  charted().addEventListener("change", draw);
  document.getElementById("smoothing").addEventListener("input", draw);
});
