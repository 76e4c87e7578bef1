#!/usr/bin/env python3
"""Writes the measured scores and times of presets into configs, from the runs that measure.py has kept.

    benches/results/presets.py [--check]

--check changes nothing and fails if a file differs from the runs.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

RUNS = Path(__file__).parent / "runs"
CONFIGS = Path(__file__).parents[2] / "configs"
RUN_NAME = re.compile(r"(?P<preset>.+)-seed(?P<seed>\d+)")


def number(value):
    """Returns a score in a few digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def span(values, form):
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def score(results):
    """Describes the scores of the runs of a preset, each with the human-normalised median if it has several games."""
    seeds = f"{len(results)} seeds" if len(results) > 1 else "one seed"
    if any(len(result["agent"]) > 1 for result in results):
        medians = [result["human_normalised_median"] for result in results]
        frames = f"{results[0]['frames'] / 1e6:.0f} M frames"
        scores = f"median {span(medians, '{:.3f}'.format)} human-normalised"
        return f"{len(results[0]['agent'])} games: {scores} after {frames}, {seeds}"
    mean = lambda player: [statistics.fmean(result[player][0]["returns"]) for result in results]
    return f"{span(mean('agent'), number)}, {seeds}; random player {span(mean('random'), number)}"


def duration(seconds):
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def results_of(run):
    """Returns the scores of a run, its time of training in seconds, and its last human-normalised median."""
    results = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        results["seconds"] = record["seconds"]
        for tag in ("charts/human_normalised_median", "evaluation/human_normalised_median"):
            results["human_normalised_median"] = record.get(tag, results.get("human_normalised_median"))
    return results


def measured():
    """Returns for each preset the lines of its description that follow from its runs."""
    runs = defaultdict(list)
    for run in sorted(RUNS.iterdir()):
        if name := RUN_NAME.fullmatch(run.name):
            runs[name["preset"]].append(results_of(run))
    for preset, results in runs.items():
        # The run with the least load beside it.
        seconds = min(result["seconds"] for result in results)
        yield preset, {"score": score(results), "time": f"{duration(seconds)} on one core"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    stale = []
    for preset, lines in measured():
        path = CONFIGS / f"{preset}.toml"
        text = updated = path.read_text(encoding="utf-8")
        for key, value in lines.items():
            updated, count = re.subn(f'^{key} = ".*"$', f'{key} = "{value}"', updated, count=1, flags=re.MULTILINE)
            assert count == 1, f"{path} has no {key}"
        if updated != text:
            stale.append(path.name)
            if not check:
                path.write_text(updated, encoding="utf-8")
    if check and stale:
        sys.exit(f"benches/results/presets.py changes {', '.join(stale)}")


if __name__ == "__main__":
    main()
