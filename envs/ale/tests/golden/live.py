#!/usr/bin/env python3
"""Compares `ale-train trace` with the installed ale-py, act by act.

    pip install ale-py==0.12.1
    cargo build --release
    python live.py --acts 5000 pong breakout
    python live.py --acts 20000 --frame-skip 4 --repeat-action-probability 0.25 --seed 3

Without games it compares all 104. If an act differs, it prints both sides of the first one and exits with status 1.
"""

import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import zlib

import ale_py

from record import MULTI_PLAYER_ONLY, load

BINARY = pathlib.Path(__file__).parents[4] / "target/release/ale-train"


def expected(game, options, actions):
    """Yields the acts of ale-py as the objects that `ale-train trace` prints."""
    ale = load(game, options.seed, options.repeat_action_probability, options.frame_skip, sound_obs=True)
    if options.mode is not None:
        ale.setMode(options.mode)
    if options.difficulty is not None:
        ale.setDifficulty(options.difficulty)
    ale.reset_game()
    for action in actions:
        if ale.game_over():
            ale.reset_game()
        reward = ale.act(action)
        yield {
            "frame": ale.getFrameNumber(),
            "action": action,
            "reward": reward,
            "lives": ale.lives(),
            "terminal": ale.game_over(),
            "truncated": ale.game_truncated(),
            "ram": ale.getRAM().tobytes().hex(),
            "screen": f"{zlib.crc32(ale.getScreen().tobytes()):08x}",
            "sound": f"{zlib.crc32(ale.getAudio().tobytes()):08x}",
        }


def traced(game, options, actions):
    """Yields the acts of ale-train."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(map(str, actions)))
        file.flush()
        command = [options.binary, "trace", game, "--actions", file.name, "--seed", str(options.seed)]
        for name in ("repeat_action_probability", "frame_skip", "mode", "difficulty"):
            value = getattr(options, name)
            if value is not None:
                command += [f"--{name.replace('_', '-')}", str(value)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            yield from map(json.loads, process.stdout)
        if process.returncode != 0:
            sys.exit(f"{game}: ale-train trace exited with status {process.returncode}")


def compare(game, options):
    """Returns True if both agree on every act."""
    legal = load(game, 0, 0.0, 1).getLegalActionSet()
    chance = random.Random(f"{game} {options.seed}")
    held = ([chance.choice(legal).value] * chance.randint(1, 16) for _ in itertools.count())
    actions = list(itertools.islice(itertools.chain.from_iterable(held), options.acts))
    sides = itertools.zip_longest(expected(game, options, actions), traced(game, options, actions))
    for act, (theirs, ours) in enumerate(sides):
        if theirs != ours:
            print(f"{game}: act {act} differs\n  ale-py:    {theirs}\n  ale-train: {ours}", flush=True)
            return False
    print(f"{game}: {len(actions)} acts equal", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", metavar="GAME")
    parser.add_argument("--acts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frame-skip", type=int, default=1)
    parser.add_argument("--repeat-action-probability", type=float, default=0.25)
    parser.add_argument("--mode", type=int)
    parser.add_argument("--difficulty", type=int)
    parser.add_argument("--binary", type=pathlib.Path, default=BINARY)
    options = parser.parse_args()
    games = options.games or sorted(set(ale_py.roms.get_all_rom_ids()) - MULTI_PLAYER_ONLY)
    differing = [game for game in games if not compare(game, options)]
    print(f"{len(games)} games, {len(games) * options.acts} acts: {len(differing)} games differ {' '.join(differing)}")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
