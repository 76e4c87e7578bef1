"""ale-train's PPO beside the same PPO in PyTorch (torch_ppo.py), which `benches/peers/learner` starts."""

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
What is measured, each with 8 environments of the game:

  act THREADS      samples per second of choosing actions, a batch of all environments at a time
  update THREADS   samples per second of learning, minibatches of 256; a transition counts in every epoch
  loop THREADS     steps per second of everything: environments, acting and learning

On one thread the rates are those of a CPU-second. The sides run strictly in turn, each in a process of its own, and the first
round is dropped.
"""

OURS, PEER = report.OURS, "torch + ale-py"
NUM_ENVS = 8


class Stopwatch:
    """Adds up what is done and how long it takes."""

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
    """What the process of the other side does: prints its rates."""
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

    # The first one warms up.
    iteration(Stopwatch(), Stopwatch())
    act, update, whole = Stopwatch(), Stopwatch(), Stopwatch()
    while whole.seconds < seconds:
        whole.time(lambda: iteration(act, update), STEPS * NUM_ENVS)
    print(json.dumps({"act": act.rate(), "update": update.rate(), "loop": whole.rate()}))


def run_theirs(game, threads, seconds):
    command = [sys.executable, __file__, "--program", "-", "--theirs", f"{game},{threads},{seconds}"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def run_ours(program, folder, game, threads, seconds):
    size = ["--games", game, "--num-envs", str(NUM_ENVS), "--num-threads", str(threads)]
    bench = [program, "bench", "learner", *size, "--seconds", str(seconds), "--json"]
    found = json.loads(subprocess.run(bench, check=True, capture_output=True, text=True).stdout)
    return {
        "act": found["act_samples_per_second"],
        "update": found["update_samples_per_second"],
        "loop": loop(program, folder, size, seconds),
    }


def loop(program, folder, size, seconds):
    """Steps per second of a training, from its own records, until it is stopped."""
    run = ["--run-dir", f"{folder}/{time.monotonic_ns()}", "--set", "evaluation.episodes=0", "--json", "--quiet"]
    command = [program, "ppo", *size, *run]
    training = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = None
    for line in training.stdout:
        record = json.loads(line)
        if "losses/value_loss" not in record:
            continue
        now = (record["steps"], time.perf_counter())
        # The first update warms up.
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
    parser.add_argument("--rounds", type=int, default=3, help="that count; one more comes first [default: 3]")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement [default: 10]")
    parser.add_argument("--json", metavar="FILE", type=argparse.FileType("w"), help="write everything that was measured")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--theirs", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(chosen, folder):
    """For each thing that is measured the rates of both sides, one for each round but the first."""
    rates = {}
    for threads in map(int, chosen.threads.split(",")):
        for round_ in range(chosen.rounds + 1):
            found = {
                OURS: run_ours(chosen.program, folder, chosen.game, threads, chosen.seconds),
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
    with tempfile.TemporaryDirectory() as folder:
        rates = measure(chosen, folder)
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
