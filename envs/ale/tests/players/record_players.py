#!/usr/bin/env python3
"""Records the traces of games with several players in this directory from multi-agent-ale-py.

    pip install multi-agent-ale-py==0.1.12 ale-py==0.12.1    # ale-py for its ROMs, on CPython 3.11
    python record_players.py [GAME ...]

A file is one line of JSON that lists the runs, then eight bytes for every `BLOCK` acts of every run. These are a running
CRC-32 over RAM, rewards, lives and terminal flag, and one over the screen, little-endian. Because the CRCs are running
ones, the first block whose bytes differ contains the first act with a different state.

Every run starts with loadROM, sets mode and difficulty, and resets the game. The game is reset again after each act
that ends it. Actions come from `actions` in ../golden/record.py, which ../games/golden.rs reproduces; that of player `i`
has the seed of the run plus `PLAYER_SEED * i`.
"""

import json
import pathlib
import struct
import sys
import zlib
from importlib.metadata import version

import ale_py
import ale_py.roms
import multi_agent_ale_py

for package, expected in {"ale_py": "0.12.1", "multi_agent_ale_py": "0.1.12"}.items():
    assert version(package) == expected, f"the traces require {package} {expected}, found {version(package)}"
multi_agent_ale_py.ALEInterface.setLoggerMode("error")
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
sys.path.append(str(pathlib.Path(__file__).parents[1] / "golden"))
from record import actions

DIRECTORY = pathlib.Path(__file__).parent
GAMES = [
    *("boxing", "combat", "double_dunk", "entombed", "flag_capture", "ice_hockey", "joust", "mario_bros", "maze_craze"),
    *("othello", "pong", "space_invaders", "surround", "tennis", "video_checkers", "warlords", "wizard_of_wor"),
]
BLOCK = 20
LONG_ACTS = 2000
STICKY_ACTS = 500
MODE_ACTS = 200
PLAYER_SEED = 1000
LEGAL = range(18)


def load(game, seed, probability, skip):
    ale = multi_agent_ale_py.ALEInterface()
    ale.setInt(b"random_seed", seed)
    ale.setFloat(b"repeat_action_probability", probability)
    ale.setInt(b"frame_skip", skip)
    ale.loadROM(str(ale_py.roms.get_rom_path(game)).encode())
    return ale


def trace(game, run):
    ale = load(game, run["seed"], run["repeat_action_probability"], run["frame_skip"])
    ale.setMode(run["mode"])
    ale.setDifficulty(run["difficulty"])
    ale.reset_game()
    sources = [actions(run["seed"] + PLAYER_SEED * player, LEGAL) for player in range(run["players"])]
    state_crc = screen_crc = 0
    record = bytearray()
    for act in range(1, run["acts"] + 1):
        rewards = ale.act([next(source) for source in sources])
        lives = [int(lives) for lives in ale.allLives()]
        assert len(rewards) == len(lives) == run["players"]
        outcome = struct.pack(f"<{2 * len(lives)}i?", *map(int, rewards), *lives, bool(ale.game_over()))
        state_crc = zlib.crc32(outcome, zlib.crc32(ale.getRAM().tobytes(), state_crc))
        screen_crc = zlib.crc32(ale.getScreen().tobytes(), screen_crc)
        if act % BLOCK == 0:
            record += struct.pack("<II", state_crc, screen_crc)
        if ale.game_over():
            ale.reset_game()
    return record


def runs(game):
    """Yields long runs of the first and the last mode, a sticky one, and a short one of each mode and difficulty."""
    ale = load(game, 0, 0.0, 1)
    modes = [(players, int(mode)) for players in (2, 3, 4) for mode in ale.getAvailableModes(players)]
    difficulties = [int(difficulty) for difficulty in ale.getAvailableDifficulties()]
    plain = {"repeat_action_probability": 0.0, "frame_skip": 1, "difficulty": difficulties[0]}
    sticky = {"repeat_action_probability": 0.25, "frame_skip": 4, "difficulty": difficulties[-1]}
    for seed, (players, mode) in enumerate(dict.fromkeys([modes[0], modes[-1]]), 1):
        yield {"seed": seed, **plain, "players": players, "mode": mode, "acts": LONG_ACTS}
    players, mode = modes[0]
    yield {"seed": 3, **sticky, "players": players, "mode": mode, "acts": STICKY_ACTS}
    for players, mode in modes:
        for difficulty in difficulties if (players, mode) == modes[0] else difficulties[:1]:
            run = {**plain, "difficulty": difficulty, "players": players, "mode": mode, "acts": MODE_ACTS}
            yield {"seed": 4 + mode, **run}


def main():
    for game in sys.argv[1:] or GAMES:
        plan = list(runs(game))
        data = b"".join(trace(game, run) for run in plan)
        (DIRECTORY / f"{game}.trace").write_bytes(json.dumps(plan).encode() + b"\n" + data)
        print(f"{game}: {len(plan)} runs, {sum(run['acts'] for run in plan)} acts", flush=True)


if __name__ == "__main__":
    main()
