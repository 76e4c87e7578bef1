#!/usr/bin/env python3
"""Kills training with SIGKILL at random moments, resumes it, and compares the result with an undisturbed run."""

import random
import sys

from runs import EXPERIMENTS, Run, arguments, report, undisturbed


def killed(run, moments, row):
    """Trains to the end with a kill at each moment, in seconds after a start. Counts the kills in `row`."""
    for moment in moments:
        run.start()
        if run.has_ended_after(moment):
            break
        run.kill()
        complete, partial = run.checkpoints()
        row["kills"] += 1
        row["before the first checkpoint"] += not complete
        row["while writing one"] += bool(partial)
    else:
        run.start()
    return run.finish()


def main():
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=100, help="number of kills over all experiments")
    parser.add_argument("--kills-per-run", type=int, default=5, help="number of kills of a run")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    rows = []
    for index, (name, experiment) in enumerate(EXPERIMENTS.items()):
        wanted = args.kills * (index + 1) // len(EXPERIMENTS) - args.kills * index // len(EXPERIMENTS)
        directory = args.out / f"kills-{index}"
        expected, seconds = undisturbed(args.program, directory / "undisturbed", experiment)
        row = {"experiment": name, "runs": 0, "kills": 0, "before the first checkpoint": 0, "while writing one": 0,
               "identical": 0, "different": 0}
        while row["kills"] < wanted:
            run = Run(args.program, directory / f"run-{row['runs']}", experiment)
            count = min(args.kills_per_run, wanted - row["kills"])
            # From the start of the process to twice the average interval between kills: some are early, some are after
            # the end.
            moments = [draw.uniform(0, 2 * seconds / args.kills_per_run) for _ in range(count)]
            status, stderr = killed(run, moments, row)
            row["runs"] += 1
            same = status == 0 and run.hashes() == expected
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
