"""The tables of Atari 100k."""

import random
import statistics

from aggregates import AGGREGATES, RESAMPLES, interval, normalised, resample, standard_error
from presets import means, number, runs_of_games, spread

PRESET = "atari100k-dqn"
# Published agents to compare with, by the ids of their columns.
PUBLISHED = {"der": "data-efficient Rainbow", "otrainbow": "overtrained Rainbow", "drq": "DrQ"}
MEASURES = {"mean": statistics.fmean, **AGGREGATES}


def lines(games, published):
    """Returns the tables of all games together, of those with several seeds, and of each game. `games` has the random and human
    scores."""
    runs = {game: (games[game], results) for game, results in runs_of_games(PRESET)}
    yield from aggregates_of_all(runs, published)
    yield ""
    yield from aggregates_of_seeds(runs, published)
    yield ""
    yield from each_game(runs, published)


def score(game, results):
    """Returns the human-normalised mean score over the seeds of a game."""
    return normalised(game, statistics.fmean(means(results, "agent")))


def normalised_column(runs, published, column):
    """Returns the human-normalised scores of a published agent in the games of the runs."""
    return [normalised(game, published[name][column]) for name, (game, _) in runs.items()]


def aggregates_of_all(runs, published):
    """Returns a row for each agent."""
    scores = {f"`{PRESET}`, {len(runs)} games": [score(*run) for run in runs.values()]}
    for column, name in PUBLISHED.items():
        scores[f"{name}, published"] = normalised_column(runs, published, column)
    yield f"| human-normalised | {' | '.join(MEASURES)} | games above the human player |"
    yield f"| --- |{' --- |' * (len(MEASURES) + 1)}"
    for name, values in scores.items():
        cells = [f"{aggregate(values):.3f}" for aggregate in MEASURES.values()]
        yield f"| {name} | {' | '.join(cells)} | {sum(value > 1 for value in values)} |"


def aggregates_of_seeds(runs, published):
    """Returns a row for each aggregate over the games with several seeds. Its interval is that of a stratified bootstrap, which
    resamples the seeds of each game."""
    runs = {name: run for name, run in runs.items() if len(run[1]) > 1}
    generator = random.Random(1)
    resampled = [[score(game, resample(results, generator)) for game, results in runs.values()] for _ in range(RESAMPLES)]
    columns = [f"`{PRESET}`", "95 % interval", *PUBLISHED.values()]
    yield f"| human-normalised, {len(runs)} games | {' | '.join(columns)} |"
    yield f"| --- |{' --- |' * len(columns)}"
    for name, aggregate in MEASURES.items():
        low, high = interval(map(aggregate, resampled))
        cells = [f"{aggregate([score(*run) for run in runs.values()]):.3f}", f"{low:.3f} to {high:.3f}"]
        cells += [f"{aggregate(normalised_column(runs, published, column)):.3f}" for column in PUBLISHED]
        yield f"| {name} | {' | '.join(cells)} |"


def each_game(runs, published):
    columns = ["game", "return", "standard error", "seeds", "random player", "human-normalised"]
    yield f"| {' | '.join(columns)} | {' | '.join(PUBLISHED.values())} |"
    yield f"| --- |{' --- |' * (len(columns) + len(PUBLISHED) - 1)}"
    for name, (game, results) in runs.items():
        errors = [standard_error(result["agent"][0]["returns"]) for result in results]
        error = sum(error**2 for error in errors) ** 0.5 / len(errors)
        cells = [name, spread(means(results, "agent")), number(error), str(len(results))]
        cells += [number(statistics.fmean(means(results, "random"))), f"{score(game, results):.3f}"]
        cells += [number(published[name][column]) for column in PUBLISHED]
        yield f"| {' | '.join(cells)} |"
