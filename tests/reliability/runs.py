"""Runs of `ale-train` that are disturbed, and their comparison with undisturbed ones."""

import argparse
import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Checkpoints are frequent, so that many disturbances happen while one is being written.
SETTINGS = [
    "--seed", "4", "--num-threads", "1", "--quiet",
    "--set", "evaluation.episodes=2", "--set", "checkpoints.interval_frames=2000",
]
EXPERIMENTS = {
    "PPO": ["ppo", "--games", "harvest", "--total-frames", "40000", "--set", "ppo.num_steps=32"],
    "DQN with replay": [
        "dqn", "--games", "harvest", "--total-frames", "16000",
        "--set", "dqn.buffer_size=3000", "--set", "dqn.learning_starts=200",
    ],
    "PPO on three games": [
        "ppo", "--games", "pong,breakout,boxing", "--num-envs", "2",
        "--total-frames", "40000", "--set", "ppo.num_steps=32",
    ],
}


def arguments(description):
    """Returns a parser with the flags that all scripts share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/ale-train", help="the built program")
    parser.add_argument("--out", type=Path, default=Path("reliability"), help="directory of the runs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser


class Run:
    """A run directory and the process that trains in it."""

    def __init__(self, program, directory, experiment):
        self.program, self.directory, self.experiment = program, directory, experiment
        self.process = None

    def start(self):
        """Starts or resumes the run."""
        if (self.directory / "config.toml").exists():
            command = ["resume", self.directory, "--quiet"]
        else:
            command = [*self.experiment, *SETTINGS, "--run-dir", self.directory]
        self.process = subprocess.Popen(
            [self.program, *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # Python ignores SIGXFSZ. The program inherits this, so exceeding the file size limit is an error.
            restore_signals=False,
        )

    def has_ended_after(self, seconds):
        """Waits. Returns true if the process has ended."""
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def finish(self):
        """Waits for the end. Returns the exit status and the messages."""
        _, stderr = self.process.communicate()
        return self.process.returncode, stderr

    def checkpoints(self):
        """Returns the checkpoints, and the incomplete ones."""
        names = sorted(path.name for path in (self.directory / "checkpoints").glob("*"))
        return [name for name in names if not name.startswith(".")], [name for name in names if name.startswith(".")]

    def hashes(self):
        """Returns hashes of the learner and the environments at the end, and of the curves without measured times."""
        newest = self.directory / "checkpoints" / self.checkpoints()[0][-1]
        state = hashlib.sha256()
        for name in ["learner.bin", "environments.bin"]:
            state.update((newest / name).read_bytes())
        curves = hashlib.sha256()
        for line in (self.directory / "metrics.jsonl").read_text().splitlines():
            record = json.loads(line)
            kept = {tag: value for tag, value in record.items() if not is_measured(tag)}
            curves.update(json.dumps(kept, sort_keys=True).encode())
        return {"state": state.hexdigest(), "curves": curves.hexdigest()}

    def remove(self):
        shutil.rmtree(self.directory)


def is_measured(tag):
    """Returns true for tags whose values are times."""
    return tag in ("seconds", "charts/SPS", "evaluation/time") or tag.startswith("time/")


def refuse(directory):
    """Ends the program if there is a run in `directory`: resuming a finished run would test nothing."""
    if directory.exists():
        sys.exit(f"{directory} exists; remove it or choose another directory with --out")


def undisturbed(program, directory, experiment):
    """Trains without disturbance. Returns the hashes and the duration in seconds."""
    refuse(directory)
    run = Run(program, directory, experiment)
    began = time.monotonic()
    run.start()
    status, stderr = run.finish()
    if status != 0:
        sys.exit(f"the undisturbed run failed: {stderr}")
    return run.hashes(), time.monotonic() - began


def report(rows, path):
    """Prints rows, dictionaries with the same keys, as a table. Writes them as JSON to `path` if it is given."""
    headings = list(rows[0])
    cells = [headings, *([str(value) for value in row.values()] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if path:
        path.write_text(json.dumps(rows, indent=2) + "\n")
