#!/usr/bin/env python3
"""Copies the small files of finished runs into benches/results/runs, with thinned curves.

    benches/results/keep.py RUN [RUN ...]

RUN is the directory of a run. The copy has its name, config.toml, run.json, scores.json, and those curves of metrics.jsonl
that `ale-train report` shows, with the last values of each of 100 parts of the training.
"""

import argparse
import json
import shutil
from pathlib import Path

RESULTS = Path(__file__).parent / "runs"
POINTS = 100
# The beginnings of the tags that `ale-train report` shows.
TAGS = ("charts/recent_return", "charts/human_normalised", "charts/SPS", "evaluation/", "losses/", "self_play/")
# The losses of single games are left out, because there are many.
OF_ALL_GAMES = "losses/"


def run_name(preset, game, seed):
    """Returns the name of the run of a preset: on its own games, or on the one game that is given."""
    return f"{preset}-seed{seed}" if game is None else f"{preset}-{short(game)}-s{seed}"


def short(game):
    """Returns the id of a game without its package and its version, in lower case."""
    return game.rsplit(":", 1)[-1].rsplit("-v", 1)[0].lower()


def is_kept(tag):
    if "/" not in tag:
        return True
    return tag.startswith(TAGS) and not (tag.startswith(OF_ALL_GAMES) and tag.count("/") > 1)


def rounded(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value


def thinned(records):
    """Merges the records of each of POINTS parts of the training; later values win."""
    total = max(record["frames"] for record in records)
    parts = {}
    for record in records:
        part = parts.setdefault(min(record["frames"] * POINTS // total, POINTS - 1), {})
        part.update((tag, rounded(value)) for tag, value in record.items() if is_kept(tag))
    return list(parts.values())


def keep(run):
    target = RESULTS / run.name
    target.mkdir(parents=True, exist_ok=True)
    for name in ("config.toml", "run.json", "scores.json"):
        shutil.copyfile(run / name, target / name)
    with open(run / "metrics.jsonl", encoding="utf-8") as lines:
        records = thinned([json.loads(line) for line in lines])
    with open(target / "metrics.jsonl", "w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, separators=(",", ":")) + "\n")
    size = sum(file.stat().st_size for file in target.iterdir())
    print(f"{target}: {len(records)} records, {size / 1e3:.0f} kB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="the directory of a finished run")
    for run in parser.parse_args().runs:
        keep(run.resolve())
