"""Compares the PPO of ale-train with the same PPO in PyTorch (torch_ppo.py). Started by `benches/peers/learner`."""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time

import report

HELP = """\
The measurements, each with 8 environments of the game:

  act THREADS      samples per second of choosing actions, for a batch of all environments
  update THREADS   samples per second of learning in minibatches of 256; a transition counts once per epoch
  loop THREADS     steps per second of environments, acting and learning together

On one thread the rates are per CPU-second. The sides run strictly in turn, each in its own process, and the first
round is discarded.
"""

OURS, PEER = report.OURS, "torch + ale-py"
NUM_ENVS = 8


class Stopwatch:
    """Sums the amount of work and its time."""

    def __init__(self):
        self.amount, self.seconds = 0, 0.0

    def time(self, action, amount):
        start = time.perf_counter()
        result = action()
        self.seconds += time.perf_counter() - start
        self.amount += amount
        return result

    def rate(self):
        return self.amount / self.seconds


def theirs(game, threads, seconds):
    """Measures the PyTorch side in its own process and prints the rates."""
    import ale_py.vector_env
    import torch
    from torch_ppo import EPOCHS, STEPS, Ppo

    torch.set_num_threads(threads)
    envs = ale_py.vector_env.AtariVectorEnv(game, NUM_ENVS, num_threads=threads, episodic_life=True)
    ppo = Ppo(NUM_ENVS, int(envs.single_action_space.n))
    observations, _ = envs.reset(seed=1)

    def iteration(act, update):
        nonlocal observations
        for step in range(STEPS):
            actions = act.time(lambda: ppo.act(step, observations), NUM_ENVS)
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            ppo.observe(step, rewards, terminated | truncated)
        update.time(lambda: ppo.update(observations), EPOCHS * STEPS * NUM_ENVS)

    # Warm-up.
    iteration(Stopwatch(), Stopwatch())
    act, update, whole = Stopwatch(), Stopwatch(), Stopwatch()
    while whole.seconds < seconds:
        whole.time(lambda: iteration(act, update), STEPS * NUM_ENVS)
    print(json.dumps({"act": act.rate(), "update": update.rate(), "loop": whole.rate()}))


def run_theirs(game, threads, seconds):
    command = [sys.executable, __file__, "--program", "-", "--theirs", f"{game},{threads},{seconds}"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def run_ours(program, directory, game, threads, seconds):
    size = ["--games", game, "--num-envs", str(NUM_ENVS), "--num-threads", str(threads)]
    bench = [program, "bench", "learner", *size, "--seconds", str(seconds), "--json"]
    found = json.loads(subprocess.run(bench, check=True, capture_output=True, text=True).stdout)
    return {
        "act": found["act_samples_per_second"],
        "update": found["update_samples_per_second"],
        "loop": loop(program, directory, size, seconds),
    }


def loop(program, directory, size, seconds):
    """Returns the steps per second of a training run, from its records, and stops it."""
    run = ["--run-dir", f"{directory}/{time.monotonic_ns()}", "--set", "evaluation.episodes=0", "--json", "--quiet"]
    command = [program, "ppo", *size, *run]
    training = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = None
    for line in training.stdout:
        record = json.loads(line)
        if "losses/value_loss" not in record:
            continue
        now = (record["steps"], time.perf_counter())
        # The first update is the warm-up.
        first = first or now
        if now[1] - first[1] >= seconds:
            training.terminate()
            training.communicate()
            return (now[0] - first[0]) / (now[1] - first[1])
    raise SystemExit(f"{' '.join(command)} ended: {training.stderr.read()}")


def options():
    parser = argparse.ArgumentParser(
        prog="benches/peers/learner", description=__doc__, epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="breakout", help="[default: breakout]")
    parser.add_argument("--threads", default="1,2", help="[default: 1,2]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds after the discarded first one [default: 3]")
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each measurement [default: 10]")
    parser.add_argument("--json", metavar="FILE", type=argparse.FileType("w"), help="write all measurements to FILE")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--theirs", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(chosen, directory):
    """Returns, for each measurement, the rates of both sides in every round but the first."""
    rates = {}
    for threads in map(int, chosen.threads.split(",")):
        for round_ in range(chosen.rounds + 1):
            found = {
                OURS: run_ours(chosen.program, directory, chosen.game, threads, chosen.seconds),
                PEER: run_theirs(chosen.game, threads, chosen.seconds),
            }
            print(f"{threads} threads, round {round_}: {found}", file=sys.stderr, flush=True)
            for side, kinds in found.items():
                for kind, rate in kinds.items():
                    rates.setdefault(f"{kind} {threads}", {}).setdefault(side, []).append(rate)
    return {name: {side: all_[1:] for side, all_ in sides.items()} for name, sides in rates.items()}


def table(rates):
    rows = [["", OURS, PEER, "ratio"]]
    for name, sides in rates.items():
        ratio = report.Ratio.of([mine / other for mine, other in zip(sides[OURS], sides[PEER])])
        medians = [f"{report.Ratio.of(sides[side]).median:,.0f}" for side in (OURS, PEER)]
        rows.append([name, *medians, str(ratio)])
    report.print_columns(rows)


def main():
    chosen = options()
    if chosen.theirs:
        game, threads, seconds = chosen.theirs.split(",")
        return theirs(game, int(threads), float(seconds))
    with tempfile.TemporaryDirectory() as directory:
        rates = measure(chosen, directory)
    table(rates)
    if chosen.json:
        versions = {package: importlib.metadata.version(package) for package in ["ale-py", "numpy", "torch"]}
        found = {
            "commit": report.command(["git", "rev-parse", "HEAD"]),
            "processor": report.processor(),
            "game": chosen.game,
            "versions": versions,
            "rates": rates,
        }
        json.dump(found, chosen.json, indent=1)
        chosen.json.write("\n")


if __name__ == "__main__":
    main()
