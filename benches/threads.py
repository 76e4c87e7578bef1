#!/usr/bin/env python3
"""Predicts the throughput on many cores from measurements on one and two.

    benches/threads.py                              pong, 16 environments a thread, 16 and 64 threads
    benches/threads.py ms_pacman --threads 8,32
    benches/threads.py --cache 1048576              a different size of the private cache in bytes

On one thread, a step of the thread's environments takes `alone`. On two threads, with twice as many environments, it
takes longer by `loss`: the caller's work for the other thread's environments, contended atomics, and hand-over. Each
further thread is assumed to add as much, so that a step on N threads takes `alone + (N - 1) * loss`. The prediction
assumes cores as fast as this one's, and that memory delivers `traffic` for every frame: the bytes that miss a private
cache of the given size, counted by cachegrind. The required bandwidth is printed beside each prediction. Requires
Linux, Rust, Python 3.11 and, for the traffic, valgrind.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
LINE = 64
FRAMES = 4
# Batches between the two cache simulations. Each request takes the shortest time, which is one batch under cachegrind.
BATCHES = 5
REQUEST = "0 0.001\n"


def main():
    options = arguments()
    program = build()
    alone, together = step_times(program, options)
    loss = max(together - alone, 0.0)
    print(f"{options.game}, {options.envs} environments a thread")
    print(f"step on 1 thread {alone:.0f} us, on 2 threads {together:.0f} us, loss {loss:.1f} us")
    traffic = traffic_of(program, options) if shutil.which("valgrind") else None
    if traffic is None:
        print("skipped: valgrind is not installed, so the traffic is unknown")
    else:
        print(f"traffic beyond {options.cache >> 10} KB: {traffic:,.0f} bytes a frame")
    print(f"copying memory on one core: {copied():.1f} GB/s read and written")
    print("\nthreads  frames/s  efficiency  GB/s")
    for threads in options.threads:
        step = alone + (threads - 1) * loss
        rate = threads * options.envs * FRAMES / step * 1e6
        needed = f"{rate * traffic / 1e9:.1f}" if traffic is not None else "unknown"
        print(f"{threads:7}  {rate:8,.0f}  {alone / step:9.0%}  {needed}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="pong", metavar="GAME")
    parser.add_argument("--envs", type=int, default=16, help="environments of each thread [default: 16]")
    parser.add_argument("--cache", type=int, default=2 << 20, help="bytes of the private cache [default: 2 MB]")
    parser.add_argument("--rounds", type=int, default=15, help="interleaved measurements; medians count [default: 15]")
    parser.add_argument("--threads", type=numbers, default=numbers("1,2,16,64"), help="[default: 1,2,16,64]")
    return parser.parse_args()


def numbers(text):
    return [int(word) for word in text.split(",")]


def build():
    """Builds ale-train's side of the comparison with its peers. Returns its path."""
    command = ["cargo", "build", "--locked", "--release", "-p", "vector", "--example", "peer", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    programs = filter(None, (json.loads(line).get("executable") for line in built.stdout.splitlines()))
    return next(programs)


def step_times(program, options):
    """Returns the microseconds of a step of as many environments on one thread, and of twice as many on two."""
    works = [f"vector:{options.game}:{options.envs * threads}x{threads}" for threads in (1, 2)]
    times = [[], []]
    with subprocess.Popen([program, *works], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        for _ in range(options.rounds):
            for index in (0, 1):
                print(index, 0.3, file=process.stdin, flush=True)
                rate = float(process.stdout.readline())
                times[index].append((index + 1) * options.envs * FRAMES / rate * 1e6)
        process.stdin.close()
    return map(statistics.median, times)


def traffic_of(program, options):
    """Returns the bytes of a frame that miss the private cache, as the difference of two simulations."""
    few, many = misses(program, options, 1), misses(program, options, 1 + BATCHES)
    return (many - few) * LINE / (BATCHES * options.envs * FRAMES)


def misses(program, options, batches):
    with tempfile.NamedTemporaryFile("r") as log:
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--LL={options.cache},16,{LINE}"]
        command += ["--cachegrind-out-file=/dev/null", f"--log-file={log.name}"]
        command += [program, f"vector:{options.game}:{options.envs}x1"]
        subprocess.run(command, input=REQUEST * batches, text=True, stdout=subprocess.DEVNULL, check=True)
        return int(re.search(r"LL misses: +([\d,]+)", log.read()).group(1).replace(",", ""))


def copied():
    """Returns the gigabytes per second that one core copies, read and written."""
    size, best = 128 << 20, 0.0
    source, target = memoryview(bytearray(size)), memoryview(bytearray(size))
    for _ in range(5):
        start = time.perf_counter()
        target[:] = source
        best = max(best, 2 * size / (time.perf_counter() - start) / 1e9)
    return best


if __name__ == "__main__":
    main()
