#!/usr/bin/env python3
"""Records the golden traces in this directory from ale-py.

    pip install ale-py==0.12.1
    python record.py [GAME ...]

A file is one line of JSON that lists the runs, then four bytes for every act of every run. These are the low 16 bits of
a running CRC-32 over RAM, reward, lives and terminal flag, and of one over the screen, little-endian.
Because the CRCs are running ones, the first act whose bytes differ is the first act with a different state.

Every run starts with loadROM, sets mode and difficulty, and resets the game. The game is reset again after each act
that ends it. Actions come from `actions` below, which ../games/golden.rs reproduces.
"""

import json
import pathlib
import struct
import sys
import zlib

import ale_py

assert ale_py.__version__ == "0.12.1", f"the traces require ale-py 0.12.1, found {ale_py.__version__}"
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

DIRECTORY = pathlib.Path(__file__).parent
LONG_ACTS = 1000
MODE_ACTS = 300
MULTI_PLAYER_ONLY = {"combat", "joust", "maze_craze", "warlords"}


def actions(seed, legal):
    """Yields random legal actions, each held for 1 to 16 acts, from a linear congruential generator modulo 2**32."""
    state = (seed * 2654435761) & 0xFFFFFFFF | 1
    while True:
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        for _ in range(1 + (state >> 8 & 15)):
            yield legal[(state >> 16) % len(legal)]


def load(game, seed, probability, skip, sound_obs=False):
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", seed)
    ale.setFloat("repeat_action_probability", probability)
    ale.setInt("frame_skip", skip)
    ale.setBool("sound_obs", sound_obs)
    ale.loadROM(ale_py.roms.get_rom_path(game))
    return ale


def trace(game, run):
    ale = load(game, run["seed"], run["repeat_action_probability"], run["frame_skip"])
    if run["mode"] is not None:
        ale.setMode(run["mode"])
        ale.setDifficulty(run["difficulty"])
    ale.reset_game()
    source = actions(run["seed"], [action.value for action in ale.getLegalActionSet()])
    state_crc = screen_crc = 0
    record = bytearray()
    for _ in range(run["acts"]):
        reward = ale.act(next(source))
        outcome = struct.pack("<iiB", reward, ale.lives(), ale.game_over())
        state_crc = zlib.crc32(outcome, zlib.crc32(ale.getRAM().tobytes(), state_crc))
        screen_crc = zlib.crc32(ale.getScreen().tobytes(), screen_crc)
        record += struct.pack("<HH", state_crc & 0xFFFF, screen_crc & 0xFFFF)
        if ale.game_over():
            ale.reset_game()
    return record


def runs(game):
    """Yields two long runs with default mode and difficulty, then a short run for every mode and difficulty."""
    ale = load(game, 0, 0.0, 1)
    default = {"mode": None, "difficulty": None}
    plain = {"repeat_action_probability": 0.0, "frame_skip": 1}
    sticky = {"repeat_action_probability": 0.25, "frame_skip": 4}
    yield {"seed": 1, **plain, **default, "acts": LONG_ACTS}
    yield {"seed": 2, **sticky, **default, "acts": LONG_ACTS}
    for mode in sorted(ale.getAvailableModes()):
        for difficulty in sorted(ale.getAvailableDifficulties()):
            yield {"seed": 3 + mode, **plain, "mode": mode, "difficulty": difficulty, "acts": MODE_ACTS}


def main():
    for game in sys.argv[1:] or sorted(set(ale_py.roms.get_all_rom_ids()) - MULTI_PLAYER_ONLY):
        plan = list(runs(game))
        data = b"".join(trace(game, run) for run in plan)
        (DIRECTORY / f"{game}.trace").write_bytes(json.dumps(plan).encode() + b"\n" + data)
        print(f"{game}: {len(plan)} runs, {sum(run['acts'] for run in plan)} acts", flush=True)


if __name__ == "__main__":
    main()
