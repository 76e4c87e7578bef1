"""Other threads run during steps, threads may share an environment, and Ctrl-C interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ale_train.vector_env import AtariVectorEnv


def test_other_threads_run_while_environments_step() -> None:
    env = AtariVectorEnv("harvest", 8, frameskip=2000, max_num_frames_per_episode=10**9)
    env.reset(seed=1)
    ticks, done = 0, threading.Event()

    def step() -> None:
        env.step(np.zeros(8, int))
        done.set()

    thread = threading.Thread(target=step)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 3, "the GIL was held"


def test_threads_share_an_environment() -> None:
    env = AtariVectorEnv("harvest", 4)
    env.reset(seed=1)
    errors: list[BaseException] = []
    steps: list[int] = []

    def play() -> None:
        for step in range(200):
            try:
                env.step(np.zeros(4, int))
                steps.append(step)
            except RuntimeError:
                pass  # Another thread has sent actions in between.
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not errors
    # The last step of all has no rival.
    assert steps
    env.reset(seed=1)


@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_number_of_threads_changes_nothing(num_threads: int) -> None:
    def play(threads: int, offset: int) -> list[bytes]:
        env = AtariVectorEnv("harvest", 6, num_threads=threads, thread_affinity_offset=offset)
        env.reset(seed=3)
        return [env.step(np.arange(6) % 3)[0].tobytes() for _ in range(50)]

    assert play(num_threads, 0) == play(2, -1)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c() -> None:
    # Background processes of a shell ignore SIGINT unless they install a handler.
    program = """
import signal
import numpy as np
from ale_train.vector_env import AtariVectorEnv
signal.signal(signal.SIGINT, signal.default_int_handler)
env = AtariVectorEnv("harvest", 8, num_threads=2)
env.reset(seed=1)
print("stepping", flush=True)
while True:
    env.step(np.zeros(8, int))
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"stepping\n"
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in errors
    assert process.returncode != 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork")
def test_a_fork_drops_environments_silently() -> None:
    program = """
import os
from ale_train.vector_env import AtariVectorEnv
env = AtariVectorEnv("harvest", 4, num_threads=2)
env.reset(seed=1)
child = os.fork()
if child == 0:
    del env
else:
    assert os.waitpid(child, 0)[1] == 0
    env.close()
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (process.returncode, process.stderr) == (0, b"")
