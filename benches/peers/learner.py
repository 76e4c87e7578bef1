"""Compares the learners of ale-train with the same ones in PyTorch (torch_ppo.py, torch_dqn.py). Started by
`benches/peers/learner`."""

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
The measurements:

  act THREADS              samples per second of choosing actions by PPO, for a batch of all environments
  update THREADS           samples per second of learning by PPO in minibatches of 256; a transition counts once per epoch
  loop THREADS             steps per second of PPO: environments, acting and learning together
  PRESET gradient THREADS  samples per second of gradient steps of 32 samples, with their draws from the replay buffer

There are 8 environments of the game. ale-train multiplies numbers of 32 or of 16 bits (policy.precision). PyTorch runs
eagerly, eagerly with channels last in memory, and compiled with channels last. Its environments are ale-py's vector
environment. The sides run strictly in turn, each in its own process. The first round is discarded; it is short, and
fills the caches of the compiler.
"""

# The precisions of ale-train, and the names of its sides.
OURS = {"f32": report.OURS["rust"], "bf16": f"{report.OURS['rust']}, bf16"}
NUM_ENVS = 8
MODES = ["eager", "channels last", "channels last, compiled"]
# The presets whose gradient steps are measured.
OFF_POLICY = ["atari-dqn", "rainbow-dqn", "atari100k-dqn"]
REPLAY = ["--set", "dqn.learning_starts=2000", "--set", "dqn.buffer_size=20000"]


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


def their_ppo(game, threads, seconds, mode):
    """Returns the rates of PPO in PyTorch."""
    import ale_py.vector_env
    from torch_ppo import EPOCHS, STEPS, Ppo

    # As in training by ale-train, a lost life ends the episode but does not reset the game.
    envs = ale_py.vector_env.AtariVectorEnv(game, NUM_ENVS, num_threads=threads, life_loss_info=True)
    ppo = Ppo(NUM_ENVS, int(envs.single_action_space.n), mode)
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
    while whole.seconds < seconds or not whole.amount:
        whole.time(lambda: iteration(act, update), STEPS * NUM_ENVS)
    return {"act": act.rate(), "update": update.rate(), "loop": whole.rate()}


def their_gradient(preset, seconds, mode):
    """Returns the rate of gradient steps in PyTorch."""
    from torch_dqn import BATCH, PRESETS, Dqn

    dqn = Dqn(PRESETS[preset], mode)
    for _ in range(10):
        dqn.step()
    steps = Stopwatch()
    while steps.seconds < seconds or not steps.amount:
        steps.time(dqn.step, BATCH)
    return {f"{preset} gradient": steps.rate()}


def theirs(kind, game, threads, seconds, mode):
    """Measures PyTorch in its own process and prints the rates."""
    import torch
    from torch_mode import Mode

    torch.set_num_threads(int(threads))
    seconds, mode = float(seconds), Mode(mode)
    rates = their_ppo(game, int(threads), seconds, mode) if kind == "ppo" else their_gradient(kind, seconds, mode)
    print(json.dumps(rates))


def run_theirs(kind, game, threads, seconds, mode):
    command = [sys.executable, __file__, "--program", "-", "--theirs", kind, game, str(threads), str(seconds), mode]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    return json.loads(run(command, env=environment))


def run(command, **options):
    finished = subprocess.run(command, capture_output=True, text=True, **options)
    if finished.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{finished.stderr}")
    return finished.stdout


def run_ours(kind, precision, program, directory, game, threads, seconds):
    size = ["--games", game, "--num-envs", str(NUM_ENVS), "--num-threads", str(threads)]
    bench = [program, "bench", "learner", *size, "--precision", precision, "--seconds", str(max(seconds, 0.1)), "--json"]
    if kind != "ppo":
        found = json.loads(run([*bench, "--preset", kind, *REPLAY]))
        return {f"{kind} gradient": found["update_samples_per_second"]}
    found = json.loads(run(bench))
    return {
        "act": found["act_samples_per_second"],
        "update": found["update_samples_per_second"],
        "loop": loop(program, directory, [*size, "--set", f"policy.precision={precision}"], seconds),
    }


def loop(program, directory, size, seconds):
    """Returns the steps per second of a training run, from its records, and stops it."""
    run = ["--run-dir", f"{directory}/{time.monotonic_ns()}", "--set", "evaluation.episodes=0", "--json", "--quiet"]
    command = [program, "ppo", "--preset", "atari-ppo", *size, *run]
    training = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = None
    for line in training.stdout:
        record = json.loads(line)
        if "losses/value_loss" not in record:
            continue
        now = (record["steps"], time.perf_counter())
        # The first update is the warm-up.
        first = first or now
        if now != first and now[1] - first[1] >= seconds:
            training.terminate()
            training.communicate()
            return (now[0] - first[0]) / (now[1] - first[1])
    raise SystemExit(f"{' '.join(command)} ended: {training.stderr.read()}")


def options():
    parser = argparse.ArgumentParser(
        prog="benches/peers/learner", description=__doc__, epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ["ppo", *OFF_POLICY]
    parser.add_argument("--game", default="breakout", help="[default: breakout]")
    parser.add_argument("--kinds", type=listed(kinds), default=kinds, help=f"of {', '.join(kinds)} [default: all]")
    parser.add_argument("--threads", type=listed(["1", "2", "4", "8"]), default=["1", "2"], help="[default: 1,2]")
    precisions = list(OURS)
    parser.add_argument("--precisions", type=listed(precisions), default=precisions, help="of ale-train [default: f32,bf16]")
    parser.add_argument("--rounds", type=positive(int), default=2, help="rounds after the discarded first one [default: 2]")
    parser.add_argument("--seconds", type=positive(float), default=5.0, help="duration of each measurement [default: 5]")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all measurements to FILE")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--theirs", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.json and not chosen.json.parent.is_dir():
        parser.error(f"argument --json: the directory {chosen.json.parent} does not exist")
    return chosen


def measure(chosen, directory, rates):
    """Adds to ``rates``, for each measurement, the rates of all sides in every round but the first."""
    for threads in map(int, chosen.threads):
        for kind in chosen.kinds:
            for round_ in range(chosen.rounds + 1):
                seconds = chosen.seconds if round_ else 0.0
                found = {
                    OURS[precision]: run_ours(kind, precision, chosen.program, directory, chosen.game, threads, seconds)
                    for precision in chosen.precisions
                }
                found |= {mode: run_theirs(kind, chosen.game, threads, seconds, mode) for mode in MODES}
                print(f"{threads} threads, round {round_}: {found}", file=sys.stderr, flush=True)
                for side, measurements in found.items() if round_ else []:
                    for name, rate in measurements.items():
                        rates.setdefault(f"{name} {threads}", {}).setdefault(side, []).append(rate)


def table(rates):
    rows = [["", "ale-train", *(cell for mode in MODES for cell in (mode, "ratio"))]]
    for name, sides in rates.items():
        median = {side: f"{report.Ratio.of(rates).median:,.0f}" for side, rates in sides.items()}
        for precision, side in OURS.items():
            if side not in sides:
                continue
            row = [f"{name}, {precision}", median[side]]
            for mode in MODES:
                ratio = report.Ratio.of([ours / theirs for ours, theirs in zip(sides[side], sides[mode])])
                row += [median[mode], str(ratio)]
            rows.append(row)
    report.print_columns(rows)


def main():
    chosen = options()
    if chosen.theirs:
        return theirs(*chosen.theirs)
    warn_if_busy()
    rates = {}
    try:
        with tempfile.TemporaryDirectory() as directory:
            measure(chosen, directory, rates)
    finally:
        # What has been measured before a failure, too.
        table(rates)
        if chosen.json:
            write_json(chosen, rates)


def write_json(chosen, rates):
    versions = {package: importlib.metadata.version(package) for package in ["ale-py", "numpy", "torch"]}
    found = {
        "commit": report.command(["git", "rev-parse", "HEAD"]),
        "changed_files": report.command(["git", "status", "--porcelain", "--untracked-files=no"]).splitlines(),
        "processor": report.processor(),
        "game": chosen.game,
        "rounds": chosen.rounds,
        "seconds": chosen.seconds,
        "versions": versions,
        "rates": rates,
    }
    chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
