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

OURS = "ale-train"


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
    # The rates of each side, one per round.
    rates: dict

    def by_round(self, peer):
        return [mine / theirs for mine, theirs in zip(self.rates[OURS], self.rates[peer])]

    def ratios(self):
        return {peer: Ratio.of(self.by_round(peer)) for peer in self.rates if peer != OURS}


def groups(measured):
    """Groups work that differs only in its games."""
    key = [work.title for work in (one.work for one in measured)]
    for title in dict.fromkeys(key):
        yield title, [one for one, its in zip(measured, key) if its == title]


def tables(measured):
    for title, group in groups(measured):
        peers = list(group[0].ratios())
        unit = group[0].work.unit
        rows = [["", OURS, *itertools.chain.from_iterable((peer, "ratio") for peer in peers)]]
        for one in group:
            ratios = one.ratios()
            cells = [(rate(one, peer), str(ratios[peer])) for peer in peers]
            rows.append([one.work.subject, rate(one, OURS), *itertools.chain.from_iterable(cells)])
        print(f"\n{title} [{unit}]")
        print_columns(rows)


def rate(one, side):
    median = statistics.median(one.rates[side])
    return f"{median:,.0f}" if median >= 100 else f"{median:.1f}"


def summary(measured):
    rows = [["", "peer", "minimum", "geometric mean", "maximum"]]
    for title, group in groups(measured):
        for peer in group[0].ratios():
            medians = sorted((one.ratios()[peer].median, one.work.subject) for one in group)
            (least, slowest), (most, fastest) = medians[0], medians[-1]
            rounds = zip(*(one.by_round(peer) for one in group))
            mean = Ratio.of([geometric_mean(ratios) for ratios in rounds])
            rows.append([title, peer, f"{least:.2f} {slowest}", str(mean), f"{most:.2f} {fastest}"])
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
    packages = ["ale-py", "envpool", "gymnasium", "numpy"]
    json.dump(
        {
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
                    "unit": one.work.unit,
                    "rates": one.rates,
                    "ratios": {peer: dataclasses.asdict(ratio) for peer, ratio in one.ratios().items()},
                }
                for one in measured
            ],
        },
        chosen.json,
        indent=1,
    )
    chosen.json.write("\n")


def command(words):
    done = subprocess.run(words, cwd=work.ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def processor():
    """Returns the model name of the processor, if the system reports it."""
    with_names = pathlib.Path("/proc/cpuinfo")
    lines = with_names.read_text().splitlines() if with_names.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
