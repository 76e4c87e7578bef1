"""Aggregates of human-normalised scores, as in "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (Agarwal
et al., 2021), and their intervals."""

import statistics

RESAMPLES = 2000


def interquartile_mean(scores):
    cut = len(scores) // 4
    return statistics.fmean(sorted(scores)[cut : len(scores) - cut])


def optimality_gap(scores):
    return statistics.fmean(1 - min(1, score) for score in scores)


AGGREGATES = {
    "median": statistics.median, "interquartile mean": interquartile_mean, "optimality gap": optimality_gap
}


def normalised(game, score):
    """Returns a score where 0 is a random player and 1 a human one. `game` has the scores of both."""
    low, high = game["random_score"], game["human_score"]
    return (score - low) / (high - low)


def standard_error(returns):
    return statistics.stdev(returns) / len(returns) ** 0.5


def resample(values, generator):
    """Returns a resample: as many values, drawn with replacement."""
    return generator.choices(values, k=len(values))


def interval(resampled):
    """Returns the bounds of the 95 % percentile interval of the `RESAMPLES` values of a bootstrap."""
    ordered = sorted(resampled)
    return ordered[RESAMPLES // 40], ordered[-RESAMPLES // 40 - 1]
