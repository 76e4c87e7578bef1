"""The generated tables of README.md: the scores of all kept runs, and the comparisons of learners."""

import fnmatch
import itertools
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

from aggregates import standard_error
from presets import RUNS, SEED, means, number, results_of

RESULTS = Path(__file__).parent
# The kinds of work that benches/peers/learner measures, and their titles.
WORK = {
    "act": "acting",
    "update": "learning",
    "loop": "whole loop",
    "atari-dqn gradient": "DQN's gradient",
    "rainbow-dqn gradient": "Rainbow's gradient",
    "atari100k-dqn gradient": "data-efficient Rainbow's gradient",
}


def commit_of(path):
    """Returns the short commit of a run or measurement; "+" stands for uncommitted changes."""
    commit, _, changes = json.loads(path.read_text(encoding="utf-8"))["commit"].partition("+")
    return commit[:7] + ("+" if changes else "")


def run_lines():
    """Returns a row for the runs that differ only in their seeds."""
    yield "| directories | seeds | commit, or that of each seed | return of each seed | standard errors | random player |"
    yield "| --- | --- | --- | --- | --- | --- |"
    groups = defaultdict(list)
    for run in sorted(RUNS.iterdir()):
        seed = SEED.search(run.name)
        groups[run.name[: seed.start("seed")]].append((seed["seed"], commit_of(run / "run.json"), results_of(run)))
    for name, runs in groups.items():
        seeds, commits, results = zip(*runs)
        commits = commits if len(set(commits)) > 1 else commits[:1]
        yield f"| `{name}*` | {', '.join(seeds)} | {', '.join(commits)} | {' | '.join(score_cells(results))} |"


def score_cells(results):
    """Returns the scores of runs, their standard errors, and the scores of random players."""
    if results[0].get("human_normalised") is not None and len(results[0]["agent"]) > 1:
        medians = ", ".join(f"{result['human_normalised']:.3f}" for result in results)
        return [f"median of {len(results[0]['agent'])} games: {medians}", "", ""]
    row = lambda values: ", ".join(map(number, values))
    places = range(len(results[0]["agent"]))
    errors = lambda place: (standard_error(result["agent"][place]["returns"]) for result in results)
    columns = [lambda place: means(results, "agent", place), errors, lambda place: means(results, "random", place)]
    return ["; ".join(row(column(place)) for place in places) for column in columns]


def learner_lines():
    """Returns for each comparison of learners the ratios of ale-train's rates to the others': the median of the rounds, with the
    minimum and maximum of the whole loop."""
    yield f"| file | threads | ale-train | against | {' | '.join(WORK.values())} |"
    yield "| --- |" + " --- |" * (len(WORK) + 3)
    for path in sorted(RESULTS.glob("*-learner-*.json")):
        rates = json.loads(path.read_text(encoding="utf-8"))["rates"]
        sides = {side: None for kind in rates.values() for side in kind}
        ours = [side for side in sides if side.startswith("ale-train")]
        peers = [side for side in sides if side not in ours]
        for threads, mine, peer in itertools.product("12", ours, peers):
            cells = [ratio(rates.get(f"{work} {threads}", {}), mine, peer, work == "loop") for work in WORK]
            if any(cells):
                precision = "bf16" if "bf16" in mine else "f32"
                yield f"| `{path.name}` | {threads} | {precision} | {peer} | {' | '.join(cells)} |"


def ratio(rates, mine, peer, has_range):
    if mine not in rates or peer not in rates:
        return ""
    ratios = [ours / theirs for ours, theirs in zip(rates[mine], rates[peer])]
    text = f"{statistics.median(ratios):.2f}"
    return f"{text} ({min(ratios):.2f} to {max(ratios):.2f})" if has_range else text


def files_without_description(text):
    """Returns the files of single measurements that README.md does not name. Files that differ in their extensions count as one."""
    names = [name.rsplit(".", 1)[0] for name in re.findall("`([^`]+)`", text)]
    files = sorted(path.stem for path in RESULTS.glob("20*"))
    return [file for file in files if not any(fnmatch.fnmatchcase(file, name) for name in names)]
