"""Prints measurements as tables and writes them as JSON."""

import dataclasses
import importlib.metadata
import itertools
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess

import work

# The names of ale-train's sides, by driver.
OURS = {"python": "ale-train (Python)", "rust": "ale-train (Rust)"}


@dataclasses.dataclass(frozen=True)
class Ratio:
    """The median of several rounds, with the minimum and the maximum."""

    lowest: float
    median: float
    highest: float

    @classmethod
    def of(cls, values):
        return cls(min(values), statistics.median(values), max(values))

    def __str__(self):
        return f"{self.median:.2f} ({self.lowest:.2f} to {self.highest:.2f})"


@dataclasses.dataclass(frozen=True)
class Measured:
    work: work.Work
    # The rates of each side, one per round: ale-train's sides, then the peers.
    rates: dict

    def ours(self):
        return [side for side in self.rates if side in OURS.values()]

    def peers(self, ours):
        """Returns the sides that one of ale-train's is compared with: those after it."""
        sides = list(self.rates)
        return sides[sides.index(ours) + 1 :]

    def by_round(self, ours, peer):
        return [mine / theirs for mine, theirs in zip(self.rates[ours], self.rates[peer])]

    def ratios(self, ours):
        return {peer: Ratio.of(self.by_round(ours, peer)) for peer in self.peers(ours)}


def groups(measured):
    """Groups work that differs only in its games, for each of ale-train's sides."""
    for ours in OURS.values():
        titles = dict.fromkeys(one.work.title for one in measured if ours in one.rates)
        for title in titles:
            yield title, ours, [one for one in measured if one.work.title == title]


def tables(measured):
    for title, ours, group in groups(measured):
        peers = group[0].peers(ours)
        unit = group[0].work.unit
        rows = [["", ours, *itertools.chain.from_iterable((peer, "ratio") for peer in peers)]]
        for one in group:
            ratios = one.ratios(ours)
            cells = [(rate(one, peer), str(ratios[peer])) for peer in peers]
            rows.append([one.work.subject, rate(one, ours), *itertools.chain.from_iterable(cells)])
        print(f"\n{title} [{unit}]")
        print_columns(rows)


def rate(one, side):
    median = statistics.median(one.rates[side])
    return f"{median:,.0f}" if median >= 100 else f"{median:.1f}"


def summary(measured):
    rows = [["", "ratio", "minimum", "geometric mean", "maximum"]]
    for title, ours, group in groups(measured):
        for peer in group[0].peers(ours):
            medians = sorted((one.ratios(ours)[peer].median, one.work.subject) for one in group)
            (least, slowest), (most, fastest) = medians[0], medians[-1]
            rounds = zip(*(one.by_round(ours, peer) for one in group))
            mean = Ratio.of([geometric_mean(ratios) for ratios in rounds])
            rows.append([title, f"{ours} / {peer}", f"{least:.2f} {slowest}", str(mean), f"{most:.2f} {fastest}"])
    print("\nover all games: median of the rounds (minimum to maximum)")
    print_columns(rows)


def print_columns(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        print("  ".join([first.ljust(widths[0]), *cells]).rstrip())


def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def write_json(measured, chosen):
    packages = ["ale-py", "envpool", "gymnasium", "jax", "numpy"]
    found = {
        "commit": command(["git", "rev-parse", "HEAD"]),
        "changed_files": command(["git", "status", "--porcelain", "--untracked-files=no"]).splitlines(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "rounds": chosen.rounds,
        "seconds": chosen.seconds,
        "works": [
            {
                "kind": one.work.kind,
                "games": list(one.work.games),
                "shape": str(one.work.shape) if one.work.shape else None,
                "view": str(one.work.view) if one.work.view else None,
                "unit": one.work.unit,
                "rates": one.rates,
                "ratios": {
                    ours: {peer: dataclasses.asdict(ratio) for peer, ratio in one.ratios(ours).items()}
                    for ours in one.ours()
                },
            }
            for one in measured
        ],
    }
    chosen.json.write_text(json.dumps(found, indent=1) + "\n")


def command(words):
    done = subprocess.run(words, cwd=work.ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def processor():
    """Returns the model name of the processor, if the system reports it."""
    with_names = pathlib.Path("/proc/cpuinfo")
    lines = with_names.read_text().splitlines() if with_names.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
