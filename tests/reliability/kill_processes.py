#!/usr/bin/env python3
"""Kills random processes of a multi-process run with SIGKILL at random moments, and resumes it with a random number of
processes. Compares the result with that of an undisturbed run.

Needs Linux, Open MPI's `mpirun` on the path and a program with the feature `mpi`."""

import random
import subprocess
import sys
import time
from pathlib import Path

from runs import SETTINGS, Run, arguments, refuse, report

EXPERIMENTS = {
    "PPO on three games": [
        "ppo", "--games", "pong,breakout,boxing", "--num-envs", "3", "--total-frames", "40000", "--set", "ppo.num_steps=32",
    ],
    "PQN": ["pqn", "--games", "harvest", "--num-envs", "8", "--total-frames", "40000", "--set", "pqn.num_steps=32"],
    "DQN with replay": [
        "dqn", "--games", "harvest", "--total-frames", "16000", "--set", "dqn.buffer_size=3000",
        "--set", "dqn.learning_starts=1000", "--set", "dqn.train_ratio=0.02", "--set", "dqn.prioritized=true",
    ],
    "SAC": [
        "sac", "--games", "Pendulum-v1", "--num-envs", "8", "--total-frames", "1000", "--set", "sac.buffer_size=500",
        "--set", "sac.learning_starts=250", "--set", "sac.train_ratio=0.05", "--set", "checkpoints.interval_frames=100",
    ],
}
PROCESSES = [1, 2, 4]
# The time in seconds within which a job must end after the death of a process.
DEADLINE = 10


class Job(Run):
    """A run that several processes train."""

    def start(self, processes):
        if (self.directory / "config.toml").exists():
            command = ["resume", self.directory, "--quiet"]
        else:
            command = [*self.experiment, *SETTINGS, "--run-dir", self.directory]
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(processes)]
        self.process = subprocess.Popen(
            [*launcher, self.program, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def kill_one(self, draw):
        """Kills a process of the job. Returns the seconds until the whole job has ended, or None without a process."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            return None
        subprocess.run(["kill", "-KILL", draw.choice(children)], check=False)
        began = time.monotonic()
        self.process.communicate(timeout=10 * DEADLINE)
        return time.monotonic() - began


def killed(job, count, seconds, draw, row):
    """Trains to the end despite some kills. Counts the kills in `row`."""
    for _ in range(count):
        job.start(draw.choice(PROCESSES[1:]))
        if job.has_ended_after(draw.uniform(0, 2 * seconds / count)):
            break
        ended = job.kill_one(draw)
        if ended is None:
            # It has started no process yet. The next job must not find it training.
            job.process.kill()
            job.process.communicate()
            continue
        row["kills"] += 1
        row["slowest end"] = max(row["slowest end"], round(ended, 1))
        row["too slow"] += ended > DEADLINE
    else:
        job.start(draw.choice(PROCESSES))
    return job.finish()


def main():
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=20, help="number of kills over all experiments")
    parser.add_argument("--kills-per-run", type=int, default=4, help="number of kills of a run")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    rows = []
    for index, (name, experiment) in enumerate(EXPERIMENTS.items()):
        wanted = args.kills * (index + 1) // len(EXPERIMENTS) - args.kills * index // len(EXPERIMENTS)
        directory = args.out / f"processes-{index}"
        refuse(directory / "undisturbed")
        undisturbed = Job(args.program, directory / "undisturbed", experiment)
        began = time.monotonic()
        undisturbed.start(2)
        status, stderr = undisturbed.finish()
        if status != 0:
            sys.exit(f"the undisturbed run failed: {stderr}")
        seconds, expected = time.monotonic() - began, undisturbed.hashes()["state"]
        row = {"experiment": name, "runs": 0, "kills": 0, "slowest end": 0, "too slow": 0, "identical": 0, "different": 0}
        while row["kills"] < wanted:
            job = Job(args.program, directory / f"run-{row['runs']}", experiment)
            status, stderr = killed(job, min(args.kills_per_run, wanted - row["kills"]), seconds, draw, row)
            row["runs"] += 1
            # A single process records an episode when it ends, so curves may differ in their order.
            same = status == 0 and job.hashes()["state"] == expected
            row["identical" if same else "different"] += 1
            if same:
                job.remove()
            else:
                print(f"{job.directory}: exit status {status}, {stderr.strip()}", file=sys.stderr)
        rows.append(row)
    report(rows, args.json)
    sys.exit(any(row["different"] or row["too slow"] for row in rows))


if __name__ == "__main__":
    main()
