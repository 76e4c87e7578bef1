// Draws the curves of the report from the data in the page.
"use strict";

function note(waiting, curves, names) {
  if (waiting.length === 0) {
    return "";
  }
  const of = curves.length === 0 ? "" : ` of ${waiting.map((group) => names[group]).join("; ")}`;
  return `No episode${of} has ended yet.`;
}

function showPart(section, { names, charts }) {
  const game = section.querySelector("select");
  const smoothing = section.querySelector("[type=range]");
  const toggles = [...section.querySelectorAll(".legend input")];
  const drawn = charts.map((data) => ({ data, chart: new Chart(data.title) }));

  function draw() {
    const shownGame = game?.value ?? "";
    const isShown = ({ section, game }) => section !== "scores" || shownGame === "" || shownGame === game;
    const toggled = ({ curves }) => curves.filter(({ group }) => toggles[group]?.checked ?? true);
    const extent = extentOf(charts.filter(isShown).flatMap(toggled));
    for (const { data, chart } of drawn) {
      chart.element.hidden = !isShown(data);
      if (isShown(data)) {
        const named = toggled(data).map((curve) => ({ ...curve, name: names[curve.group], colour: `--curve-${curve.group}` }));
        chart.draw(named, extent, Number(smoothing.value), note(data.waiting, data.curves, names));
      }
    }
  }

  for (const { data, chart } of drawn) {
    section.querySelector(`[data-section=${data.section}]`).append(chart.element);
  }
  section.addEventListener("input", draw);
  addEventListener("resize", () => drawn.forEach(({ chart }) => chart.resize()));
  draw();
}

const parts = JSON.parse(document.getElementById("curves").textContent);
parts.forEach((part, index) => showPart(document.querySelector(`[data-part="${index}"]`), part));
