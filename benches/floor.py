#!/usr/bin/env python3
"""The least time that a frame can take on this machine, beside the time that it takes.

    benches/floor.py                   eight games
    benches/floor.py pong --seconds 5
    benches/floor.py --write           puts the result into benches/README.md

The least time follows from what a frame has to do (counted: benches/frame_work.json), from the cycles that each of
these things takes in a program that wastes nothing (PARTS, below), and from the clock of the processor, which is
measured. The time taken is that of one environment on one thread with the standard preprocessing. `perf`, where it is
installed, splits it into the same parts. Needs Rust and Python 3.11.
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
    """What a frame consists of."""

    name: str
    # How often it happens in a frame.
    count: Callable[[dict], float]
    # What each takes.
    cycles: float
    # Functions whose time it is, by a piece of their names; the longest piece that fits decides.
    functions: tuple


PARTS = [
    # Straight native code, the cycles counted and the flags computed where they are read. Of the instructions that
    # wait for the timer, two for each read, none is executed.
    Part(
        "CPU: instructions that do not wait",
        lambda work: work["instructions"] - 2 * work["riot_reads"],
        2.4,
        ("[unknown]", "vcs::cpu", "vcs::cart", "vcs::translate"),
    ),
    # Noted with their time, and decoded once.
    Part("TIA: writes", lambda work: work["tia_writes"], 8, ("callbacks::write_register", "vcs::tia::write")),
    # Composed from masks of 160 bits and expanded to bytes, or copied: the 210 lines of two frames of four.
    Part("TIA: lines that are seen", lambda work: 210 * 2 / 4, 60, ("vcs::tia",)),
    # The polls' results computed, one evaluation of the game's rules, the loop around it.
    Part(
        "timer, inputs, rules, loop",
        lambda work: 1,
        1500,
        ("callbacks::wait", "vcs::riot", "vcs::console", "vcs::machine", "ale::", "vector::", "peer::"),
    ),
    # Of a step of four frames: the maximum of two pictures, in grey, reduced to 84x84.
    Part("preprocessing", lambda work: 1, 3500, ("ale::preprocess",)),
]
REST = "C library, kernel, others"


def least_cycles(work):
    return sum(part.count(work) * part.cycles for part in PARTS)


def main():
    options = arguments()
    counted = json.loads((ROOT / "benches/frame_work.json").read_text())["games"]
    for game in options.games:
        if game not in counted:
            raise SystemExit(f"the work of {game} has not been counted, but that of: {', '.join(counted)}")
    clock, peer = build()
    gigahertz, taken, samples = 0.0, {}, collections.Counter()
    for game in options.games:
        # Several times: whatever disturbs makes it too low.
        gigahertz = max(gigahertz, float(subprocess.run([clock], capture_output=True, check=True).stdout))
        taken[game], found = measure(peer, game, options)
        samples.update(found)
    chosen = [counted[game] for game in options.games]

    every = statistics.fmean(map(least_cycles, counted.values()))
    result = [
        f"{processor()}, {gigahertz:.2f} GHz measured, commit {commit()}",
        "",
        *columns(by_part(chosen, gigahertz, statistics.fmean(taken.values()), samples)),
        "",
        *columns(by_game(options.games, counted, gigahertz, taken)),
        "",
        f"mean of all {len(counted)} games: at least {every:,.0f} cycles or {every / gigahertz / 1e3:.1f} us a frame, "
        f"at most {gigahertz * 1e9 / every:,.0f} frames/s on one core",
    ]
    print(*result, sep="\n")
    if options.write:
        write("\n".join(result))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=GAMES, metavar="GAME")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement [default: 1]")
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts [default: 3]")
    parser.add_argument("--write", action="store_true", help="put the result into benches/README.md")
    return parser.parse_args()


def build():
    """The paths of the examples that are needed, built as users build them."""
    command = ["cargo", "build", "--locked", "--release", "-p", "vcs", "--example", "clock"]
    command += ["-p", "vector", "--example", "peer", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    programs = filter(None, (json.loads(line).get("executable") for line in built.stdout.splitlines()))
    return sorted(programs, key=lambda path: pathlib.Path(path).stem)


def measure(peer, game, options):
    """Microseconds of a frame, and in which parts samples found it, as microseconds of the frame too."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([peer, f"vector:{game}:1x1"], text=True, **pipes) as process:

        def rate():
            print(0, options.seconds, file=process.stdin, flush=True)
            return float(process.stdout.readline())

        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"{game} cannot be measured")
        taken = 1e6 / max(rate() for _ in range(options.rounds))
        found = profile(process.pid, rate) if shutil.which("perf") else {}
        process.stdin.close()
    total = sum(found.values())
    return taken, {part: taken * count / total for part, count in found.items()}


def profile(pid, work):
    """Samples in each part while the process does some work. The clock of the system triggers them: that of the
    processor is often missing on virtual machines."""
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
    """The part that a sample belongs to. Translated code is the only one without a name."""
    function = re.fullmatch(r"\w+ (.*) \(.*\)", line).group(1)
    pieces = [(len(piece), part.name) for part in PARTS for piece in part.functions if piece in function]
    return max(pieces)[1] if pieces else REST


def by_part(chosen, gigahertz, taken, samples):
    rows = [["a frame of these games", "number", "cycles each", "cycles", "least us", "taken us"]]
    games = len(chosen)
    sampled = {part: f"{time / games:.2f}" for part, time in samples.items()}
    cycles = 0
    for part in PARTS:
        number = statistics.fmean(map(part.count, chosen))
        cycles += number * part.cycles
        least = [f"{number:,.0f}", f"{part.cycles:g}", f"{number * part.cycles:,.0f}"]
        us = f"{number * part.cycles / gigahertz / 1e3:.2f}"
        rows.append([part.name, *least, us, sampled.get(part.name, "")])
    rows.append([REST, "", "", "", "", sampled.get(REST, "")])
    rows.append(["sum", "", "", f"{cycles:,.0f}", f"{cycles / gigahertz / 1e3:.2f}", f"{taken:.2f}"])
    return rows


def by_game(games, counted, gigahertz, taken):
    rows = [["", "least us", "taken us", "taken / least", "frames/s"]]
    factors = []
    for game in games:
        least = least_cycles(counted[game]) / gigahertz / 1e3
        factors.append(taken[game] / least)
        rows.append([game, f"{least:.2f}", f"{taken[game]:.2f}", f"{factors[-1]:.2f}", f"{1e6 / taken[game]:,.0f}"])
    mean = math.exp(statistics.fmean(map(math.log, factors)))
    return [*rows, ["geometric mean", "", "", f"{mean:.2f}", ""]]


def columns(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()


def processor():
    """The processor's name, where the system tells it."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else []
    return names[0] if names else platform.machine()


def commit():
    """The commit that was measured, and whether files but the one with the results differ from it."""
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
