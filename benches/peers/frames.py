#!/usr/bin/env python3
"""Frames per second of ale-train beside those of ale-py and EnvPool, interleaved in one run.

    pip install ale-py==0.12.1 envpool gymnasium numpy
    cargo build --release -p vector --example throughput
    python benches/peers/frames.py [--rounds 5] [--seconds 2] [--num-envs 32] [--num-threads 2] [GAME ...]

`atari57` stands for its 57 games. Three ratios a game: `emulator`, the act loop of one game on one thread beside ale-py's;
`vector`, a vector environment with the standard preprocessing (frame skip 4, 84x84 grey, max-pool, stack of 4) beside
ale-py's AtariVectorEnv; and the same beside EnvPool's. All sides draw a random minimal action for every frame or step. Each
warms up before it is measured, and the first round is dropped. Machines are noisy: read the ratios, not the rates.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
import tomllib

import ale_py
import envpool
import numpy as np
from ale_py.vector_env import AtariVectorEnv

ROOT = pathlib.Path(__file__).parents[2]
THROUGHPUT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/examples/throughput"
KINDS = ["emulator", "vector", "envpool"]
# Steps before a measurement begins.
WARM_UP = 10
GAMES = ["pong", "breakout", "space_invaders", "ms_pacman", "seaquest", "qbert", "beam_rider", "enduro"]


def ours(game, options):
    command = [THROUGHPUT, game, options.num_envs, options.num_threads, options.seconds]
    line = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    return json.loads(line)


def emulator(game, seconds):
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", 1)
    ale.loadROM(ale_py.roms.get_rom_path(game))
    actions = ale.getMinimalActionSet()
    choices = np.random.default_rng(1).integers(len(actions), size=1 << 16).tolist()
    start, frames = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(100):
            ale.act(actions[choices[frames & 0xFFFF]])
            frames += 1
            if ale.game_over():
                ale.reset_game()
    return frames / (time.perf_counter() - start)


def vector(game, options):
    envs = AtariVectorEnv(game, num_envs=options.num_envs, num_threads=options.num_threads)
    envs.reset(seed=1)
    random = np.random.default_rng(1)
    actions = random.integers(envs.single_action_space.n, size=(1024, options.num_envs))
    for step in range(WARM_UP):
        envs.step(actions[step])
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < options.seconds:
        envs.step(actions[steps & 1023])
        steps += 1
    rate = 4 * steps * options.num_envs / (time.perf_counter() - start)
    envs.close()
    return rate


def pool(game, options):
    name = "".join(map(str.capitalize, game.split("_"))) + "-v5"
    envs = envpool.make(name, env_type="gymnasium", num_envs=options.num_envs, num_threads=options.num_threads)
    envs.reset()
    random = np.random.default_rng(1)
    actions = random.integers(envs.action_space.n, size=(1024, options.num_envs), dtype=np.int32)
    for step in range(WARM_UP):
        envs.step(actions[step])
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < options.seconds:
        envs.step(actions[steps & 1023])
        steps += 1
    return 4 * steps * options.num_envs / (time.perf_counter() - start)


def atari57():
    with open(ROOT / "envs/ale/src/games/games.toml", "rb") as rows:
        return [row["id"] for row in tomllib.load(rows)["game"] if row.get("atari57")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=GAMES, metavar="GAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--num-threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    rows = []
    if options.games == ["atari57"]:
        options.games = atari57()
    for game in options.games:
        ratios = {kind: [] for kind in KINDS}
        rates = []
        for round_ in range(options.rounds + 1):
            mine = ours(game, options)
            mine["envpool"] = mine["vector"]
            theirs = {
                "emulator": emulator(game, options.seconds),
                "vector": vector(game, options),
                "envpool": pool(game, options),
            }
            if round_ == 0:
                continue
            for kind, values in ratios.items():
                values.append(mine[kind] / theirs[kind])
            rates.append({kind: (mine[kind], theirs[kind]) for kind in ratios})
        row = {"game": game}
        for kind, values in ratios.items():
            row[kind] = {
                "ratio": statistics.median(values),
                "lowest": min(values),
                "highest": max(values),
                "ale_train": statistics.median(rate[kind][0] for rate in rates),
                "peer": statistics.median(rate[kind][1] for rate in rates),
            }
        rows.append(row)
        if not options.json:
            shown = (
                f"{kind} {row[kind]['ale_train']:8,.0f} / {row[kind]['peer']:8,.0f} fps = {row[kind]['ratio']:.2f} "
                f"({row[kind]['lowest']:.2f} to {row[kind]['highest']:.2f})"
                for kind in ratios
            )
            print(f"{game:16}", "   ".join(shown), flush=True)
    means = {kind: math.exp(statistics.fmean(math.log(row[kind]["ratio"]) for row in rows)) for kind in KINDS}
    extremes = {kind: sorted((row[kind]["ratio"], row["game"]) for row in rows) for kind in KINDS}
    if options.json:
        json.dump({"options": vars(options), "games": rows, "geometric_mean": means}, sys.stdout, indent=1)
    else:
        for kind, mean in means.items():
            (least, slowest), (most, fastest) = extremes[kind][0], extremes[kind][-1]
            print(f"{kind}: geometric mean {mean:.2f}, from {least:.2f} ({slowest}) to {most:.2f} ({fastest})")


if __name__ == "__main__":
    main()
