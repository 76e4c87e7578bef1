#!/usr/bin/env python3
"""Predicts the efficiency of training on many processes from a measurement by two processes on one machine.

    mpirun -n 2 ale-train bench cluster --games atari57 --num-threads 1 --seconds 60 --json > cluster.json
    benches/cluster.py cluster.json

Assumptions: each process has a machine of its own, as fast as the measured one, and as many environments as the measurement had
in all, so that the work of a process stays the same. In each minibatch every process sends and receives its part of the
gradient to and from each other one (an all-to-all), adds the parts, and sends the sum to all (an all-gather): twice
(n - 1) / n of the gradient and twice n - 1 messages. Messages of a process follow one another. The gradients of the upper layers
of a network for images travel during the rest of the backward pass, the others afterwards. Work between two exchanges varies as
a normal distribution does, independently in each process, so that waiting grows with the expected maximum of n draws. The
rewards, values and actions of a rollout are neglected: they are less than a hundredth of its gradients.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

PROCESSES = [2, 4, 8, 16, 64, 256, 1024]


@dataclass
class Network:
    """The bits that a process sends and receives per second, and the seconds of a message."""

    bandwidth: float
    latency: float

    def __str__(self):
        return f"{self.bandwidth / 1e9:.3g} Gbit/s, {self.latency * 1e6:.3g} us"


# Networks of usual clusters: bits per second, and seconds of latency.
NETWORKS = [Network(25e9, 20e-6), Network(100e9, 20e-6), Network(100e9, 2e-6)]


def expected_maximum(count, steps=20000, bound=8):
    """Returns the expected maximum of `count` draws from the standard normal distribution."""
    normal, width = NormalDist(), 2 * bound / steps
    points = (-bound + (step + 0.5) * width for step in range(steps))
    return sum(x * count * normal.pdf(x) * normal.cdf(x) ** (count - 1) for x in points) * width


@dataclass
class Work:
    """An update of a process, in seconds, and its gradients."""

    compute: float
    # The part of the backward pass during which gradients are transferred.
    backward: float
    # The waiting time of two processes.
    waiting: float
    sums: float
    early_bytes: float
    late_bytes: float

    def exchanging(self, processes, network):
        """Returns the time that the exchange takes from an update."""

        def time(size):
            transfer = 2 * (processes - 1) / processes * size * 8 / network.bandwidth
            return transfer + self.sums * 2 * (processes - 1) * network.latency if size else 0

        return max(0, time(self.early_bytes) - self.backward) + time(self.late_bytes)

    def efficiency(self, processes, network):
        """Returns the part of an update in which a process computes."""
        waiting = self.waiting * expected_maximum(processes) / expected_maximum(2)
        return self.compute / (self.compute + self.exchanging(processes, network) + waiting)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", type=Path, help="the output of ale-train bench cluster --json")
    alone, two = json.loads(parser.parse_args().measurement.read_text(encoding="utf-8"))["points"][:2]
    gradients = (two["sums_per_update"], two["early_bytes_per_update"], two["bytes_per_update"])
    here = Network(8 * two["network"]["bandwidth"], two["network"]["latency"])

    compute = alone["seconds_per_update"] - alone["exchanging"]
    half = Work(compute / 2, two["backward"], two["waiting"], *gradients)
    print(f"2 processes on this machine, {here}:")
    print(f"  exchanging: {half.exchanging(2, here):.4f} s predicted, {two['exchanging']:.4f} s measured")
    print(f"  efficiency: {half.efficiency(2, here):.3f} predicted, {two['efficiency']:.3f} measured\n")

    # A process with twice the environments of each of the two.
    whole = Work(compute, 2 * two["backward"], 2 * two["waiting"], *gradients)
    networks = [here, *NETWORKS]
    print("| processes | " + " | ".join(map(str, networks)) + " |")
    print("| --- |" + " --- |" * len(networks))
    for count in PROCESSES:
        cells = (f"{whole.efficiency(count, network):.3f}" for network in networks)
        print(f"| {count} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
