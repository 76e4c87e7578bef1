#!/usr/bin/env python3
"""Kills or stops worker processes of environments in Python at random moments of training, and resumes the run.

Each time, the run must end with one sentence that names the environment and its seed and with a non-zero exit status,
leave no process behind, and continue when it is resumed. Needs Linux, and Gymnasium in `--python`."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path

from runs import Run, arguments, refuse, report

EXPERIMENTS = {
    "PPO": ["ppo", "--games", "gymnasium:CartPole-v1", "--total-frames", "30000", "--set", "ppo.num_steps=32"],
    "PPO in halves": [
        "ppo", "--games", "gymnasium:CartPole-v1", "--total-frames", "30000", "--set", "ppo.num_steps=32",
        "--set", "environments.halves=true",
    ],
    "DQN": [
        "dqn", "--games", "gymnasium:Acrobot-v1", "--total-frames", "20000", "--set", "dqn.learning_starts=500",
        "--set", "dqn.buffer_size=3000",
    ],
    "SAC": [
        "sac", "--games", "gymnasium:Pendulum-v1", "--total-frames", "4000", "--set", "sac.learning_starts=250",
        "--set", "sac.train_ratio=0.1", "--set", "sac.buffer_size=3000",
    ],
}
# The time in seconds that a step may take, after which a stopped worker is killed.
TIMEOUT = 2
# The time in seconds within which a run must end after the death of a worker.
DEADLINE = 10
# The share of workers that are stopped instead of killed.
STOPPED = 0.15

FAULT = re.compile(
    r"error: .*environment \d+: gymnasium:\S+ \(seed \d+\): its worker process "
    r"(was ended by signal 9 \(SIGKILL\)|did not respond for \d+ seconds)"
)
# Before the first reset there are no seeds.
START = re.compile(r"error: .*cannot start the workers: the worker of environments \d+ to \d+ ")


class Training(Run):
    """A run in environments in Python."""

    def __init__(self, program, directory, experiment, python):
        settings = {"python": python, "workers": 3, "timeout": TIMEOUT}
        settings = [f"environments.gymnasium.{key}={value}" for key, value in settings.items()]
        flags = ["--num-envs", "6", *(flag for setting in settings for flag in ("--set", setting))]
        super().__init__(program, directory, [*experiment, *flags])

    def workers(self):
        """Returns the worker processes."""
        found = []
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                found += [int(child) for child in path.read_text().split()]
            except OSError:
                # The thread has ended.
                pass
        return found

    def wait_for_workers(self):
        """Waits until there are workers, or the process has ended."""
        while not self.workers() and self.process.poll() is None:
            time.sleep(0.01)

    def steps(self):
        """Returns the number of steps at the newest checkpoint."""
        complete, _ = self.checkpoints()
        if not complete:
            return 0
        return steps_of(self.directory / "checkpoints" / complete[-1])


def steps_of(checkpoint):
    return int(re.search(r'"steps": ?(\d+)', (checkpoint / "progress.json").read_text())[1])


def is_alive(process):
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def has_started(worker):
    """Returns true if a worker has mapped the shared memory."""
    try:
        return "/ale-train-" in Path(f"/proc/{worker}/maps").read_text()
    except OSError:
        return False


def faults(run, draw, seconds, row):
    """Starts or resumes a run, kills a worker, and checks the end. Returns the faults, or None if the run ended before."""
    before = run.steps()
    run.start()
    run.wait_for_workers()
    if run.has_ended_after(draw.uniform(0, seconds)):
        return None
    workers = run.workers()
    if not workers:
        # Between two sets of workers, or at the end.
        return None if run.has_ended_after(DEADLINE) else ["the run has no workers and does not end"]
    victim, is_stopped = draw.choice(workers), draw.random() < STOPPED
    # A worker that is starting has minutes for it, because packages may load slowly.
    is_stopped = is_stopped and has_started(victim)
    subprocess.run(["kill", "-STOP" if is_stopped else "-KILL", str(victim)], check=False)
    began = time.monotonic()
    try:
        _, stderr = run.process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        run.kill()
        return [f"the run did not end within {DEADLINE} seconds"]
    row["stopped" if is_stopped else "killed"] += 1
    row["slowest end"] = max(row["slowest end"], round(time.monotonic() - began, 1))
    if run.process.returncode == 0:
        # The worker was no longer needed.
        row["after the last step"] += 1
        return []
    found = []
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    is_starting = len(errors) == 1 and START.match(errors[0]) is not None
    if not is_starting and not (len(errors) == 1 and FAULT.match(errors[0])):
        found.append(f"the messages are {stderr!r}")
    row["while starting"] += is_starting
    row["with a checkpoint"] += run.steps() > before
    found += [f"worker {worker} is left" for worker in workers if is_alive(worker)]
    return found


def finish(run):
    """Resumes a run. Returns the faults."""
    run.start()
    status, stderr = run.finish()
    return [] if status == 0 else [f"it ended with exit status {status}: {stderr.strip()}"]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=200, help="number of killed workers over all experiments")
    parser.add_argument("--kills-per-run", type=int, default=10, help="number of killed workers of a run")
    parser.add_argument("--python", default="python3", help="a Python with Gymnasium")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    rows = []
    for index, (name, experiment) in enumerate(EXPERIMENTS.items()):
        wanted = args.kills * (index + 1) // len(EXPERIMENTS) - args.kills * index // len(EXPERIMENTS)
        directory = args.out / f"workers-{index}"
        refuse(directory)
        row = {"experiment": name, "runs": 0, "killed": 0, "stopped": 0, "with a checkpoint": 0, "while starting": 0,
               "after the last step": 0, "slowest end": 0, "wrong": 0}
        undisturbed = Training(args.program, directory / "undisturbed", experiment, args.python)
        began = time.monotonic()
        wrong = finish(undisturbed)
        if wrong:
            sys.exit(f"the undisturbed run failed: {wrong}")
        seconds = time.monotonic() - began
        while row["killed"] + row["stopped"] < wanted:
            run = Training(args.program, directory / f"run-{row['runs']}", experiment, args.python)
            row["runs"] += 1
            wrong = []
            for _ in range(args.kills_per_run):
                if row["killed"] + row["stopped"] >= wanted:
                    break
                found = faults(run, draw, 2 * seconds / args.kills_per_run, row)
                if found is None:
                    break
                wrong += found
            wrong += finish(run)
            row["wrong"] += len(wrong)
            if wrong:
                print(f"{run.directory}: {'; '.join(wrong)}", file=sys.stderr)
            else:
                run.remove()
        rows.append(row)
    report(rows, args.json)
    sys.exit(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    main()
