#!/usr/bin/env python3
"""Predicts the efficiency of training on many processes from a measurement on one machine.

    mpirun -n 2 ale-train bench cluster --games atari57 --num-threads 1 --seconds 60 --json > cluster.json
    benches/cluster.py cluster.json

Assumptions: each process has a machine of its own, as fast as the measured one, and as many environments as the measurement had
in all, so that the work of a process stays the same. In each minibatch every process sends and receives its part of the
gradient to and from each other one (an all-to-all), adds the parts, and sends the sum to all (an all-gather): twice
(n - 1) / n of the gradient and twice n - 1 messages. Messages of a process follow one another; nothing else delays them, and
all processes arrive at the same time. The rewards, values and actions of a rollout are neglected: they are less than a
hundredth of its gradients.
"""

import argparse
import json
from pathlib import Path

PROCESSES = [2, 4, 8, 16, 64, 256, 1024]
# Gigabits a second, and the microseconds of a message.
NETWORKS = [(25, 20), (100, 20), (100, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", type=Path, help="the output of ale-train bench cluster --json")
    alone = json.loads(parser.parse_args().measurement.read_text(encoding="utf-8"))["points"][0]
    seconds, sums, size = alone["seconds_per_update"], alone["sums_per_update"], alone["bytes_per_sum"]
    print(f"an update takes {seconds:.2f} s alone and has {sums:.0f} sums of {size / 1e6:.2f} MB\n")
    print("| processes | " + " | ".join(f"{speed} Gbit/s, {delay} us" for speed, delay in NETWORKS) + " |")
    print("| --- |" + " --- |" * len(NETWORKS))
    for count in PROCESSES:
        cells = []
        for speed, delay in NETWORKS:
            transfer = 2 * (count - 1) / count * size * 8 / (speed * 1e9)
            latency = 2 * (count - 1) * delay * 1e-6
            cells.append(f"{seconds / (seconds + sums * (transfer + latency)):.3f}")
        print(f"| {count} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
