"""Compares the rates of ale-train, EnvPool and Gymnasium in MuJoCo tasks. Started by `benches/peers/mujoco`."""

import argparse
import dataclasses
import importlib.metadata
import json
import os
import platform
import statistics
import sys

import numpy as np
import report
from measuring import listed, positive, warn_if_busy
from sides import Loop, cores

TASKS = [
    f"{name}-v5"
    for name in (
        "Ant HalfCheetah Hopper Humanoid HumanoidStandup InvertedDoublePendulum InvertedPendulum Pusher Reacher Swimmer "
        "Walker2d"
    ).split()
]
HELP = """\
All sides are driven from Python and take the same random actions. Rates count steps of environments; each is
several steps of the simulation (the frame skip of the task). The sides run strictly in turn, round by round. All
environments stay alive between the rounds, so that startup is not measured, and the first round is discarded.
Gymnasium runs one process per environment on as many cores as the others have threads. Every package uses its
own build of MuJoCo: ale-train and Gymnasium that of mujoco 3.17.0, EnvPool the one that is part of it.

Example:
  benches/peers/mujoco Ant-v5 Hopper-v5 --rounds 9 --seconds 1 --json ratios.json
"""
# Batches before the first measurement.
WARM_UP = 20
# The number of batches of actions drawn in advance.
DRAWN = 256


class Side(Loop):
    """Steps environments with random actions: `make` creates them, and `low` and `high` bound the actions."""

    #: The type of the actions.
    dtype = np.float32

    def __init__(self, task, num_envs, num_threads):
        self.env, space = self.make(task, num_envs, num_threads)
        self.num_envs = num_envs
        generator = np.random.default_rng(1)
        low, high = (np.asarray(bound, np.float64) for bound in (space.low, space.high))
        drawn = generator.uniform(low, high, (DRAWN, num_envs, *space.shape))
        self.actions = list(drawn.astype(self.dtype))
        self.next = 0
        for _ in range(WARM_UP):
            self.some()

    def some(self):
        self.env.step(self.actions[self.next])
        self.next = (self.next + 1) % DRAWN
        return self.num_envs

    def close(self):
        self.env.close()


class AleTrain(Side):
    def make(self, task, num_envs, num_threads):
        import ale_train

        env = ale_train.make_vec(task, num_envs, num_threads=num_threads)
        env.reset(seed=1)
        return env, env.single_action_space


class EnvPool(Side):
    # The type of EnvPool's action space.
    dtype = np.float64

    def make(self, task, num_envs, num_threads):
        import envpool

        env = envpool.make(task, env_type="gymnasium", num_envs=num_envs, num_threads=num_threads, seed=1)
        env.reset()
        return env, env.action_space


class Gymnasium(Side):
    def make(self, task, num_envs, num_threads):
        import gymnasium

        with cores(num_threads):
            env = gymnasium.make_vec(
                task, num_envs, vectorization_mode="async", vector_kwargs={"context": "forkserver"}
            )
        env.reset(seed=1)
        return env, env.single_action_space


OURS = "ale-train"
PEERS = {"envpool": EnvPool, "gymnasium": Gymnasium}


@dataclasses.dataclass(frozen=True)
class Measured:
    task: str
    # The rates of each side, one per round.
    rates: dict

    def by_round(self, peer):
        return [ours / theirs for ours, theirs in zip(self.rates[OURS], self.rates[peer])]

    def ratios(self):
        return {peer: report.Ratio.of(self.by_round(peer)) for peer in self.rates if peer != OURS}


def options():
    parser = argparse.ArgumentParser(
        prog="benches/peers/mujoco",
        description="Compares ale-train's MuJoCo tasks with EnvPool and Gymnasium.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="tasks to run [default: all eleven]")
    parser.add_argument("--envs", type=positive(int), default=32, help="environments [default: 32]")
    parser.add_argument("--threads", type=positive(int), default=2, help="threads, or cores of processes [default: 2]")
    parser.add_argument("--peers", type=listed(list(PEERS)), default=list(PEERS), help="packages to compare with [default: all]")
    parser.add_argument("--rounds", type=positive(int), default=5, help="rounds after the discarded first one [default: 5]")
    parser.add_argument("--seconds", type=positive(float), default=2.0, help="duration of each measurement [default: 2]")
    parser.add_argument("--json", type=argparse.FileType("w"), metavar="FILE", help="write rates and ratios to FILE")
    chosen = parser.parse_args()
    for task in chosen.tasks:
        if task not in TASKS:
            parser.error(f"unknown task {task}; expected any of {', '.join(TASKS)}")
    chosen.tasks = chosen.tasks or TASKS
    return chosen


def measure(task, chosen):
    """Returns the rates of all sides in every round but the first."""
    kinds = {OURS: AleTrain, **{name: PEERS[name] for name in chosen.peers}}
    sides = {name: kind(task, chosen.envs, chosen.threads) for name, kind in kinds.items()}
    rates = {name: [] for name in sides}
    for round_ in range(chosen.rounds + 1):
        for name, side in sides.items():
            rate = side.rate(chosen.seconds)
            if round_ > 0:
                rates[name].append(rate)
    for side in sides.values():
        side.close()
    return Measured(task, rates)


def table(measured, chosen):
    print(f"\n{chosen.envs} environments, {chosen.threads} threads [steps/s]")
    rows = [["", OURS, *(word for peer in chosen.peers for word in (peer, "ratio"))]]
    for one in measured:
        ratios = one.ratios()
        rate = {side: f"{statistics.median(rates):,.0f}" for side, rates in one.rates.items()}
        rows.append([one.task, rate[OURS], *(word for peer in chosen.peers for word in (rate[peer], str(ratios[peer])))])
    means = []
    for peer in chosen.peers:
        rounds = zip(*(one.by_round(peer) for one in measured))
        means += ["", str(report.Ratio.of([report.geometric_mean(ratios) for ratios in rounds]))]
    report.print_columns([*rows, ["geometric mean", "", *means]])


def write_json(measured, chosen):
    packages = ["envpool", "gymnasium", "mujoco", "numpy"]
    json.dump(
        {
            "commit": report.command(["git", "rev-parse", "HEAD"]),
            "changed_files": report.command(["git", "status", "--porcelain", "--untracked-files=no"]).splitlines(),
            "processor": report.processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
            "versions": {package: importlib.metadata.version(package) for package in packages},
            "envs": chosen.envs,
            "threads": chosen.threads,
            "rounds": chosen.rounds,
            "seconds": chosen.seconds,
            "tasks": [
                {
                    "task": one.task,
                    "rates": one.rates,
                    "ratios": {peer: dataclasses.asdict(ratio) for peer, ratio in one.ratios().items()},
                }
                for one in measured
            ],
        },
        chosen.json,
        indent=1,
    )
    chosen.json.write("\n")


def main():
    chosen = options()
    warn_if_busy()
    measured = []
    try:
        for task in chosen.tasks:
            measured.append(measure(task, chosen))
            ratios = ", ".join(f"{ratio.median:.2f} {peer}" for peer, ratio in measured[-1].ratios().items())
            print(f"{len(measured)}/{len(chosen.tasks)} {task}: {ratios}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted; these are the measurements so far", file=sys.stderr)
    if measured:
        table(measured, chosen)
    if chosen.json:
        write_json(measured, chosen)


if __name__ == "__main__":
    main()
