#!/usr/bin/env python3
"""Measures throughput and latency as the number of ROMs in one vector environment grows.

    benches/scaling.py --games atari57 --sweep 1..256 --runs 10 --plot scaling.svg
    benches/scaling.py --games pong breakout --sweep 1..8 --num-threads 2 --json

Measures 1, 2, 4, 8, ... ROMs and the ends of the range, with one environment each: every game once, then from the first
game again. Standard preprocessing (frame skip 4, 84x84 grey, max-pool, stack of 4) and random actions. Latency is the
mean time of a batch of all environments. Prints means over the runs with 95 % confidence intervals (Student's t).
Requires Linux, Rust, Python 3.11 and, for --plot, matplotlib.
"""

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

from threads import FRAMES, ROOT, build

sys.path.append(str(ROOT / "benches/peers"))
import work

# Each ROM takes about 100 KB at every point of the sweep.
MOST_ROMS = 65_536
# The 97.5 % quantiles of Student's t distribution with 1, 2, ... degrees of freedom.
QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)


def main():
    options = arguments()
    program = build()
    points = []
    for num_roms in options.sweep:
        print(f"{num_roms} ROMs", file=sys.stderr)
        rates = measure(program, options, num_roms)
        points.append({
            "num_roms": num_roms,
            "unique_games": min(num_roms, len(options.games)),
            "frames_per_second": estimate(rates),
            "latency_us": estimate([num_roms * FRAMES / rate * 1e6 for rate in rates]),
        })
    if options.json:
        chosen = {name: getattr(options, name) for name in ("games", "num_threads", "runs", "seconds")}
        print(json.dumps({**chosen, "points": points}, indent=2))
    else:
        print_table(points)
    if options.plot:
        plot(points, options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=["harvest"], metavar="GAME", help="ids, or atari57 [default: harvest]")
    parser.add_argument("--sweep", type=counts, required=True, metavar="FIRST..LAST", help="numbers of ROMs, inclusive")
    parser.add_argument("--runs", type=int, default=10, help="measurements of each number [default: 10]")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of a measurement [default: 2]")
    parser.add_argument("--num-threads", type=int, default=os.cpu_count(), help="[default: all cores]")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg|png", help="plot the sweep")
    options = parser.parse_args()
    if options.runs < 2:
        parser.error(f"--runs {options.runs} is not possible: a confidence interval needs 2 or more")
    if options.games == ["atari57"]:
        options.games = work.atari57()
    return options


def counts(text):
    """Parses a range into its ends and the powers of two between them."""
    ends = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    first, last = map(int, ends.groups()) if ends else (0, 0)
    if not 1 <= first <= last <= MOST_ROMS:
        raise argparse.ArgumentTypeError(f"{text} is invalid: it must be two numbers in 1..={MOST_ROMS}, such as 1..256")
    powers = (1 << bit for bit in range(last.bit_length()))
    return sorted({first, last, *(power for power in powers if first <= power <= last)})


def measure(program, options, num_roms):
    """Returns the frames per second of each run."""
    games = ",".join(itertools.islice(itertools.cycle(options.games), num_roms))
    arguments = [program, f"vector:{games}:1x{options.num_threads}"]
    with subprocess.Popen(arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        rates = []
        for _ in range(options.runs):
            print(0, options.seconds, file=process.stdin, flush=True)
            rates.append(float(process.stdout.readline()))
        process.stdin.close()
    return rates


def estimate(values):
    """Returns the mean with its 95 % confidence interval."""
    mean, degrees = statistics.fmean(values), len(values) - 1
    # Beyond the table the first terms of the expansion around the normal quantile are accurate to 0.003.
    quantile = QUANTILES[degrees - 1] if degrees <= len(QUANTILES) else 1.96 + 2.37 / degrees
    half = quantile * statistics.stdev(values) / len(values) ** 0.5
    return {"mean": mean, "low": mean - half, "high": mean + half}


def print_table(points):
    print(f"{'ROMs':>6}  {'games':>5}  {'frames/s':>10}  {'+-':>8}  {'latency us':>10}  {'+-':>8}")
    for point in points:
        cells = [f"{point['num_roms']:6}  {point['unique_games']:5}"]
        for key in ("frames_per_second", "latency_us"):
            mean, high = point[key]["mean"], point[key]["high"]
            cells.append(f"{mean:10,.0f}  {high - mean:8,.0f}")
        print("  ".join(cells))


def plot(points, options):
    """Plots throughput against latency, and both against the number of ROMs."""
    from matplotlib import pyplot

    roms = [point["num_roms"] for point in points]
    series = lambda key, end: [point[key][end] * 1e-3 for point in points]
    latency = series("latency_us", "mean")
    panels = [
        ("latency of a batch [ms]", latency, "throughput [1000 frames/s]", "frames_per_second"),
        ("ROMs", roms, "throughput [1000 frames/s]", "frames_per_second"),
        ("ROMs", roms, "latency of a batch [ms]", "latency_us"),
    ]
    figure, axes = pyplot.subplots(1, len(panels), figsize=(15, 5), layout="constrained")
    figure.suptitle(f"{len(options.games)} games, {options.num_threads} threads, {options.runs} runs, 95 % confidence")
    for axis, (x_label, x, y_label, key) in zip(axes, panels):
        axis.plot(x, series(key, "mean"), marker="o")
        axis.fill_between(x, series(key, "low"), series(key, "high"), alpha=0.25)
        axis.set(xscale="log", xlabel=x_label, ylabel=y_label, ylim=(0, None))
    for point, x in zip(points, latency):
        axes[0].annotate(point["num_roms"], (x, point["frames_per_second"]["mean"] * 1e-3))
    figure.savefig(options.plot)


if __name__ == "__main__":
    main()
