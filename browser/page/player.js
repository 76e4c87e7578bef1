// The game in progress: steps it 60 frames a second, and draws it.
class Player {
  static FRAMES_PER_SECOND = 60;
  // The least time for which the end of an episode stays on the screen, in milliseconds.
  static GAME_OVER = 1500;
  // The longest time that the game catches up after the page was hidden or busy, in milliseconds.
  static DELAY = 250;

  isPaused = false;
  // True while the visitor has the joystick.
  isManual = false;
  // The number of frames that have been shown.
  frames = 0;

  #emulator;
  #joystick;
  #mind;
  #game;
  #context = document.getElementById("screen").getContext("2d");
  #image;
  // The frames of the last step, and how many of them have been shown.
  #stepFrames = 0;
  #shown = 0;
  #next = 0;
  #overSince = null;
  // The times at which frames were shown in the last second.
  #times = [];

  constructor(emulator, joystick, mind) {
    [this.#emulator, this.#joystick, this.#mind] = [emulator, joystick, mind];
  }

  // Shows a game from its start.
  open(game) {
    this.#game = game;
    this.#image = new ImageData(this.#emulator.width, game.height);
    const { canvas } = this.#context;
    [canvas.width, canvas.height] = [this.#image.width, this.#image.height];
    canvas.setAttribute("aria-label", `the screen of ${game.title}, played with the arrow keys and space`);
    document.getElementById("title").textContent = game.title;
    if (!this.hasAgent) {
      this.isManual = true;
    }
    this.#begin();
  }

  get hasAgent() {
    return this.#game.agent?.plays ?? false;
  }

  get framesPerSecond() {
    return this.#times.length;
  }

  restart() {
    this.#emulator.restart();
    this.#begin();
  }

  // Plays until something fails, which calls `onFailure`.
  run(onFailure) {
    const tick = (now) => {
      try {
        this.#tick(now);
        requestAnimationFrame(tick);
      } catch (error) {
        onFailure(error);
      }
    };
    requestAnimationFrame(tick);
  }

  #begin() {
    [this.#stepFrames, this.#shown, this.#overSince] = [1, 0, null];
    this.#draw();
    this.#mind.show(this.#emulator);
    this.#mind.mark(null);
  }

  #tick(now) {
    if (this.isPaused || now - this.#next > Player.DELAY) {
      this.#next = now;
    }
    // The display may refresh a little earlier than the frame is due.
    while (!this.isPaused && this.#next <= now + 2) {
      this.#next += 1000 / Player.FRAMES_PER_SECOND;
      this.#advance(now);
    }
    this.#times = this.#times.filter((time) => time > now - 1000);
    this.#report();
  }

  // Shows the next frame.
  #advance(now) {
    if (this.#shown === this.#stepFrames && this.#emulator.isOver) {
      this.#overSince ??= now;
      if ((!this.isManual || this.#joystick.isFiring) && now - this.#overSince > Player.GAME_OVER) {
        this.restart();
      }
    } else if (this.#shown === this.#stepFrames) {
      // The outputs are those from which the agent's action follows.
      this.#mind.show(this.#emulator);
      this.#stepFrames = this.#emulator.step(this.isManual ? this.#joystick.action : null);
      this.#shown = 0;
      this.#mind.mark(this.#emulator.chosen);
    }
    if (this.#shown < this.#stepFrames) {
      this.#draw();
    }
    this.frames += 1;
    this.#times.push(now);
  }

  #draw() {
    this.#image.data.set(this.#emulator.screen(this.#shown, this.#image.height));
    this.#context.putImageData(this.#image, 0, 0);
    this.#shown += 1;
  }

  #report() {
    const lives = this.#emulator.lives;
    setText("score", String(this.#emulator.score));
    setText("lives", lives > 0 ? `${lives} ${lives === 1 ? "life" : "lives"}` : "");
    setText("speed", `${this.framesPerSecond} frames per second`);
    const over = this.isManual ? "Game over. Press fire for a new game." : "Game over";
    setText("message", this.isPaused ? "Paused" : this.#overSince !== null ? over : "");
    setPressed("agent-plays", !this.isManual);
    setPressed("you-play", this.isManual);
    setPressed("pause", this.isPaused);
  }
}

// Elements change only if they have to, so that screen readers repeat nothing.
function setText(id, text) {
  const element = document.getElementById(id);
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function setPressed(id, isPressed) {
  document.getElementById(id).setAttribute("aria-pressed", String(isPressed));
}
