"""Prints the estimates of rliable (Agarwal et al. 2021) for generated scores, a reference for src/report/aggregate.rs.

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

# Numbers of games and runs per game. Scores are log-normal around human level, like those of agents.
SHAPES = [(1, 30), (4, 3), (5, 4), (26, 5), (57, 3), (57, 1)]


def scores(games, runs):
    generator = np.random.default_rng(1000 * games + runs)
    level = generator.lognormal(0.0, 1.0, (1, games))
    return np.round(level * generator.lognormal(0.0, 0.4, (runs, games)) - 0.2, 6)


def case(games, runs):
    table = scores(games, runs)
    estimates = {}
    for name, aggregate in AGGREGATES.items():
        point, interval = library.get_interval_estimates(
            {"runs": table},
            lambda resampled: np.array([aggregate(resampled)]),
            reps=REPETITIONS,
            random_state=np.random.RandomState(1),
        )
        low, high = interval["runs"][:, 0]
        estimates[name] = {"value": float(point["runs"][0]), "low": float(low), "high": float(high)}
    return {"scores": table.T.tolist(), "estimates": estimates}


print(json.dumps([case(games, runs) for games, runs in SHAPES]).replace('{"scores"', '\n{"scores"'))
