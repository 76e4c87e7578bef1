#!/usr/bin/env python3
"""Fills the disk at random moments of training, frees it again, and compares the result with an undisturbed run.

With --tmpfs (Linux, as root) the runs are on a small file system in memory, which a large file fills. Otherwise the
file size limit (RLIMIT_FSIZE) of the running process is lowered to a few bytes and raised again, which needs no
privileges: every write beyond it fails, as on a full disk.
"""

import random
import resource
import subprocess
import sys
from contextlib import contextmanager

from runs import EXPERIMENTS, Run, arguments, report, undisturbed

# The size of the file system; several times what the runs of an experiment need.
MEGABYTES = 256


@contextmanager
def no_more_bytes(run):
    """Makes every write of the running process fail."""
    _, hard = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (16, hard))
    try:
        yield
    finally:
        if run.process.poll() is None:
            resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def ballast(run):
    """Fills the file system of the run."""
    path = run.directory.parent / "ballast"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
    try:
        yield
    finally:
        path.unlink()


@contextmanager
def small_file_system(directory, wanted):
    """Mounts a small file system at `directory` if requested."""
    directory.mkdir(parents=True, exist_ok=True)
    if wanted:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", directory], check=True)
    try:
        yield
    finally:
        if wanted:
            subprocess.run(["umount", directory], check=True)


def disturbed(run, fill, draw, seconds, row):
    """Trains to the end on a disk that is temporarily full. Counts the outcomes in `row`."""
    run.start()
    if not run.has_ended_after(draw.uniform(0, seconds)):
        row["full disks"] += 1
        with fill(run):
            run.has_ended_after(draw.uniform(0, seconds / 2))
    status, stderr = run.finish()
    row["warnings"] += stderr.count("warning: ")
    # The last checkpoint could not be written.
    if status == 1:
        row["errors, then resumed"] += 1
        run.start()
        status, stderr = run.finish()
    return status, stderr


def main():
    parser = arguments(__doc__)
    parser.add_argument("--full-disks", type=int, default=30, help="number of full disks over all experiments")
    parser.add_argument("--tmpfs", action="store_true", help="use a small file system")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    fill = ballast if args.tmpfs else no_more_bytes
    rows = []
    for index, (name, experiment) in enumerate(EXPERIMENTS.items()):
        wanted = args.full_disks * (index + 1) // len(EXPERIMENTS) - args.full_disks * index // len(EXPERIMENTS)
        directory = args.out / f"full-disks-{index}"
        row = {"experiment": name, "full disks": 0, "warnings": 0, "errors, then resumed": 0, "identical": 0,
               "different": 0}
        with small_file_system(directory, args.tmpfs):
            expected, seconds = undisturbed(args.program, directory / "undisturbed", experiment)
            runs = 0
            while row["full disks"] < wanted:
                run = Run(args.program, directory / f"run-{runs}", experiment)
                runs += 1
                status, stderr = disturbed(run, fill, draw, seconds, row)
                # Curves may lack records of the time without space.
                same = status == 0 and run.hashes()["state"] == expected["state"]
                row["identical" if same else "different"] += 1
                if same:
                    run.remove()
                else:
                    print(f"{run.directory}: exit status {status}, {stderr.strip()}", file=sys.stderr)
        rows.append(row)
    report(rows, args.json)
    sys.exit(any(row["different"] for row in rows))


if __name__ == "__main__":
    main()
