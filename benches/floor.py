#!/usr/bin/env python3
"""Compares the time of a frame with a budget and with a lower bound on this machine.

    benches/floor.py                   eight games
    benches/floor.py pong --seconds 5
    benches/floor.py --write           write the result into benches/README.md

Both follow from the work of a frame (counted: benches/frame_work.json), the cycles of each operation (PARTS, below),
and the measured clock of the processor. The budget is an estimate for a good program; a better program may beat it. The
bound is a limit for every program that executes the game's instructions one after the other and skips only waiting. The
time taken is that of one environment on one thread with the standard preprocessing. If `perf` is installed, it splits
this time into the same parts. Requires Rust and Python 3.11.
"""

import argparse
import collections
import dataclasses
import json
import math
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).parents[1]
GAMES = ["pong", "breakout", "space_invaders", "ms_pacman", "seaquest", "qbert", "beam_rider", "enduro"]


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the work of a frame."""

    name: str
    # The number of operations in a frame.
    count: Callable[[dict], float]
    # The cycles of one operation in the budget.
    budget: float
    # The minimum number of cycles of one operation on any current x86-64 processor.
    bound: float
    # Parts of the names of its functions. The longest match decides.
    functions: tuple


# The instructions that a processor completes in a cycle, the bytes that it stores in a cycle, and the instructions of a
# 6502 that one of its instructions can replace: a load, an operation and a store.
WIDTH = 8
STORED = 64
REPLACED = 3
# The bytes of an observation, which each step of four frames writes for the caller.
OBSERVATION = 4 * 84 * 84

PARTS = [
    # Budget: straight-line native code that counts cycles and computes flags only where they are read. Instructions
    # that wait for the timer, two per read, are not executed.
    Part(
        "CPU: instructions that do not wait",
        lambda work: work["instructions"] - 2 * work["riot_reads"],
        2.4,
        1 / (WIDTH * REPLACED),
        ("[unknown]", "vcs::cpu", "vcs::cart", "vcs::translate"),
    ),
    # Budget: 8 cycles in the displayed half of the frames, where a write is logged with its time and decoded once; 2 in
    # the others, where it is only logged. Bound: nothing, because the instruction that writes has been counted.
    Part(
        "TIA: writes",
        lambda work: work["tia_writes"],
        5,
        0,
        ("callbacks::write", "vcs::tia::write", "vcs::tia::log", "vcs::tia::registers", "vcs::tia::motion"),
    ),
    # Budget: composed from masks of 160 bits and expanded to bytes, or copied: 210 lines in two of four frames. Bound:
    # nothing, because lines that have not changed need not be drawn.
    Part("TIA: visible lines", lambda work: 210 * 2 / 4, 60, 0, ("vcs::tia",)),
    # Budget: the results of the polls, one evaluation of the game's rules, and the surrounding loop.
    Part(
        "timer, inputs, rules, loop",
        lambda work: 1,
        1500,
        0,
        ("callbacks::idle_rounds", "callbacks::read_riot", "vcs::riot", "vcs::console", "vcs::machine", "vcs::replay")
        + ("ale::", "vector::", "peer::"),
    ),
    # Budget, per step of four frames: the maximum of two frames, in grey, resized to 84x84. Bound: the observation is
    # stored.
    Part("preprocessing", lambda work: 1, 3500, OBSERVATION / 4 / STORED, ("ale::preprocess",)),
]
REST = "C library, kernel, others"


def budget_cycles(work):
    return sum(part.count(work) * part.budget for part in PARTS)


def bound_cycles(work):
    return sum(part.count(work) * part.bound for part in PARTS)


def main():
    options = arguments()
    counted = json.loads((ROOT / "benches/frame_work.json").read_text())["games"]
    for game in options.games:
        if game not in counted:
            raise SystemExit(f"no counts for {game}; counted games: {', '.join(counted)}")
    clock, peer = build()
    gigahertz, taken, samples = 0.0, {}, collections.Counter()
    for game in options.games:
        # Measured several times, because disturbances only lower it.
        gigahertz = max(gigahertz, float(subprocess.run([clock], capture_output=True, check=True).stdout))
        taken[game], found = measure(peer, game, options)
        samples.update(found)
    chosen = [counted[game] for game in options.games]

    budget = statistics.fmean(map(budget_cycles, counted.values()))
    bound = statistics.fmean(map(bound_cycles, counted.values()))
    result = [
        f"{processor()}, {gigahertz:.2f} GHz measured, commit {commit()}",
        "",
        *columns(by_part(chosen, gigahertz, statistics.fmean(taken.values()), samples)),
        "",
        *columns(by_game(options.games, counted, gigahertz, taken)),
        "",
        f"mean of all {len(counted)} games: budget {budget:,.0f} cycles or {budget / gigahertz / 1e3:.1f} us a frame "
        f"({gigahertz * 1e9 / budget:,.0f} frames/s on one core), bound {bound:,.0f} cycles or "
        f"{bound / gigahertz / 1e3:.2f} us",
    ]
    print(*result, sep="\n")
    if options.write:
        write("\n".join(result))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=GAMES, metavar="GAME")
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of each measurement [default: 1]")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements; the fastest counts [default: 3]")
    parser.add_argument("--write", action="store_true", help="write the result into benches/README.md")
    return parser.parse_args()


def build():
    """Builds the examples as for --release, but with symbols for perf. Returns their paths."""
    command = ["cargo", "build", "--locked", "--profile", "profiling", "-p", "vcs", "--example", "clock"]
    command += ["-p", "vector", "--example", "peer", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    programs = filter(None, (json.loads(line).get("executable") for line in built.stdout.splitlines()))
    return sorted(programs, key=lambda path: pathlib.Path(path).stem)


def measure(peer, game, options):
    """Returns the microseconds of a frame, in total and by part."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([peer, f"vector:{game}:1x1"], text=True, **pipes) as process:

        def rate():
            print(0, options.seconds, file=process.stdin, flush=True)
            return float(process.stdout.readline())

        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"cannot measure {game}")
        taken = 1e6 / max(rate() for _ in range(options.rounds))
        found = profile(process.pid, rate) if shutil.which("perf") else {}
        process.stdin.close()
    total = sum(found.values())
    return taken, {part: taken * count / total for part, count in found.items()}


def profile(pid, work):
    """Returns the number of samples in each part while the process works. The system clock triggers the samples,
    because virtual machines often lack hardware counters."""
    with tempfile.NamedTemporaryFile() as file:
        command = ["perf", "record", "--quiet", "--event", "cpu-clock", "--freq", "999", "--output", file.name]
        perf = subprocess.Popen([*command, "--pid", str(pid)], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        work()
        perf.send_signal(signal.SIGINT)
        perf.wait()
        command = ["perf", "script", "--input", file.name, "--fields", "ip,sym,dso"]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return collections.Counter(map(part_of, filter(None, map(str.strip, lines))))


def part_of(line):
    """Returns the part to which a sample belongs. Only translated code has no name."""
    function = re.fullmatch(r"\w+ (.*) \(.*\)", line).group(1)
    pieces = [(len(piece), part.name) for part in PARTS for piece in part.functions if piece in function]
    return max(pieces)[1] if pieces else REST


def by_part(chosen, gigahertz, taken, samples):
    rows = [["a frame of these games", "number", "budget each", "bound each", "budget us", "bound us", "taken us"]]
    games = len(chosen)
    sampled = {part: f"{time / games:.2f}" for part, time in samples.items()}
    for part in PARTS:
        number = statistics.fmean(map(part.count, chosen))
        us = [f"{number * cycles / gigahertz / 1e3:.2f}" for cycles in (part.budget, part.bound)]
        each = [f"{number:,.0f}", f"{part.budget:g}", f"{part.bound:.3g}"]
        rows.append([part.name, *each, *us, sampled.get(part.name, "")])
    rows.append([REST, "", "", "", "", "", sampled.get(REST, "")])
    sums = [statistics.fmean(map(cycles, chosen)) / gigahertz / 1e3 for cycles in (budget_cycles, bound_cycles)]
    rows.append(["sum", "", "", "", *(f"{us:.2f}" for us in sums), f"{taken:.2f}"])
    return rows


def by_game(games, counted, gigahertz, taken):
    rows = [["", "budget us", "taken us", "taken / budget", "frames/s"]]
    factors = []
    for game in games:
        budget = budget_cycles(counted[game]) / gigahertz / 1e3
        factors.append(taken[game] / budget)
        rows.append([game, f"{budget:.2f}", f"{taken[game]:.2f}", f"{factors[-1]:.2f}", f"{1e6 / taken[game]:,.0f}"])
    mean = math.exp(statistics.fmean(map(math.log, factors)))
    return [*rows, ["geometric mean", "", "", f"{mean:.2f}", ""]]


def columns(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def processor():
    """Returns the model name of the processor, if the system reports it."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else []
    return names[0] if names else platform.machine()


def commit():
    """Returns the measured commit, marked if files other than the results differ from it."""
    head = git("rev-parse", "--short", "HEAD").stdout.strip() or "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benches/README.md").stdout
    return head + (", with changes" if changed else "")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def write(result):
    readme = ROOT / "benches/README.md"
    begin, end = "<!-- benches/floor.py --write -->\n", "<!-- end -->"
    before, _, rest = readme.read_text().partition(begin)
    _, _, after = rest.partition(end)
    readme.write_text(f"{before}{begin}```text\n{result}\n```\n{end}{after}")


if __name__ == "__main__":
    main()
