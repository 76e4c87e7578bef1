"""Other threads run during steps, threads may share an environment, and Ctrl-C interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ale_train
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


#: Calls that would take minutes, during which the signal arrives.
LONG_CALLS = {
    "steps": """
env = AtariVectorEnv("harvest", 8, num_threads=2)
env.reset(seed=1)
ready()
while True:
    env.step(np.zeros(8, int))
""",
    "a reset on one thread": """
env = AtariVectorEnv("harvest", 200, num_threads=1, noop_max=108000)
ready()
env.reset(seed=1)
""",
    "a reset on several threads": """
env = AtariVectorEnv("harvest", 200, num_threads=2, noop_max=108000)
ready()
env.reset(seed=1)
""",
    "a wait for other threads": """
env = AtariVectorEnv("harvest", 200, batch_size=100, num_threads=2, noop_max=108000)
ready()
env.reset(seed=1)
""",
    "a long step": """
env = ale_train.AtariEnv("harvest", frameskip=2**31 - 1)
env.reset(seed=1)
ready()
env.step(0)
""",
    "a long act": """
ale = ale_train.ALEInterface()
ale.setInt("frame_skip", 2**31 - 1)
ready()
ale.loadROM(os.environ["ROM"])
ale.act(0)
""",
    "a download": """
sys.path = []
sys.executable = os.environ["SLOW_PYTHON"]
ready()
ale_train.AtariEnv("pong")
""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("call", LONG_CALLS)
def test_ctrl_c_ends(call: str, tmp_path: Path) -> None:
    # Background processes of a shell ignore SIGINT unless they install a handler.
    program = f"""
import os, signal, sys
import numpy as np
import ale_train
from ale_train.vector_env import AtariVectorEnv

def ready():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)
{LONG_CALLS[call]}
"""
    slow_python = tmp_path / "slow-python"
    slow_python.write_text("#!/bin/sh\nexec sleep 600\n")
    slow_python.chmod(0o755)
    rom = tmp_path / "harvest.bin"
    rom.write_bytes(ale_train.roms.get_rom_path("harvest").read_bytes())
    environment = {**os.environ, "ALE_TRAIN_ROMS": str(tmp_path), "SLOW_PYTHON": str(slow_python), "ROM": str(rom)}
    environment.pop("ALE_ROMS_DIR", None)
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, env=environment)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        assert process.poll() is None, "the call is not long"
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in errors
    assert process.returncode != 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_handlers_of_signals_run_during_a_call_and_only_exceptions_interrupt_it() -> None:
    program = """
import signal, threading, time
from ale_train.vector_env import AtariVectorEnv
env, other = AtariVectorEnv("harvest", 8, num_threads=2, noop_max=108000), AtariVectorEnv("harvest", 1)
def handle(*_):
    arrived.append(time.monotonic())
    other.reset(seed=1)
    if uses_same:
        env.snapshot()
signal.signal(signal.SIGUSR1, handle)
for uses_same in (False, True):
    arrived = []
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    try:
        env.reset(seed=1)
        end = time.monotonic()
        print("complete", len(arrived), arrived[0] < end - 0.1)
    except RuntimeError as error:
        print(error)
observations = env.reset(seed=1)[0]
print(observations.shape)
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.splitlines() == [
        "complete 1 True",
        "a signal handler cannot use the environments whose call the signal interrupted",
        "(8, 4, 84, 84)",
    ]


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
