// Opens the built-in game, its agent and the visitor's files.
const BUILT_IN_AGENT = "zoo:harvest";
// The largest file that is read, in bytes.
const LARGEST_FILE = 2 ** 28;

const page = { agentName: BUILT_IN_AGENT };

async function start() {
  page.emulator = await Emulator.load(decoded("module"));
  const pad = document.getElementById("pad");
  page.joystick = new Joystick(pad, document.getElementById("fire"), () => page.player.isManual = true);
  page.mind = new Mind();
  page.player = new Player(page.emulator, page.joystick, page.mind);
  openBuiltIn();
  connect();
  page.player.run(fail);
}

function fail(error) {
  document.getElementById("message").textContent = `The page has failed (${error.message}). Reload it to play again.`;
}

// Returns the bytes of an element with base64.
function decoded(id) {
  const text = atob(document.getElementById(id).textContent);
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function openBuiltIn() {
  page.emulator.openRom();
  page.agentName = BUILT_IN_AGENT;
  page.emulator.openAgent(decoded("zoo-agent"));
  page.player.isManual = false;
  show(page.emulator.start(seed()));
  document.getElementById("reset").hidden = true;
}

function seed() {
  return crypto.getRandomValues(new Uint32Array(1))[0];
}

// Opens files that the visitor has chosen: agents by their name, others as ROMs.
async function openFiles(files) {
  for (const file of files) {
    if (file.size > LARGEST_FILE) {
      notify([`${file.name} is too large`]);
      continue;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const isAgent = file.name.toLowerCase().endsWith(".safetensors");
    const game = isAgent ? page.emulator.openAgent(bytes) : page.emulator.openRom(file.name, bytes);
    if (game.error !== undefined) {
      notify([`${file.name} cannot be used: ${game.error}`]);
      continue;
    }
    page.agentName = isAgent ? file.name : page.agentName;
    page.player.isManual = !game.agent?.plays;
    show(page.emulator.start(seed()));
    document.getElementById("reset").hidden = false;
  }
}

// Shows a game from its start.
function show(game) {
  page.mind.open(game, page.agentName);
  page.player.open(game);
  document.getElementById("agent-plays").disabled = !page.player.hasAgent;
  notify([game.note, idleness(game)].filter((text) => text !== null));
}

// Returns why an agent does not play, if there is one.
function idleness({ agent, title }) {
  if (agent === null || agent.plays) {
    return null;
  }
  const games = agent.games.length > 5 ? `${agent.games.length} games` : agent.games.join(", ");
  return `${page.agentName} plays ${games}, not ${title}: open such a ROM, or an agent for this game`;
}

// Shows sentences without their full stops.
function notify(sentences) {
  const element = document.getElementById("notice");
  element.textContent = sentences.map((sentence) => `${sentence}.`).join(" ");
  element.hidden = sentences.length === 0;
}

// Connects buttons, keys and files. The keyboard belongs to the game again after a click.
function connect() {
  const { player } = page;
  const commands = {
    "agent-plays": () => player.isManual = !player.hasAgent,
    "you-play": () => player.isManual = true,
    pause: () => player.isPaused = !player.isPaused,
    restart: () => player.restart(),
    reset: openBuiltIn,
  };
  for (const [id, command] of Object.entries(commands)) {
    document.getElementById(id).addEventListener("click", (event) => {
      command();
      // A click by keyboard has no detail.
      if (event.detail > 0) {
        document.getElementById("screen").focus({ preventScroll: true });
      }
    });
  }
  const keys = {
    KeyT: () => player.isManual = !player.isManual || !player.hasAgent,
    KeyP: commands.pause,
    KeyR: commands.restart,
  };
  addEventListener("keydown", (event) => {
    if (!event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey) {
      keys[event.code]?.();
    }
  });
  connectFiles();
}

function connectFiles() {
  for (const id of ["rom", "agent-file"]) {
    const input = document.getElementById(id);
    input.addEventListener("change", async () => {
      await openFiles(input.files).catch(fail);
      // The same file can be chosen again.
      input.value = "";
    });
  }
  const mark = (isDragged) => document.body.classList.toggle("dragged", isDragged);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", (event) => mark(event.relatedTarget !== null));
  addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    openFiles(event.dataTransfer.files).catch(fail);
  });
}

start().catch(fail);
