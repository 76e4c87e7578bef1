#!/usr/bin/env python3
"""Writes the tables of docs/src/explanation/evidence.md and benches/results/README.md from the kept runs.

    benches/results/evidence.py --program target/release/ale-train [--check]

--check changes nothing and fails if a page differs. Intervals are 95 % percentile intervals of a bootstrap that resamples
the episodes of each game, or its seeds in the tables of Atari 100k (atari_100k.py). A game is
above random if the means differ by more than two standard errors of the difference.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tomllib
from functools import partial
from math import inf
from pathlib import Path

import atari_100k
import index
import self_play
from aggregates import AGGREGATES, RESAMPLES, interval, normalised, resample, standard_error
from presets import cores, means, number, records_of, results_of, runs_of_games, spread

RESULTS = Path(__file__).parent
ROOT = RESULTS.parents[1]
RUNS = RESULTS / "runs"
RUN = "many-ppo-seed11"
# Runs of a quarter of its frames: the names without the seeds.
QUARTERS = {
    "per-game advantages and value scales (the default)": "atari57-quarter-balanced",
    "unbalanced: `ppo.norm_adv=batch`, no value scale": "atari57-quarter-unbalanced",
    "balanced, one shared head (`policy.head=shared`)": "atari57-quarter-shared",
    "balanced, factored actions (`environments.factored_actions=true`)": "atari57-quarter-factored",
}
# Presets of single Atari games, with the score that their training is timed to.
SINGLE_GAMES = {"pong-ppo": 18}
# The preset that trains any Atari game in an hour on one core.
HOUR = "fast-ppo"
# The preset with CleanRL's settings of PPO.
TEN_MILLION = "atari-ppo"
# Presets of continuous control, with the columns of published scores to compare with.
CONTINUOUS = {
    "mujoco-ppo": "ppo_continuous_cleanrl",
    "mujoco-sac": "sac_cleanrl",
    "pendulum-sac": None,
    "mountaincar-continuous-sac": None,
}
# The runs of one network on several tasks, and the preset of the runs on each task alone.
IN_PYTHON = ["box2d-ppo", "bipedal-walker-ppo", "minigrid-ppo"]
# One run of PPO with as many steps, with the standard deviation over its episodes:
# github.com/DLR-RM/rl-baselines3-zoo 0088472, benchmark.md.
RL_ZOO = {"gymnasium:LunarLander-v3": "242.1 ± 31.8, on v2", "gymnasium:BipedalWalker-v3": "213.3 ± 129.5"}
TOGETHER = "mujoco-ppo-three-tasks-s*"
ALONE = "mujoco-ppo"
# The arguments with which toy texts were trained, and the names of the runs.
TOY_TEXTS = {
    "pqn --games CliffWalking-v1": "toy-text-pqn-cliffwalking-s*",
    "pqn --games Taxi-v4 --total-frames 1M": "taxi-pqn-seed*",
    "ppo --games FrozenLake-v1": "frozenlake-ppo-seed*",
    "pqn --games FrozenLake-v1": "toy-text-pqn-frozenlake-s*",
    "pqn --games Blackjack-v1": "toy-text-pqn-blackjack-s*",
}
PAGE = ROOT / "docs/src/explanation/evidence.md"
INDEX = RESULTS / "README.md"
MARK = "<!-- Written by benches/results/evidence.py. -->"


def aggregate_lines(games):
    """Returns a row for each aggregate of the human-normalised scores."""
    generator = random.Random(1)
    resampled = [
        [game["normalise"](statistics.fmean(resample(game["agent"], generator))) for game in games]
        for _ in range(RESAMPLES)
    ]
    yield "| human-normalised | score | 95 % interval |"
    yield "| --- | --- | --- |"
    for name, aggregate in AGGREGATES.items():
        low, high = interval(map(aggregate, resampled))
        score = aggregate([game["score"] for game in games])
        yield f"| {name} | {score:.3f} | {low:.3f} to {high:.3f} |"


def game_lines(games):
    yield "| game | agent | standard error | random player | human | human-normalised | CleanRL's PPO (EnvPool), one agent per game |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for game in sorted(games, key=lambda game: -game["score"]):
        cells = [game["name"], *(f"{game[key]:.1f}" for key in ("mean", "error", "random", "human"))]
        published = "-" if game["published"] is None else f"{game['published']:.1f}"
        yield f"| {' | '.join(cells)} | {game['score']:.3f} | {published} |"


def quarter_lines(program):
    """Returns a row for each comparison of settings, with the values of all its seeds."""
    yield "| balance and heads | seeds | median | interquartile mean | optimality gap | above the random player |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, prefix in QUARTERS.items():
        runs = sorted(run.name for run in RUNS.glob(f"{prefix}-s*"))
        seeds = [load(program, run) for run in runs]
        cells = [", ".join(run.removeprefix(f"{prefix}-s") for run in runs)]
        for aggregate in AGGREGATES.values():
            cells += [", ".join(f"{aggregate([game['score'] for game in games]):.3f}" for games in seeds)]
        cells += [", ".join(str(sum(game["above"] for game in games)) for games in seeds)]
        yield f"| {name} | {' | '.join(cells)} |"


def single_game_lines():
    """Returns a row for each seed of the presets of single games."""
    yield "| preset | seed | return | standard error | random player | training | reached in training |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    minutes = lambda seconds: f"{seconds / 60:.1f} minutes"
    for preset, target in SINGLE_GAMES.items():
        for run in sorted(RUNS.glob(f"{preset}-seed*")):
            results, records = results_of(run), records_of(run)
            reached = [record["seconds"] for record in records if record.get("charts/recent_return", -inf) >= target]
            returns = results["agent"][0]["returns"]
            cells = [f"`{preset}`", run.name.removeprefix(f"{preset}-seed"), number(statistics.fmean(returns))]
            cells += [f"{standard_error(returns):.1f}", number(means([results], "random")[0])]
            cells += [f"{minutes(results['seconds'])} on {cores(results)}"]
            cells += [f"{target} after {minutes(reached[0])}" if reached else f"not {target}"]
            yield f"| {' | '.join(cells)} |"


def hour_lines(published):
    """Returns a row for each game of the preset for an hour."""
    yield "| game | return of each seed | standard errors | random player | CleanRL's PPO (EnvPool), 40 million frames of 84x84 pixels |"
    yield "| --- | --- | --- | --- | --- |"
    for game, results in runs_of_games(HOUR):
        errors = ", ".join(f"{standard_error(result['agent'][0]['returns']):.1f}" for result in results)
        cells = [game, ", ".join(map(number, means(results, "agent"))), errors]
        cells += [number(statistics.fmean(means(results, "random"))), number(published[game]["ppo_cleanrl"])]
        yield f"| {' | '.join(cells)} |"


def ten_million_lines(published):
    """Returns a row for each run of the preset with CleanRL's settings."""
    yield "| game | seed | last 100 episodes of training | CleanRL's `ppo_atari.py`, in training | after training | standard error | random player |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for run in sorted(RUNS.glob(f"{TEN_MILLION}-*-s*")):
        results, records = results_of(run), records_of(run)
        agent = results["agent"][0]
        game, column = agent["game"], "ppo_atari_cleanrl"
        recent = [record["charts/recent_return"] for record in records if "charts/recent_return" in record]
        theirs = f"{published['scores'][game][column]} ± {published['deviations'][game][column]}"
        cells = [game, run.name.rsplit("-s", 1)[1], number(recent[-1]), theirs, number(statistics.fmean(agent["returns"]))]
        cells += [f"{standard_error(agent['returns']):.1f}", number(means([results], "random")[0])]
        yield f"| {' | '.join(cells)} |"


def continuous_lines(published):
    yield "| task | preset | return | seeds | random player | CleanRL, on v4 |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for preset, column in CONTINUOUS.items():
        for game, results in runs_of_games(preset):
            theirs = "-"
            if score := published["scores"].get(game, {}).get(column):
                theirs = f"{number(score)} ± {number(published['deviations'][game][column])}"
            random_player = number(statistics.fmean(means(results, "random")))
            cells = [game, f"`{preset}`", spread(means(results, "agent")), str(len(results)), random_player, theirs]
            yield f"| {' | '.join(cells)} |"


def in_python_lines():
    """Returns a row for each environment in Python."""
    yield "| environment | preset | return | seeds | random player | rl-zoo |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for preset in IN_PYTHON:
        for game, results in runs_of_games(preset):
            random_player = number(statistics.fmean(means(results, "random")))
            cells = [game.rsplit(":", 1)[-1], f"`{preset}`", spread(means(results, "agent")), str(len(results))]
            yield f"| {' | '.join([*cells, random_player, RL_ZOO.get(game, '-')])} |"


def together_lines():
    """Returns a row for each task that one network learned together with others."""
    yield "| task | one network for all | one network per task | random player |"
    yield "| --- | --- | --- | --- |"
    runs = [results_of(run) for run in sorted(RUNS.glob(TOGETHER))]
    alone = dict(runs_of_games(ALONE))
    for place, task in enumerate(entry["game"] for entry in runs[0]["agent"]):
        random_player = number(statistics.fmean(means(runs, "random", place)))
        cells = [task, spread(means(runs, "agent", place)), spread(means(alone[task], "agent")), random_player]
        yield f"| {' | '.join(cells)} |"


def toy_text_lines(best_scores):
    yield "| trained by `ale-train` | return of each seed | standard errors | best possible | random player |"
    yield "| --- | --- | --- | --- | --- |"
    digits = lambda value: f"{value:,.3f}"
    for arguments, pattern in TOY_TEXTS.items():
        results = [results_of(run) for run in sorted(RUNS.glob(pattern))]
        if not results:
            continue
        agents = [result["agent"][0] for result in results]
        row = lambda values: ", ".join(map(digits, values))
        cells = [f"`{arguments}`", row(means(results, "agent"))]
        cells.append(row(standard_error(agent["returns"]) for agent in agents))
        cells += [digits(best_scores[agents[0]["game"]]), digits(statistics.fmean(means(results, "random")))]
        yield f"| {' | '.join(cells)} |"


def listed(program, *arguments):
    """Returns the output of `ale-train games` for games, by their ids."""
    output = subprocess.run([program, "games", "--json", *arguments], capture_output=True, check=True).stdout
    return {game["id"]: game for game in json.loads(output)}


def published_scores():
    return tomllib.loads((ROOT / "benches/reference_scores.toml").read_text(encoding="utf-8"))


def load(program, run):
    """Returns the games with their scores in a run."""
    scores = json.loads((RUNS / run / "scores.json").read_text(encoding="utf-8"))
    known, published = listed(program), published_scores()["scores"]
    players = {player["game"]: player["returns"] for player in scores["random"]}
    games = []
    for entry in scores["agent"]:
        name, returns, others = entry["game"], entry["returns"], players[entry["game"]]
        normalise = partial(normalised, known[name])
        mean, error = statistics.fmean(returns), standard_error(returns)
        difference = mean - statistics.fmean(others)
        spread = (error**2 + standard_error(others) ** 2) ** 0.5
        games.append({
            "name": name, "agent": returns, "mean": mean, "error": error, "human": known[name]["human_score"],
            "random": statistics.fmean(others), "normalise": normalise, "score": normalise(mean),
            "above": difference > 2 * spread, "below": difference < -2 * spread,
            "published": published.get(name, {}).get("ppo_cleanrl"),
        })
    return games


def network_lines(games):
    """Returns the tables of the network that plays 57 games."""
    named = lambda key: ", ".join(sorted(game["name"] for game in games if game[key]))
    count = lambda key: sum(game[key] for game in games)
    return [
        *aggregate_lines(games), "",
        f"The agent scores above the random player in {count('above')} of {len(games)} games and below it in {count('below')}",
        f"({named('below')}), counting only differences of more than two standard errors.",
        "", *game_lines(games),
    ]


def tables_of_pages(program):
    """Returns the tables of each page, in order."""
    best_scores = {id: game["best_score"] for id, game in listed(program, "--games", "toy_text").items()}
    evidence = [
        network_lines(load(program, RUN)),
        quarter_lines(program),
        single_game_lines(),
        hour_lines(published_scores()["scores"]),
        ten_million_lines(published_scores()),
        atari_100k.lines(listed(program, "--games", "atari100k"), published_scores()["scores"]),
        continuous_lines(published_scores()),
        together_lines(),
        in_python_lines(),
        self_play.lines(),
        toy_text_lines(best_scores),
    ]
    return {PAGE: evidence, INDEX: [index.run_lines(), index.learner_lines()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "target/release/ale-train", help="the path of ale-train")
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()
    for page, tables in tables_of_pages(options.program).items():
        text = page.read_text(encoding="utf-8")
        # Every second part between the marks is a table.
        parts = text.split(MARK)
        parts[1::2] = ["\n\n" + "\n".join(table) + "\n\n" for table in tables]
        updated = MARK.join(parts)
        if options.check and updated != text:
            sys.exit(f"{page} differs from the runs: benches/results/evidence.py writes it")
        if not options.check:
            page.write_text(updated, encoding="utf-8")
    if missing := index.files_without_description(INDEX.read_text(encoding="utf-8")):
        sys.exit(f"{INDEX} does not describe {', '.join(missing)}")


if __name__ == "__main__":
    main()
