// The WebAssembly module, which imports nothing. Converts texts and arrays from and to its memory.
class Emulator {
  static async load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Emulator(instance.exports);
  }

  constructor(functions) {
    this.functions = functions;
    this.width = functions.page_width();
  }

  // Inserts an image, or the built-in game. Returns the description of the game, or an object with an error.
  openRom(name = "", image = new Uint8Array()) {
    const encoded = new TextEncoder().encode(image.length > 0 ? name : "");
    this.#write(encoded, image);
    return this.#text(this.functions.page_open_rom(encoded.length));
  }

  openAgent(file) {
    this.#write(file);
    return this.#text(this.functions.page_open_agent());
  }

  // Starts the game again, with the agent or alone.
  start(seed, isAlone = false) {
    return this.#text(this.functions.page_start(seed, Number(isAlone)));
  }

  restart() {
    this.functions.page_restart();
  }

  // Takes a step with the code of an action, or, if there is none, with an action of the agent. Returns the number of
  // frames.
  step(action = null) {
    return this.functions.page_step(action ?? -1);
  }

  screen(frame, height) {
    return this.#bytes(this.functions.page_screen(frame), this.width * height * 4);
  }

  get ram() {
    return this.#bytes(this.functions.page_ram(), 128);
  }

  get observation() {
    return this.#bytes(this.functions.page_observation(), this.functions.page_observation_length());
  }

  outputs(count) {
    return new Float32Array(this.functions.memory.buffer, this.functions.page_outputs(), count);
  }

  get value() {
    return this.functions.page_value();
  }

  get chosen() {
    return this.functions.page_chosen();
  }

  get score() {
    return this.functions.page_score();
  }

  get lives() {
    return this.functions.page_lives();
  }

  get isOver() {
    return this.functions.page_is_over() !== 0;
  }

  #bytes(address, length) {
    return new Uint8Array(this.functions.memory.buffer, address, length);
  }

  #write(...parts) {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    let address = this.functions.page_input(length);
    for (const part of parts) {
      this.#bytes(address, part.length).set(part);
      address += part.length;
    }
  }

  #text(length) {
    return JSON.parse(new TextDecoder().decode(this.#bytes(this.functions.page_text(), length)));
  }
}
