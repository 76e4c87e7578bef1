"""The caller owns returned arrays, and the memory of dropped ones is reused."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ale_train.vector_env import AtariVectorEnv


def play(env: AtariVectorEnv, steps: int, seed: int = 0) -> list[tuple[np.ndarray, ...]]:
    random = np.random.default_rng(seed)
    received = []
    for _ in range(steps):
        batch = env.step(random.integers(env.action_space.nvec))
        received.append((*batch[:4], *batch[4].values()))
    return received


@pytest.mark.parametrize("size", [84, 83])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_arrays_never_change_afterwards(mode: str, size: int) -> None:
    env = AtariVectorEnv(
        "breakout", 3, autoreset_mode=mode, img_width=size, stack_num=1, episodic_life=True, num_threads=2
    )
    env.reset(seed=1)
    received = play(env, 100)
    copies = [[array.copy() for array in batch] for batch in received]
    play(env, 100)
    env.close()
    for batch, copied in zip(received, copies):
        for array, copy in zip(batch, copied):
            assert np.array_equal(array, copy)


def test_no_two_arrays_share_memory() -> None:
    env = AtariVectorEnv("pong", 2)
    arrays = [env.reset(seed=1)[0], *(batch[0] for batch in play(env, 10))]
    for index, array in enumerate(arrays):
        assert not any(np.shares_memory(array, other) for other in arrays[:index])


def test_writing_to_an_array_changes_nothing_else() -> None:
    clean, scribbled = AtariVectorEnv("pong", 2), AtariVectorEnv("pong", 2)
    clean.reset(seed=1)
    scribbled.reset(seed=1)[0].fill(77)
    for _ in range(20):
        expected, got = clean.step(np.array([2, 3])), scribbled.step(np.array([2, 3]))
        assert np.array_equal(expected[0], got[0])
        for array in (*got[:4], *got[4].values()):
            array.fill(1)
    mask = {"reset_mask": np.array([False, False])}
    assert np.array_equal(clean.reset(options=mask)[0], scribbled.reset(options=mask)[0])


def test_dropped_memory_is_used_again() -> None:
    env = AtariVectorEnv("pong", 2)
    env.reset(seed=1)
    addresses = set()
    for _ in range(50):
        observations = env.step(np.array([2, 3]))[0]
        addresses.add(observations.ctypes.data)
        del observations
    assert len(addresses) <= 4


def test_a_view_keeps_the_memory() -> None:
    env = AtariVectorEnv("pong", 2)
    corner = env.reset(seed=1)[0][1, -1, :5, :5]
    before = corner.copy()
    gc.collect()
    play(env, 10)
    assert np.array_equal(corner, before)


def resident() -> int:
    """Returns the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat() -> None:
    env = AtariVectorEnv("breakout", 8, autoreset_mode="SameStep", max_num_frames_per_episode=200)
    env.reset(seed=1)
    play(env, 100)
    before = resident()
    for _ in range(500):
        env.step(np.zeros(8, int))
    assert resident() - before < 8 << 20
