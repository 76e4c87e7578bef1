#!/usr/bin/env python3
"""Trains presets with several seeds and keeps the runs in benches/results/runs.

    benches/results/measure.py harvest-ppo harvest-dqn --seeds 11 12 13
    benches/results/measure.py mujoco-ppo --games Hopper-v5 Ant-v5

Runs are made one after the other, on one thread each, in a separate directory (--work). An interrupted run is resumed,
and a complete one is not repeated. `keep.py` copies the files of a run that the repository keeps. With --games each
preset is trained on each game separately.
"""

import argparse
import itertools
import json
import subprocess
from pathlib import Path

from keep import keep, run_name


def make(program, preset, game, seed, settings, work):
    """Starts or continues a run until it is complete. Returns its directory. `game` is None for the games of the preset."""
    run = work / run_name(preset["name"], game, seed)
    if (run / "scores.json").exists() and json.loads((run / "scores.json").read_text())["random"] is not None:
        return run
    if run.exists():
        command = ["resume", run, "--num-threads", "1"]
    else:
        games = [] if game is None else ["--games", game]
        command = [preset["algorithm"], "--preset", preset["name"], *games, "--seed", str(seed), "--num-threads", "1"]
        command += [*(word for setting in settings for word in ("--set", setting)), "--run-dir", run]
    subprocess.run([program, *command, "--quiet"], check=True)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="+", metavar="PRESET")
    parser.add_argument("--seeds", nargs="+", type=int, default=[11, 12, 13], metavar="SEED", help="default: 11 12 13")
    parser.add_argument("--games", nargs="+", default=[None], metavar="GAME", help="games instead of those of the presets")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", dest="settings", help="settings of new runs")
    parser.add_argument("--program", default="ale-train", help="the program; default: ale-train")
    parser.add_argument("--work", type=Path, default=Path("checkpoints"), help="directory of the runs; default: checkpoints")
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.program, "presets", "--json"], check=True, capture_output=True).stdout
    presets = {preset["name"]: preset for preset in json.loads(listed)}
    for name in arguments.presets:
        if name not in presets:
            parser.error(f"there is no preset {name}; `ale-train presets` lists all presets")
    for name in arguments.presets:
        for seed, game in itertools.product(arguments.seeds, arguments.games):
            keep(make(arguments.program, presets[name], game, seed, arguments.settings, arguments.work).resolve())


if __name__ == "__main__":
    main()
