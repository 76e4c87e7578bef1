// What the agent sees and thinks: its observation, and the probability or the value of each action.
class Mind {
  #rows = [];
  #kind;
  #observation = document.getElementById("observation");
  #image;

  // Shows the agent of a game that was opened, called `name`.
  open({ agent, actions, kind, observation }, name) {
    const isPlaying = agent?.plays ?? false;
    document.getElementById("mind").hidden = !isPlaying;
    this.#kind = kind;
    this.#rows = [];
    document.getElementById("outputs").replaceChildren();
    if (!isPlaying) {
      return;
    }
    document.getElementById("agent").textContent = name;
    document.getElementById("facts").textContent = `${agent.algorithm.toUpperCase()}, trained for ${agent.frames.toLocaleString("en")} frames`;
    this.#rows = ["value", ...actions.map((action) => action.toLowerCase())].map((action) => this.#row(action));
    const [frames, height, width] = observation;
    document.getElementById("observed").textContent = `${frames} frames of ${width} x ${height} pixels`;
    [this.#observation.width, this.#observation.height] = [width, height];
    this.#image = new ImageData(width, height);
  }

  get actions() {
    return Math.max(0, this.#rows.length - 1);
  }

  show(emulator) {
    if (this.#rows.length === 0) {
      return;
    }
    this.#drawObservation(emulator.observation);
    const [value, ...actions] = this.#rows;
    value.number.textContent = emulator.value.toFixed(2);
    const outputs = emulator.outputs(actions.length);
    const isPolicy = this.#kind === "probabilities";
    const [low, high] = isPolicy ? [0, 1] : [Math.min(...outputs), Math.max(...outputs)];
    const chosen = emulator.chosen;
    actions.forEach(({ parts, filled, number }, index) => {
      const output = outputs[index];
      const share = high > low ? (output - low) / (high - low) : 0;
      filled.style.transform = `scaleX(${share.toFixed(3)})`;
      number.textContent = isPolicy ? `${Math.round(100 * output)} %` : output.toFixed(2);
      parts.forEach((part) => part.classList.toggle("chosen", index === chosen));
    });
  }

  #row(name) {
    const [term, track, number] = ["dt", "dd", "dd"].map((element) => document.createElement(element));
    const filled = document.createElement("span");
    term.textContent = name;
    if (name !== "value") {
      track.className = "bar";
      track.append(filled);
    }
    const parts = [term, track, number];
    document.getElementById("outputs").append(...parts);
    return { parts, filled, number };
  }

  // The newest frame is the last one.
  #drawObservation(observation) {
    const { data } = this.#image;
    const newest = observation.length - data.length / 4;
    for (let pixel = 0; pixel < data.length / 4; pixel += 1) {
      data.fill(observation[newest + pixel], 4 * pixel, 4 * pixel + 3);
      data[4 * pixel + 3] = 255;
    }
    this.#observation.getContext("2d").putImageData(this.#image, 0, 0);
  }
}
