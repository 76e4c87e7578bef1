// The visitor's joystick: keys, and a pad and a button on touch screens.
class Joystick {
  static KEYS = {
    ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Space: "fire",
    KeyW: "up", KeyS: "down", KeyA: "left", KeyD: "right",
  };
  static OPPOSITES = { up: "down", down: "up", left: "right", right: "left" };
  // The codes of the console's actions without the button, by vertical and horizontal direction.
  static CODES = { "": 0, up: 2, right: 3, left: 4, down: 5, upright: 6, upleft: 7, downright: 8, downleft: 9 };

  #held = new Set();
  #onUse;

  // Calls `onUse` whenever the visitor presses something.
  constructor(pad, button, onUse) {
    this.#onUse = onUse;
    addEventListener("keydown", (event) => this.#key(event, true));
    addEventListener("keyup", (event) => this.#key(event, false));
    addEventListener("blur", () => this.release());
    for (const type of ["pointerdown", "pointermove"]) {
      pad.addEventListener(type, (event) => this.#point(pad, event));
    }
    for (const type of ["pointerup", "pointercancel"]) {
      pad.addEventListener(type, () => this.#direct(pad, []));
      button.addEventListener(type, () => this.#fire(button, false));
    }
    button.addEventListener("pointerdown", () => this.#fire(button, true));
  }

  // Returns the code of the console's action.
  get action() {
    const vertical = ["up", "down"].find((direction) => this.#held.has(direction)) ?? "";
    const horizontal = ["right", "left"].find((direction) => this.#held.has(direction)) ?? "";
    const code = Joystick.CODES[vertical + horizontal];
    if (!this.isFiring) {
      return code;
    }
    return code === 0 ? 1 : code + 8;
  }

  get isFiring() {
    return this.#held.has("fire");
  }

  release() {
    this.#held.clear();
  }

  #hold(part) {
    this.#held.delete(Joystick.OPPOSITES[part]);
    this.#held.add(part);
    this.#onUse();
  }

  #key(event, isPressed) {
    const part = Joystick.KEYS[event.code];
    // The keyboard also operates buttons.
    const isOperated = event.code === "Space" && event.target instanceof HTMLButtonElement;
    if (part === undefined || isOperated || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    if (!isPressed) {
      this.#held.delete(part);
    } else if (!event.repeat) {
      this.#hold(part);
    }
  }

  // The pad has eight directions around its centre.
  #point(pad, event) {
    if (event.type === "pointerdown") {
      pad.setPointerCapture(event.pointerId);
    } else if (event.buttons === 0) {
      return;
    }
    const { left, top, width, height } = pad.getBoundingClientRect();
    const [x, y] = [(event.clientX - left) / width - 0.5, (event.clientY - top) / height - 0.5];
    // A direction counts up to 67.5 degrees from its axis; the centre is none.
    const isAlong = (part, other) => Math.hypot(x, y) > 0.12 && part > 0.4142 * Math.abs(other);
    const directions = { up: isAlong(-y, x), down: isAlong(y, x), left: isAlong(-x, y), right: isAlong(x, y) };
    this.#direct(pad, Object.keys(directions).filter((name) => directions[name]));
  }

  #direct(pad, directions) {
    for (const name of Object.keys(Joystick.OPPOSITES)) {
      pad.querySelector(`.${name}`).classList.toggle("held", directions.includes(name));
      this.#held.delete(name);
    }
    directions.forEach((name) => this.#hold(name));
  }

  #fire(button, isPressed) {
    button.classList.toggle("held", isPressed);
    if (isPressed) {
      this.#hold("fire");
    } else {
      this.#held.delete("fire");
    }
  }
}
