#!/usr/bin/env python3
"""Writes the measured scores and times of presets into configs, from the runs that measure.py has kept.

    benches/results/presets.py [--check]

--check changes nothing and fails if a file differs from the runs. The runs of a preset are those that started from it
and have the name that measure.py gives them. The times of presets without runs are estimated from the speeds that speed.py
has measured.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from keep import run_name
from speed import SPEEDS

RUNS = Path(__file__).parent / "runs"
CONFIGS = Path(__file__).parents[2] / "configs"
# The tags of human-normalised scores; later ones win.
HUMAN_NORMALISED = (
    "charts/human_normalised_median", "evaluation/human_normalised_median", "evaluation/human_normalised"
)
# The greatest number of games whose scores are listed, and whose times are a range.
MANY = 5
DAY = 86_400
# Presets whose fastest runs shared their machine with other work (README.md), so that their times are upper bounds.
UPPER_BOUNDS = {"atari-ppo", "bipedal-walker-ppo", "box2d-ppo", "drq-dqn", "many-pqn", "minigrid-ppo", "mujoco-sac",
                "self-play-ppo"}
SEED = re.compile(r"-s(eed)?(?P<seed>\d+)$")


def number(value):
    """Returns a score in a few digits."""
    if abs(value) < 1:
        return f"{value:.3f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def span(values, form):
    low, high = form(min(values)), form(max(values))
    return low if low == high else f"{low} to {high}"


def seeds_of(results):
    return f"{len(results)} seeds" if len(results) > 1 else "one seed"


def means(results, player, place=0):
    """Returns the mean score of a game, by its place among the games, in each run."""
    return [statistics.fmean(result[player][place]["returns"]) for result in results]


def spread(scores):
    """Returns the mean over seeds, and the standard deviation if there are several."""
    return number(statistics.fmean(scores)) + (f" ± {number(statistics.stdev(scores))}" if len(scores) > 1 else "")


def score(results):
    """Describes the scores of the runs of a preset, each with the human-normalised median if it has several games."""
    seeds = seeds_of(results)
    if any(len(result["agent"]) > 1 for result in results):
        medians = [result["human_normalised"] for result in results]
        frames = f"{results[0]['frames'] / 1e6:.0f} M frames"
        scores = f"median {span(medians, '{:.3f}'.format)} human-normalised"
        return f"{len(results[0]['agent'])} games: {scores} after {frames}, {seeds}"
    return f"{span(means(results, 'agent'), number)}, {seeds}; random player {span(means(results, 'random'), number)}"


def score_of_games(games):
    """Describes the scores of the runs of a preset on several games, with separate runs for each: means over seeds, with their
    standard deviations. Of many games it has the human-normalised median."""
    counts = sorted({len(results) for results in games.values()})
    seeds = f"{span(counts, str)} seeds" if counts != [1] else "one seed"
    if len(games) > MANY:
        scores = [statistics.fmean(result["human_normalised"] for result in results) for results in games.values()]
        return f"{len(games)} games: median {statistics.median(scores):.3f} human-normalised, {seeds}"
    parts = []
    for game, results in games.items():
        scores = means(results, "agent")
        spread = f" +- {number(statistics.stdev(scores))}" if len(scores) > 1 else ""
        parts.append(f"{game.rsplit('-v', 1)[0]} {number(statistics.fmean(scores))}{spread}")
    return f"{', '.join(parts)}; {seeds}"


def duration(seconds):
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 2 * DAY else f"{seconds / DAY:.1f} days"


def span_of_durations(seconds):
    """Describes a range of durations: "21 to 35 seconds"."""
    low, high = duration(min(seconds)), duration(max(seconds))
    if low == high:
        return low
    number, unit = low.split()
    return f"{number if high.endswith(unit) else low} to {high}"


def cores(results):
    """Describes the processor cores that a run or a measurement has used."""
    count = results["num_threads"]
    return {1: "one core", 2: "two cores"}.get(count, f"{count} cores")


def records_of(run):
    """Returns the records of the curves of a run."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def results_of(run):
    """Returns the scores of a run, its time of training in seconds, its threads, and its last human-normalised score: that of
    its game, or the median of its games."""
    results = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    results["num_threads"] = json.loads((run / "run.json").read_text(encoding="utf-8"))["num_threads"]
    for record in records_of(run):
        results["seconds"] = record["seconds"]
        for tag in HUMAN_NORMALISED:
            results["human_normalised"] = record.get(tag, results.get("human_normalised"))
    return results


def runs_of_presets():
    """Returns for each preset its runs: for each game that has separate runs, and for None those of its own games."""
    presets = defaultdict(lambda: defaultdict(list))
    for run in sorted(RUNS.iterdir()):
        preset = json.loads((run / "run.json").read_text(encoding="utf-8"))["preset"]
        results, seed = results_of(run), SEED.search(run.name)
        games = [entry["game"] for entry in results["agent"]]
        for game in [None, *games[: len(games) == 1]]:
            if seed and run.name == run_name(preset, game, seed["seed"]):
                presets[preset][game].append(results)
    return presets


def runs_of_games(preset):
    """Returns the games of a preset with the results of their runs."""
    for game, results in runs_of_presets().get(preset, {}).items():
        yield game or results[0]["agent"][0]["game"], results


def measured():
    """Returns for each preset the lines of its description that follow from its runs."""
    for preset, games in runs_of_presets().items():
        # The fastest runs: those that were disturbed least by other load.
        fastest = [min(results, key=lambda result: result["seconds"]) for results in games.values()]
        seconds = [result["seconds"] for result in fastest]
        bound = "at most " if preset in UPPER_BOUNDS else ""
        if None in games:
            yield preset, {"score": score(games[None]), "time": f"{bound}{duration(min(seconds))} on {cores(fastest[0])}"}
        else:
            # Of many runs, some share their core with other work or are paused.
            each = span_of_durations(seconds) if len(seconds) <= MANY else f"a median of {duration(statistics.median(seconds))}"
            time = f"{bound}{each} per game on {cores(fastest[0])}"
            yield preset, {"score": score_of_games(games), "time": time}


def estimated():
    """Returns for each preset whose speed was measured the estimated time of training."""
    for preset, speed in json.loads(SPEEDS.read_text(encoding="utf-8")).items():
        each = " per game" if len(speed["games"]) == 1 else ""
        seconds = speed["steps"] / speed["median"]
        yield preset, {"time": f"about {duration(seconds)}{each} on {cores(speed)}, estimated"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    stale = []
    for preset, lines in {**dict(estimated()), **dict(measured())}.items():
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
