"""The table of agents that learned by self-play, from the kept runs of the preset."""

import json
import statistics
from pathlib import Path

RUNS = Path(__file__).parent / "runs"
PRESET = "self-play-ppo"


def last_value(run, tag):
    """Returns the last value of a curve."""
    records = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [record[tag] for record in records if tag in record][-1]


def row(run):
    game, seed = run.name.removeprefix(f"{PRESET}-").rsplit("-s", 1)
    (scores,) = json.loads((run / "scores.json").read_text(encoding="utf-8"))["agent"]
    returns = scores["returns"]
    won = f"{sum(score > 0 for score in returns)} of {len(returns)}"
    rate, rating = last_value(run, "self_play/win_rate"), last_value(run, "self_play/elo")
    return f"| {game} | {seed} | {won} | {statistics.fmean(returns):.1f} | {min(returns):.0f} | {rate:.2f} | {rating:.0f} |"


def lines():
    header = [
        "| game | seed | won against a random player | mean return | lowest return | win rate against earlier versions | Elo |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    return header + [row(run) for run in sorted(RUNS.glob(f"{PRESET}-*@*p-s*"))]
