#!/usr/bin/env python3
"""Counts the instructions of a part of a program by executing them one at a time on the processor itself.

    benches/single_step.py PROGRAM ARGUMENT ...

PROGRAM must have one thread. The part begins when the program, having printed a line, reads a line, and ends when it
aborts; any other end is an error. A repeated string instruction counts once. This takes microseconds for each
instruction, but needs no hardware counters, which most virtual machines lack, and sees the instructions that valgrind
does not offer. Requires Linux on x86-64, and the permission to trace one's own processes; without it the exit status is
77.
"""

import ctypes
import os
import signal
import subprocess
import sys

# Requests of ptrace, and the offset of the instruction pointer among the registers.
PEEK_REGISTER, SINGLE_STEP, ATTACH = 3, 9, 16
INSTRUCTION_POINTER = 16 * 8
# Exit status if programs cannot be traced here.
UNAVAILABLE = 77

ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
ptrace.restype = ctypes.c_long


def main():
    # The two processes take turns. On different cores, each turn would have to wait for a core to wake up.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if not process.stdout.readline():
                sys.exit("the program has ended without printing a line")
            if ptrace(ATTACH, process.pid, None, None) != 0:
                print(f"skipped: cannot trace the program: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
                sys.exit(UNAVAILABLE)
            print(count(process))
        finally:
            process.kill()


def count(process):
    """Counts the instructions of a process that has just been attached to, until it aborts."""
    os.waitpid(process.pid, 0)
    process.stdin.write(b"\n")
    process.stdin.flush()
    counted, previous = 0, None
    while (received := step(process.pid)) == signal.SIGTRAP:
        current = ptrace(PEEK_REGISTER, process.pid, INSTRUCTION_POINTER, None)
        counted += current != previous
        previous = current
    if received != signal.SIGABRT:
        end = f"received signal {received}" if received else "ended"
        sys.exit(f"the program has {end} instead of aborting")
    return counted


def step(pid):
    """Executes one instruction. Returns the signal that has stopped the program, or None if it has ended."""
    ptrace(SINGLE_STEP, pid, None, None)
    _, status = os.waitpid(pid, 0)
    return os.WSTOPSIG(status) if os.WIFSTOPPED(status) else None


if __name__ == "__main__":
    main()
