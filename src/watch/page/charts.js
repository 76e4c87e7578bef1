// The curves of a run. The program sends them once, and then what is new.
import { quantity } from "./runs.js";

// Longer series are merged in pairs.
const MOST_POINTS = 2048;
const HEIGHT = 190;
// The charts of a game, and those of all games together, in their order: a title, and the tag without the game.
const OF_GAMES = [
  ["return", "charts/recent_return"],
  ["evaluation", "evaluation/return"],
  ["episode length", "charts/episodic_length"],
];
const OF_ALL = [
  ["median, human-normalised", "charts/human_normalised_median"],
  ["interquartile mean, human-normalised", "charts/human_normalised_iqm"],
  ["evaluation: median, human-normalised", "evaluation/human_normalised_median"],
];
const SPEED = [["steps per second", "charts/SPS"]];

let games = [];
let series = new Map();
let drawn = new Map();
const container = () => document.getElementById("charts");
const charted = () => document.getElementById("charted");
const smoothing = () => Number(document.getElementById("smoothing").value);

export function clear() {
  series = new Map();
  for (const { plot } of drawn.values()) {
    plot.destroy();
  }
  drawn = new Map();
  container().replaceChildren();
}

export function choices(run) {
  const names = run.games ?? [];
  if (names.join() === games.join() && charted().options.length > 0) {
    return;
  }
  games = names;
  const all = names.length > 1 ? [new Option("all games", "")] : [];
  charted().replaceChildren(...all, ...names.map((name, index) => new Option(run.labels[index], name)));
}

export function receive({ problem, restart, series: added }) {
  if (problem !== undefined) {
    container().replaceChildren(Object.assign(document.createElement("p"), { textContent: problem }));
    return;
  }
  if (restart) {
    clear();
  }
  for (const [tag, [frames, values]] of Object.entries(added)) {
    const known = series.get(tag) ?? [[], []];
    let joined = [known[0].concat(frames), known[1].concat(values)];
    while (joined[0].length > MOST_POINTS) {
      joined = joined.map(merged);
    }
    series.set(tag, joined);
  }
  draw();
}

function merged(values) {
  return Array.from({ length: Math.ceil(values.length / 2) }, (_, index) => {
    const [first, second = first] = values.slice(2 * index, 2 * index + 2);
    return (first + second) / 2;
  });
}

// The tags of the charts, with their titles.
function wanted() {
  const game = charted().value;
  const shown = game === "" ? games : [game];
  const titled = [];
  for (const [title, tag] of OF_GAMES) {
    for (const name of shown) {
      const own = games.length > 1 ? `${tag}/${name}` : tag;
      titled.push([games.length > 1 ? `${name}: ${title}` : title, own]);
    }
    if (title === "return") {
      titled.push(...OF_ALL);
    }
  }
  const losses = [...series.keys()].filter((tag) => /^losses\/[^/]+$/.test(tag)).sort();
  titled.push(...losses.map((tag) => [tag.slice("losses/".length).replaceAll("_", " "), tag]), ...SPEED);
  return titled.filter(([, tag]) => series.has(tag));
}

function smooth([frames, values]) {
  const weight = smoothing();
  let mean = values[0];
  return [frames, values.map((value) => (mean = weight * mean + (1 - weight) * value))];
}

function draw() {
  const titled = wanted();
  const hasReturns = [...series.keys()].some((tag) => tag.startsWith("charts/recent_return"));
  document.getElementById("no-returns").hidden = hasReturns || series.size === 0;
  const tags = new Set(titled.map(([, tag]) => tag));
  for (const [tag, { plot, element }] of drawn) {
    if (!tags.has(tag)) {
      plot.destroy();
      element.remove();
      drawn.delete(tag);
    }
  }
  for (const [title, tag] of titled) {
    const data = smooth(series.get(tag));
    const known = drawn.get(tag);
    if (known === undefined) {
      drawn.set(tag, create(title, data));
    } else {
      known.plot.setData(data);
    }
  }
  const elements = titled.map(([, tag]) => drawn.get(tag).element);
  const shown = [...container().children];
  if (elements.length !== shown.length || elements.some((element, index) => element !== shown[index])) {
    container().replaceChildren(...elements);
  }
}

function create(title, data) {
  const element = Object.assign(document.createElement("div"), { className: "chart" });
  element.append(Object.assign(document.createElement("h2"), { textContent: title }));
  container().append(element);
  const colour = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const options = {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { sync: { key: "frames" } },
    scales: { x: { time: false } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map(quantity) },
      { ...axis, size: 60, values: (_, ticks) => ticks.map(quantity) },
    ],
    series: [
      { label: "frames", value: (_, value) => (value === null ? "–" : quantity(value)) },
      {
        label: "value",
        stroke: colour("--link"),
        width: 1.5,
        points: { show: (plot) => plot.data[0].length < 3 },
        value: (_, value) => (value === null ? "–" : `${Number(value.toPrecision(5))}`),
      },
    ],
  };
  return { element, plot: new uPlot(options, data, element) };
}

function resize() {
  for (const { plot, element } of drawn.values()) {
    plot.setSize({ width: element.clientWidth, height: HEIGHT });
  }
}

addEventListener("resize", resize);
addEventListener("DOMContentLoaded", () => {
  charted().addEventListener("change", draw);
  document.getElementById("smoothing").addEventListener("input", draw);
});
