// The newest agent of a run, while it plays one game or all games.

const played = () => document.getElementById("played");
const cells = () => document.getElementById("cells");
let known = "";

export function onChoice(choose) {
  played().addEventListener("change", () => choose(played().value));
}

export function choices(run, play) {
  const names = run.games ?? [];
  if (known !== names.join()) {
    known = names.join();
    const several = names.length > 1 ? [new Option("all games", known)] : [];
    const each = names.map((name, index) => new Option(run.labels[index], name));
    played().replaceChildren(new Option("nothing", ""), ...several, ...each);
  }
  played().value = play;
}

export function clear() {
  notice("");
  cells().replaceChildren();
  document.getElementById("checkpoint").textContent = "";
}

function notice(text) {
  const element = document.getElementById("notice");
  element.textContent = text;
  element.hidden = text === "";
}

export function receive(scene) {
  if (scene.cells === undefined) {
    notice(scene.problem ?? scene.waiting ?? "The agent is being loaded.");
    return;
  }
  notice("");
  const checkpoint = document.getElementById("checkpoint");
  checkpoint.textContent = `newest checkpoint: ${quantity(scene.frames)} frames`;
  checkpoint.title = "ale-train checkpoint RUN asks a run in training for a newer one";
  cells().className = scene.cells.length === 1 ? "single" : "";
  while (cells().children.length > scene.cells.length) {
    cells().lastChild.remove();
  }
  scene.cells.forEach((cell, index) => update(cells().children[index] ?? create(), cell));
}

function create() {
  const cell = document.createElement("div");
  cell.className = "cell";
  cell.innerHTML = '<div><img alt=""><p><span class="title"></span><span class="score"></span></p></div><dl class="outputs"></dl>';
  cells().append(cell);
  return cell;
}

function update(cell, { title, image, aspect, score, lives, action, chosen, options, kind, outputs, value, over }) {
  const picture = cell.querySelector("img");
  picture.src = image;
  picture.alt = `the screen of ${title}`;
  picture.style.aspectRatio = aspect === null ? "" : `${aspect[0]} / ${aspect[1]}`;
  picture.style.imageRendering = aspect === null ? "auto" : "";
  cell.querySelector(".title").textContent = title;
  const parts = [over ? "over" : "", lives > 0 ? `${lives} lives` : "", quantity(score)];
  cell.querySelector(".score").textContent = parts.filter((part) => part !== "").join(", ");
  if (cells().className === "single") {
    const bars = options.map((option, index) => bar(option, outputs[index], chosen.includes(index), kind, outputs));
    cell.querySelector(".outputs").replaceChildren(
      ...row("value", value.toFixed(2), false), ...row("action", action, false), ...bars.flat());
  }
}

function row(name, text, isChosen, share = null) {
  const term = document.createElement("dt");
  const track = document.createElement("dd");
  const number = document.createElement("dd");
  [term.textContent, number.textContent] = [name, text];
  if (share !== null) {
    track.className = "bar";
    const filled = document.createElement("span");
    filled.style.width = `${100 * share}%`;
    track.append(filled);
  }
  [term, track, number].forEach((part) => part.classList.toggle("chosen", isChosen));
  return [term, track, number];
}

// A bar for an option: its probability, or its value between the lowest and the highest.
function bar(option, output, isChosen, kind, outputs) {
  if (kind === "probabilities") {
    return row(option, `${Math.round(100 * output)} %`, isChosen, output);
  }
  const [low, high] = [Math.min(...outputs), Math.max(...outputs)];
  return row(option, output.toFixed(2), isChosen, high > low ? (output - low) / (high - low) : 0);
}
