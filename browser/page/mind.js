// What the agent sees and thinks: its observation, and the probability or the value of each action.
class Mind {
  // The columns between two frames of the observation.
  static GAP = 2;

  #rows = [];
  #kind;
  #canvas = document.getElementById("observation");
  // Frames, height and width of the observation.
  #shape;

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
    this.#shape = observation;
    const [frames, height, width] = observation;
    document.getElementById("observed").textContent = `${frames} frames of ${width} x ${height} pixels`;
    this.#canvas.width = frames * (width + Mind.GAP) - Mind.GAP;
    this.#canvas.height = height;
  }

  // Shows the current observation and the agent's outputs for it.
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
    actions.forEach(({ filled, number }, index) => {
      const output = outputs[index];
      const share = high > low ? (output - low) / (high - low) : 0;
      filled.style.transform = `scaleX(${share.toFixed(3)})`;
      number.textContent = isPolicy ? `${Math.round(100 * output)} %` : output.toFixed(2);
    });
  }

  // Marks the action that followed.
  mark(chosen) {
    this.#rows.slice(1).forEach(({ parts }, index) => {
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

  // Draws the frames side by side, the oldest first.
  #drawObservation(observation) {
    const [frames, height, width] = this.#shape;
    const context = this.#canvas.getContext("2d");
    for (let frame = 0; frame < frames; frame += 1) {
      const bytes = observation.subarray(frame * height * width, (frame + 1) * height * width);
      const image = new ImageData(width, height);
      new Uint32Array(image.data.buffer).set(Uint32Array.from(bytes, (grey) => 0xFF000000 | grey * 0x010101));
      context.putImageData(image, frame * (width + Mind.GAP), 0);
    }
  }
}
