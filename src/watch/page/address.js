// The state of the page is in its address: #run=ID&play=GAMES&marked=IDS, with one id on each line.

export function current() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const marked = (parameters.get("marked") ?? "").split("\n").filter((id) => id !== "");
  return { id: parameters.get("run"), play: parameters.get("play"), marked };
}

export function link({ id, play, marked }) {
  const parameters = new URLSearchParams();
  if (id !== null) {
    parameters.set("run", id);
  }
  if (play !== null) {
    parameters.set("play", play);
  }
  if (marked.length > 0) {
    parameters.set("marked", marked.join("\n"));
  }
  return `#${parameters}`;
}

// Changes a part of the state.
export function change(part) {
  location.hash = link({ ...current(), ...part });
}
