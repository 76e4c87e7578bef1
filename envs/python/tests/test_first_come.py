"""Batches smaller than the number of environments, filled by the environments that finish first."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import ale_py.vector_env
import numpy as np
import pytest

from ale_train.vector_env import AtariVectorEnv

STEPS = 60


def trajectories(env: Any, seed: int) -> dict[int, list[tuple[Any, ...]]]:
    """Returns the results of each environment for a fixed sequence of actions."""
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    observations, info = env.reset(seed=seed)
    zeros = np.zeros(env.batch_size, np.int32)
    batch = (observations, zeros, zeros.astype(bool), zeros.astype(bool), info)
    while True:
        ids = batch[4]["env_id"]
        assert len(set(ids.tolist())) == env.batch_size
        for row, env_id in enumerate(ids.tolist()):
            numbers = tuple(int(batch[4][key][row]) for key in ("lives", "frame_number", "episode_frame_number"))
            found[env_id].append((batch[0][row].tobytes(), *(batch[field][row] for field in (1, 2, 3)), *numbers))
        if len(found) == env.num_envs and min(map(len, found.values())) > STEPS:
            return {env_id: rows[:STEPS] for env_id, rows in found.items()}
        batch = env.step(np.array([(3 * env_id + 7 * len(found[env_id])) % 3 for env_id in ids.tolist()]))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_every_environment_plays_as_in_ale_py(mode: str) -> None:
    options = {"batch_size": 2, "autoreset_mode": mode, "max_num_frames_per_episode": 90}
    ours, theirs = AtariVectorEnv("breakout", 4, **options), ale_py.vector_env.AtariVectorEnv("breakout", 4, **options)
    for name in ("batch_size", "num_envs", "observation_space", "action_space"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert trajectories(ours, 5) == trajectories(theirs, 5)


@pytest.mark.parametrize("batch_size", [1, 3, 4])
def test_batch_size_and_threads_change_nothing(batch_size: int) -> None:
    expected = trajectories(AtariVectorEnv("harvest", 4, num_threads=1), 5)
    for num_threads in (1, 2, 4):
        env = AtariVectorEnv("harvest", 4, batch_size=batch_size, num_threads=num_threads)
        assert trajectories(env, 5) == expected
        assert trajectories(env, 5) == expected, "a reset drops the results in flight"


def test_resets_are_sent_like_actions() -> None:
    env, other = (AtariVectorEnv("harvest", 4) for _ in range(2))
    with pytest.raises(RuntimeError):
        env.send_reset([0])
    env.send_reset(seed=3)
    expected, _ = other.reset(seed=3)
    assert np.array_equal(env.recv()[0], expected)
    for _ in range(5):
        env.step(np.array([0, 1, 2, 0]))
        other.step(np.array([0, 1, 2, 0]))
    env.send_reset([2], seed=9)
    env.send(np.array([1, 1, 1]), [0, 1, 3])
    batch = env.recv()
    assert np.array_equal(batch[0][[0, 1, 3]], other.step(np.ones(4, int))[0][[0, 1, 3]])
    again, _ = other.reset(seed=9, options={"reset_mask": np.array([False, False, True, False])})
    assert np.array_equal(batch[0][2], again[2])
    with pytest.raises(ValueError, match="env_ids contains 4"):
        env.send_reset([4])


def test_errors() -> None:
    with pytest.raises(ValueError, match="batch_size is 5"):
        AtariVectorEnv("harvest", 4, batch_size=5)
    with pytest.raises(ValueError, match="batch_size is -1"):
        AtariVectorEnv("harvest", 4, batch_size=-1)
    env = AtariVectorEnv("harvest", 4, batch_size=2)
    env.reset()
    with pytest.raises(ValueError, match="Partial reset"):
        env.reset(options={"reset_mask": np.array([True, False, True, True])})
    with pytest.raises(AssertionError, match=r"\(2,\)"):
        env.send(np.zeros(4, int))
    env.recv()
    with pytest.raises(RuntimeError, match="in flight"):
        env.recv()
