#!/usr/bin/env python3
"""Measures the training speed of presets that were not trained to the end, and writes preset-speeds.json.

    benches/results/speed.py atari-dqn many-dqn machado-ppo

Each preset is measured on one thread, with the games of its file (by default the built-in one) and its environments, by
`ale-train bench learner`. `presets.py` estimates the times of training from the medians. Presets that are not named keep
their measurements.
"""

import argparse
import json
import statistics
import subprocess
import tomllib
from pathlib import Path

SPEEDS = Path(__file__).parent / "preset-speeds.json"
# A short warm-up: a DQN is measured once it learns, with a replay that fills quickly.
SHORT_WARM_UP = {"dqn": ("dqn.learning_starts=2000", "dqn.buffer_size=20000")}


def output(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def measure(program, preset, rounds, seconds):
    """Returns the speed of a preset on one thread, in environment steps per second, and the steps of its training."""
    experiment = tomllib.loads(output(program, "config", "--preset", preset))
    environments = experiment["environments"]
    command = ["bench", "learner", "--json", "--preset", preset, "--games", ",".join(environments["games"])]
    command += ["--num-envs", str(environments["num_envs"]), "--num-threads", "1", "--seconds", str(seconds)]
    for setting in SHORT_WARM_UP.get(experiment["experiment"]["algorithm"], ()):
        command += ["--set", setting]
    results = [json.loads(output(program, *command)) for _ in range(rounds)]
    speeds = [round(result["steps_per_second"], 1) for result in results]
    print(f"{preset}: {min(speeds)} to {max(speeds)} steps per second", flush=True)
    return {
        "games": results[0]["games"],
        "steps": experiment["experiment"]["total_frames"] // environments["frame_skip"],
        "num_threads": 1,
        "steps_per_second": speeds,
        "median": statistics.median(speeds),
        "commit": output(program, "--version").split("commit: ")[1].split()[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="+", metavar="PRESET")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--seconds", type=float, default=5, help="duration of each measurement; default: 5")
    parser.add_argument("--program", default="ale-train", help="the program; default: ale-train")
    arguments = parser.parse_args()
    speeds = json.loads(SPEEDS.read_text(encoding="utf-8")) if SPEEDS.exists() else {}
    for preset in arguments.presets:
        speeds[preset] = measure(arguments.program, preset, arguments.rounds, arguments.seconds)
        SPEEDS.write_text(json.dumps(dict(sorted(speeds.items())), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
