#!/usr/bin/env python3
"""Frames per second of ale-train beside ale-py's, interleaved in one run.

    pip install ale-py==0.12.1 gymnasium numpy
    cargo build --release -p vector --example throughput
    python benches/peers/frames.py [--rounds 5] [--seconds 2] [GAME ...]

Two figures a game: `emulator`, the act loop of one game on one thread, and `vector`, a vector environment with the
standard preprocessing (frame skip 4, 84x84 grey, max-pool, stack of 4). Both sides draw a random minimal action for
every frame or step. The first round warms up and is dropped. Machines are noisy: read the ratios, not the rates.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import ale_py
import numpy as np
from ale_py.vector_env import AtariVectorEnv

THROUGHPUT = pathlib.Path(__file__).parents[2] / "target/release/examples/throughput"
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
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < options.seconds:
        envs.step(actions[steps & 1023])
        steps += 1
    return 4 * steps * options.num_envs / (time.perf_counter() - start)


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
    for game in options.games:
        ratios = {"emulator": [], "vector": []}
        rates = []
        for round_ in range(options.rounds + 1):
            mine = ours(game, options)
            theirs = {"emulator": emulator(game, options.seconds), "vector": vector(game, options)}
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
                "ale_py": statistics.median(rate[kind][1] for rate in rates),
            }
        rows.append(row)
        if not options.json:
            shown = (
                f"{kind} {row[kind]['ale_train']:8,.0f} / {row[kind]['ale_py']:8,.0f} fps = {row[kind]['ratio']:.2f} "
                f"({row[kind]['lowest']:.2f} to {row[kind]['highest']:.2f})"
                for kind in ratios
            )
            print(f"{game:16}", "   ".join(shown), flush=True)
    means = {
        kind: math.exp(statistics.fmean(math.log(row[kind]["ratio"]) for row in rows)) for kind in ("emulator", "vector")
    }
    if options.json:
        json.dump({"options": vars(options), "games": rows, "geometric_mean": means}, sys.stdout, indent=1)
    else:
        print(f"geometric mean: emulator {means['emulator']:.2f}, vector {means['vector']:.2f}")


if __name__ == "__main__":
    main()
