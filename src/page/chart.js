// Charts of curves over frames, for the pages of `ale-train watch` and `ale-train report`. A report contains this file
// itself, so it is no module: its functions are global.
"use strict";

const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const CHART_HEIGHT = 200;

function element(name, text = "", properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, properties);
}

function style(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

// Formats a number with an SI prefix.
function quantity(value) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  return `${Number((value / size).toPrecision(unit === "" ? 4 : 3))}${unit}`;
}

// Formats the numbers of an axis, with as many decimals as tell neighbours apart.
function tickLabels(ticks, step) {
  const largest = Math.max(...ticks.map(Math.abs));
  if (largest > 0 && largest < 1e-3) {
    return ticks.map((tick) => (tick === 0 ? "0" : `${Number(tick.toPrecision(3)).toExponential()}`));
  }
  const [size, unit] = UNITS.find(([size]) => largest >= Math.max(size, 1e4)) ?? [1, ""];
  const decimals = Math.min(Math.max(Math.ceil(1 - Math.log10(step / size)), 0), 12);
  return ticks.map((tick) => (tick === 0 ? "0" : `${Number((tick / size).toFixed(decimals))}${unit}`));
}

// Returns the exponential average of values, in which the past has this weight.
function smoothed(values, weight) {
  let mean = values[0];
  return values.map((value) => (mean = weight * mean + (1 - weight) * value));
}

// Returns the index of the point of a series that is nearest to a point of another one, within the range of the series.
function nearestPoint(plot, series, index) {
  const values = plot.data[series];
  let [before, after] = [index, index];
  while (before >= 0 && values[before] == null) {
    before--;
  }
  while (after < values.length && values[after] == null) {
    after++;
  }
  if (before < 0 || after === values.length) {
    return index;
  }
  return index - before <= after - index ? before : after;
}

// Returns the first and the last frame of curves, which all charts of a page show.
function extentOf(curves) {
  const ends = curves.flatMap(({ frames }) => [frames[0], frames[frames.length - 1]]);
  return [Math.min(...ends), Math.max(...ends)];
}

// A chart of curves: `{ name, colour, frames, values, low, high }`, where `colour` is a variable of the style sheet and
// the band from `low` to `high` is optional.
class Chart {
  constructor(title) {
    this.element = element("figure", "", { className: "chart" });
    this.note = element("p", "", { className: "note", hidden: true });
    this.place = element("div");
    this.element.append(element("figcaption", title), this.place, this.note);
    this.plot = null;
    this.shown = "";
  }

  // Shows curves over the frames of `extent`, and a note below them. The element must be in the document.
  draw(curves, extent, smoothing, note) {
    this.note.textContent = note;
    this.note.hidden = note === "";
    const shown = JSON.stringify(curves.map(({ name, colour, low }) => [name, colour, low !== undefined]));
    if (this.plot !== null && this.shown !== shown) {
      this.clear();
    }
    this.shown = shown;
    if (curves.length === 0) {
      return;
    }
    const tables = curves.map(({ frames, values, low, high }) => {
      const columns = low === undefined ? [values] : [values, low, high];
      return [frames, ...columns.map((column) => smoothed(column, smoothing))];
    });
    const data = uPlot.join(tables);
    if (this.plot === null) {
      this.plot = new uPlot(this.options(curves), data, this.place);
    } else {
      const { min, max } = this.plot.scales.x;
      const [frames] = this.plot.data;
      const isZoomed = min > frames[0] || max < frames[frames.length - 1];
      this.plot.setData(data, !isZoomed);
      if (isZoomed) {
        this.plot.redraw();
        return;
      }
    }
    const [min, max] = extent;
    if (min < max) {
      this.plot.setScale("x", { min, max });
    }
  }

  clear() {
    this.plot?.destroy();
    this.plot = null;
  }

  resize() {
    this.plot?.setSize({ width: this.place.clientWidth, height: CHART_HEIGHT });
  }

  options(curves) {
    const frames = { label: "frames", value: (_, value) => (value === null ? "–" : quantity(value)) };
    const series = [frames];
    const bands = [];
    for (const { name, colour, frames, low } of curves) {
      series.push({
        label: name,
        stroke: () => style(colour),
        width: 1.5,
        spanGaps: true,
        points: { show: frames.length < 3 },
        value: (_, value) => (value === null || value === undefined ? "–" : `${Number(value.toPrecision(5))}`),
      });
      if (low !== undefined) {
        bands.push({ series: [series.length + 1, series.length], fill: () => translucent(style(colour)) });
        const edge = { class: "edge", stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
        series.push(edge, { ...edge });
      }
    }
    const line = () => style("--line");
    const axis = {
      stroke: () => style("--soft"), grid: { stroke: line, width: 1 }, ticks: { stroke: line },
      values: (_, ticks, index, space, step) => tickLabels(ticks, step),
    };
    return {
      width: this.place.clientWidth,
      height: CHART_HEIGHT,
      cursor: { y: false, sync: { key: "frames" }, dataIdx: nearestPoint },
      scales: { x: { time: false } },
      axes: [{ ...axis, size: 34 }, { ...axis, size: 60 }],
      series,
      bands,
    };
  }
}

function translucent(colour) {
  return colour.replace("rgb(", "rgba(").replace(")", ", 0.2)");
}
