"""Compares PPO of ale-train on environments of Gymnasium with Stable-Baselines3 and with PyTorch (torch_vector_ppo.py).
Started by `benches/peers/gymnasium_training`."""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report
from measuring import listed, positive, warn_if_busy

HELP = """\
Each side trains PPO from start to end, with a rollout of 128 steps, 4 epochs, minibatches of 256, and two hidden layers
of 64 units for policy and value; those of ale-train share their layers. Rates are steps of all environments per second,
without the start of the process. The environments of ale-train run in worker processes, those of Stable-Baselines3 in a
DummyVecEnv, and those of PyTorch in a SyncVectorEnv, their defaults. Sides run strictly in turn, each in its own process
on the given cores. The first round is discarded.
"""

TASKS = ["CartPole-v1", "LunarLander-v3"]
STEPS, EPOCHS, MINIBATCH, NUM_ENVS = 128, 4, 256, 8


def ours(task, steps, threads):
    """Returns the seconds of training in ale-train."""
    import ale_train

    with tempfile.TemporaryDirectory() as directory:
        model = ale_train.PPO(
            f"gymnasium:{task}",
            num_envs=NUM_ENVS,
            seed=1,
            run_dir=f"{directory}/run",
            num_threads=threads,
            verbose=False,
            num_steps=STEPS,
            update_epochs=EPOCHS,
            num_minibatches=STEPS * NUM_ENVS // MINIBATCH,
            policy={"hidden_size": 64},
        )
        begin = time.perf_counter()
        model.learn(steps)
        return time.perf_counter() - begin, model.num_timesteps


def stable_baselines3(task, steps, threads):
    """Returns the seconds of training in Stable-Baselines3."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(threads)
    env = make_vec_env(task, NUM_ENVS, seed=1)
    model = PPO("MlpPolicy", env, n_steps=STEPS, n_epochs=EPOCHS, batch_size=MINIBATCH, seed=1, device="cpu")
    begin = time.perf_counter()
    model.learn(steps)
    return time.perf_counter() - begin, model.num_timesteps


def pytorch(task, steps, threads):
    """Returns the seconds of training in eager PyTorch."""
    import gymnasium
    import torch
    from gymnasium.vector import SyncVectorEnv
    from torch_vector_ppo import Ppo

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    envs = SyncVectorEnv([lambda: gymnasium.make(task)] * NUM_ENVS)
    ppo = Ppo(envs, STEPS, EPOCHS, MINIBATCH)
    updates = max(1, steps // (STEPS * NUM_ENVS))
    begin = time.perf_counter()
    for _ in range(updates):
        ppo.rollout()
        ppo.update()
    return time.perf_counter() - begin, updates * STEPS * NUM_ENVS


SIDES = {"ale-train": ours, "Stable-Baselines3": stable_baselines3, "PyTorch, as CleanRL": pytorch}


def rate(side, task, steps, threads):
    """Returns the steps per second of a side, in a process of its own on as many cores as threads."""
    command = [sys.executable, __file__, "--side", side, task, str(steps), str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    cores = sorted(os.sched_getaffinity(0))[:threads]
    limit = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    done = subprocess.run(command, capture_output=True, text=True, env=environment, preexec_fn=limit)
    if done.returncode:
        raise SystemExit(f"{side} failed:\n{done.stderr}")
    seconds, trained = json.loads(done.stdout.splitlines()[-1])
    return trained / seconds


def options():
    parser = argparse.ArgumentParser(
        prog="benches/peers/gymnasium_training",
        description=__doc__,
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tasks", type=listed(TASKS), default=TASKS, help=f"of {', '.join(TASKS)} [default: all]")
    parser.add_argument("--threads", type=listed(["1", "2"]), default=["1", "2"], help="[default: 1,2]")
    parser.add_argument("--steps", type=positive(int), default=100_000, help="of each training [default: 100000]")
    parser.add_argument("--rounds", type=positive(int), default=3, help="after the discarded first one [default: 3]")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all measurements to FILE")
    parser.add_argument("--side", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(chosen, rates):
    """Adds to ``rates``, for each task, the rates of all sides in every round but the first."""
    for threads in map(int, chosen.threads):
        for task in chosen.tasks:
            for round_ in range(chosen.rounds + 1):
                steps = chosen.steps if round_ else chosen.steps // 10
                found = {side: rate(side, task, steps, threads) for side in SIDES}
                print(f"{task}, {threads} threads, round {round_}: {found}", file=sys.stderr, flush=True)
                for side, value in found.items() if round_ else []:
                    rates.setdefault(f"{task}, {threads} threads", {}).setdefault(side, []).append(value)


def table(rates):
    first, *peers = SIDES
    rows = [["steps/s", first, *(cell for peer in peers for cell in (peer, "ratio"))]]
    for name, sides in rates.items():
        row = [name, f"{report.Ratio.of(sides[first]).median:,.0f}"]
        for peer in peers:
            ratio = report.Ratio.of([mine / theirs for mine, theirs in zip(sides[first], sides[peer])])
            row += [f"{report.Ratio.of(sides[peer]).median:,.0f}", str(ratio)]
        rows.append(row)
    report.print_columns(rows)


def write_json(chosen, rates):
    packages = ["gymnasium", "numpy", "stable-baselines3", "torch"]
    found = {
        "commit": report.command(["git", "rev-parse", "HEAD"]),
        "changed_files": report.command(["git", "status", "--porcelain", "--untracked-files=no"]).splitlines(),
        "processor": report.processor(),
        "steps": chosen.steps,
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "rates": rates,
    }
    chosen.json.write_text(json.dumps(found, indent=1) + "\n")


def main():
    chosen = options()
    if chosen.side:
        side, task, steps, threads = chosen.side
        print(json.dumps(SIDES[side](task, int(steps), int(threads))))
        return
    warn_if_busy()
    rates = {}
    try:
        measure(chosen, rates)
    finally:
        # What has been measured before a failure, too.
        if rates:
            table(rates)
            if chosen.json:
                write_json(chosen, rates)


if __name__ == "__main__":
    main()
