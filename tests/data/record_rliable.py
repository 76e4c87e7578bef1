"""Prints the estimates of rliable (Agarwal et al. 2021) for generated scores, a reference for src/report.

    pip install rliable 'pandas<3'
    python tests/data/record_rliable.py > tests/data/rliable.json

The optional argument is the number of bootstrap repetitions [default: 50,000].
"""

import json
import sys

import numpy as np
from rliable import library, metrics

AGGREGATES = {
    "median": metrics.aggregate_median,
    "IQM": metrics.aggregate_iqm,
    "mean": metrics.aggregate_mean,
    "optimality gap": metrics.aggregate_optimality_gap,
}
REPETITIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
# rliable compares two algorithms slowly, so they are compared in fewer games.
COMPARED_GAMES = 12
COMPARISONS = REPETITIONS // 20

# Numbers of games, of runs per game, and of runs of the other algorithm. Scores are log-normal around human level, like
# those of agents.
SHAPES = [(1, 30, 20), (4, 3, 3), (5, 4, 2), (26, 5, 3), (57, 3, 5), (57, 1, 1)]


def scores(games, runs, other_runs):
    generator = np.random.default_rng(1000 * games + runs)
    level = generator.lognormal(0.0, 1.0, (1, games))
    own = np.round(level * generator.lognormal(0.0, 0.4, (runs, games)) - 0.2, 6)
    other = np.round(level * generator.lognormal(-0.1, 0.4, (other_runs, games)) - 0.2, 6)
    # Some scores are equal.
    other[0, ::2] = own[0, ::2]
    return own, other


def estimate(scores, statistic, repetitions):
    point, interval = library.get_interval_estimates(
        {"runs": scores}, statistic, reps=repetitions, random_state=np.random.RandomState(1)
    )
    low, high = interval["runs"][:, 0]
    return {
        "value": float(point["runs"][0]),
        "low": float(low),
        "high": float(high),
        "repetitions": repetitions,
    }


def case(games, runs, other_runs):
    own, other = scores(games, runs, other_runs)
    estimates = {
        name: estimate(own, lambda resampled: np.array([aggregate(resampled)]), REPETITIONS)
        for name, aggregate in AGGREGATES.items()
    }
    other = other[:, :COMPARED_GAMES]
    improvement = estimate(
        (own[:, :COMPARED_GAMES], other),
        lambda own, other: np.array([metrics.probability_of_improvement(own, other)]),
        COMPARISONS,
    )
    return {
        "scores": own.T.tolist(),
        "estimates": estimates,
        "improvement": {"over": other.T.tolist(), "estimate": improvement},
    }


print(json.dumps([case(*shape) for shape in SHAPES]).replace('{"scores"', '\n{"scores"'))
