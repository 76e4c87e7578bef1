"""Invalid calls raise immediately, with ale-py's exception types where it has one; nothing hangs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import ale_train
import ale_train.envpool
from ale_train import arguments
from ale_train.cleanrl import CleanRLVectorEnv
from ale_train.errors import ActionError, GameError
from ale_train.vector_env import AtariVectorEnv


def make(**options: Any) -> AtariVectorEnv:
    return AtariVectorEnv(**{"game": "pong", "num_envs": 2, **options})


CONSTRUCTION: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"game": "Pong"}, AssertionError, "unknown game 'Pong'; did you mean pong"),
    ({"game": "brekout"}, GameError, "did you mean breakout"),
    ({"game": "xyzzy"}, ValueError, "lists the known ones"),
    ({"frameskip": (2, 5)}, gymnasium.error.Error, "Invalid frameskip type"),
    ({"frameskip": np.int64(4)}, gymnasium.error.Error, "Invalid frameskip type"),
    ({"frameskip": True}, gymnasium.error.Error, "Invalid frameskip type"),
    ({"frameskip": 0}, gymnasium.error.Error, "must be positive"),
    ({"autoreset_mode": "foo"}, ValueError, "foo"),
    ({"num_envs": 0}, ValueError, "num_envs is 0"),
    ({"num_envs": -1}, ValueError, "num_envs is -1"),
    ({"num_envs": 2.0}, TypeError, "num_envs must be an int"),
    ({"num_envs": None}, TypeError, "requires num_envs"),
    ({"stack_num": 0}, ValueError, "stack_num is 0"),
    ({"stack_num": "x"}, TypeError, "stack_num must be an int"),
    ({"stack_num": 65}, ValueError, "stack_num is 65, but must be between 1 and 64"),
    ({"stack_num": 2**40}, ValueError, "stack_num is 1099511627776, but must be between 1 and 64"),
    ({"img_height": 0}, ValueError, "img_height is 0"),
    ({"img_width": 0}, ValueError, "img_width is 0"),
    ({"img_height": -1}, ValueError, "img_height is -1"),
    ({"img_height": 84.0}, TypeError, "img_height must be an int"),
    ({"reward_clipping": "False"}, TypeError, "reward_clipping must be a bool, got 'False'"),
    ({"grayscale": None}, TypeError, "grayscale must be a bool, got None"),
    ({"pin_memory": "False"}, TypeError, "pin_memory must be a bool, got 'False'"),
    ({"episodic_life": 2}, TypeError, "episodic_life must be a bool, got 2"),
    ({"repeat_action_probability": "0.5"}, TypeError, "repeat_action_probability must be a number, got '0.5'"),
    ({"img_width": 2**40}, ValueError, "img_width is 1099511627776"),
    ({"max_num_frames_per_episode": 0}, ValueError, "max_num_frames_per_episode is 0"),
    ({"repeat_action_probability": float("nan")}, ValueError, "repeat_action_probability is NaN"),
    ({"game": None}, TypeError, "either game= or games="),
    ({"games": ["pong"]}, TypeError, "either game= or games="),
    ({"game": None, "games": []}, ValueError, "games is empty"),
    ({"game": None, "games": "pong"}, TypeError, "games must be a list of ids; game='pong' selects one game"),
    ({"foo": 1}, TypeError, "foo"),
    ({"mode": 77}, ValueError, "pong has no mode 77; its modes are"),
    ({"difficulty": [0, 9]}, ValueError, "pong has no difficulty 9"),
    ({"mode": [[0], [1], [0]]}, ValueError, "mode has entries for 3 environments, but there are 2"),
    ({"continuous": True, "continuous_action_threshold": float("inf")}, ValueError, "finite"),
    ({"num_envs": 65537}, ValueError, "num_envs is 65537, but must be between 1 and 65536"),
    ({"num_envs": 10**9}, ValueError, "between 1 and 65536"),
    ({"num_envs": 2**70}, ValueError, "between 1 and 65536"),
    ({"batch_size": 3}, ValueError, "batch_size is 3, but must be between 1 and 2"),
    ({"batch_size": -1}, ValueError, "batch_size is -1, but must be between 0"),
    ({"img_height": 4097}, ValueError, "img_height is 4097, but must be between 1 and 4096"),
    ({"frameskip": 2**31}, ValueError, "frameskip is 2147483648, but must be between 1 and 2147483647"),
    ({"noop_max": 108001}, ValueError, "noop_max is 108001, but must be between -2147483648 and 108000"),
    ({"noop_max": 2**40}, ValueError, "and 108000"),
    ({"max_num_frames_per_episode": -1}, ValueError, "max_num_frames_per_episode is -1"),
    ({"max_num_frames_per_episode": 2**31}, ValueError, "between 1 and 2147483647"),
    ({"thread_affinity_offset": 2**40}, ValueError, "thread_affinity_offset is 1099511627776"),
    (
        {"num_envs": 65536, "img_height": 4096, "img_width": 4096, "grayscale": False, "stack_num": 64},
        MemoryError,
        "GB of memory, which cannot be allocated; reduce num_envs",
    ),
]


@pytest.mark.parametrize(("options", "error", "message"), CONSTRUCTION)
def test_construction(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"noop_max": -1},
        {"noop_max": 108000, "num_envs": 1},
        {"repeat_action_probability": -1},
        {"repeat_action_probability": 2},
        {"num_threads": -1},
        {"num_threads": 2**40},
        {"thread_affinity_offset": -5},
        {"thread_affinity_offset": 10**6},
        {"frameskip": 2**31 - 1, "max_num_frames_per_episode": 2**31 - 1},
    ],
)
def test_unusual_arguments_that_ale_py_accepts_are_accepted(options: dict[str, Any]) -> None:
    make(**options).close()


WAYS_IN: list[Callable[[int], Any]] = [
    lambda num_envs: ale_train.make_vec("harvest", num_envs),
    lambda num_envs: ale_train.make_vec("CartPole-v1", num_envs),
    lambda num_envs: ale_train.make("Harvest-v5", num_envs=num_envs),
    lambda num_envs: ale_train.make("CartPole-v1", num_envs=num_envs),
    lambda num_envs: ale_train.envpool.make_dm("Harvest-v5", num_envs=num_envs),
    lambda num_envs: ale_train.envpool.make_dm("CartPole-v1", num_envs=num_envs),
    lambda num_envs: CleanRLVectorEnv("Harvest-v5", num_envs),
    lambda num_envs: ale_train.make_atari_vector_env("harvest", num_envs),
    lambda num_envs: AtariVectorEnv(games=["harvest", "pong"], num_envs=num_envs),
]


@pytest.mark.parametrize("way_in", WAYS_IN)
@pytest.mark.parametrize("num_envs", [65537, 2**31 - 1, 2**64])
def test_every_way_in_limits_the_number_of_environments(way_in: Callable[[int], Any], num_envs: int) -> None:
    with pytest.raises(ValueError, match=f"num_envs is {num_envs}, but must be between 1 and 65536"):
        way_in(num_envs)


def test_tasks_limit_threads() -> None:
    with pytest.raises(ValueError, match="num_threads is 1025, but must be between 0 and 1024"):
        ale_train.make_vec("CartPole-v1", 2, num_threads=1025)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_too_little_memory_is_an_exception() -> None:
    # Each way needs more than 4 GB.
    program = """
import resource, sys
import ale_train
ale_train.make_vec("harvest", 2).reset()
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for options in ({"num_envs": 65536}, {"num_envs": 64, "img_height": 4096, "img_width": 4096}):
    try:
        ale_train.make_vec("harvest", **options)
    except MemoryError as error:
        print(error)
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.count("which cannot be allocated") == 2


ACTIONS: list[tuple[Any, type[Exception], str]] = [
    ([0, 0], ActionError, "must be a NumPy array, got list"),
    (np.zeros(3, int), AssertionError, r"shape \(2,\), got \(3,\)"),
    (np.zeros((2, 1), int), AssertionError, "shape"),
    (np.zeros(2), AssertionError, "int32 or int64, got float64"),
    (np.zeros(2, np.uint8), AssertionError, "int32 or int64, got uint8"),
    (np.array([0, 6]), ValueError, r"environment 1: action 6 is not in the action space Discrete\(6\)"),
    (np.array([-1, 0]), ValueError, "environment 0: action -1"),
    (np.array([0, 2**32]), ValueError, "environment 1: action 2147483647"),
]


@pytest.mark.parametrize(("actions", "error", "message"), ACTIONS)
def test_actions(actions: Any, error: type[Exception], message: str) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(error, match=message):
        env.step(actions)
    # Nothing was sent, and the environment is still usable.
    env.step(np.array([0, 1]))


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (np.zeros((2, 3)), AssertionError, "of float32, got float64"),
        (np.zeros((2, 2), np.float32), AssertionError, r"shape \(2, 3\), got \(2, 2\)"),
        (np.zeros(2, np.float32), AssertionError, "shape"),
        (np.zeros(2, np.int64), AssertionError, "of float32"),
        (np.full((2, 3), np.nan, np.float32), ValueError, "environment 0: action"),
    ],
)
def test_continuous_actions(actions: np.ndarray, error: type[Exception], message: str) -> None:
    env = make(continuous=True)
    env.reset()
    with pytest.raises(error, match=message):
        env.step(actions)
    env.step(np.zeros((2, 3), np.float32))


def test_environments_and_sequences() -> None:
    env = make(num_envs=3)
    env.reset()
    for actions, env_ids, lengths, error in (
        ([0], [3], None, ValueError),
        ([0], [-1], None, ValueError),
        ([0], [0.5], None, TypeError),
        ([0, 1], [1, 1], None, ValueError),
        ([0, 1], [1], None, ActionError),
        ([0, 1, 2], [0, 1], [1, 1], ActionError),
        ([0, 1], [0, 1], [2, 0], ValueError),
        ([0, 1, 2, 3, 4], None, [2, 2], ActionError),
    ):
        with pytest.raises(error):
            env.send(np.array(actions), env_ids, lengths)
    env.send(np.array([1, 0]), [2, 0])
    with pytest.raises(RuntimeError, match="in flight"):
        env.recv()
    with pytest.raises(RuntimeError, match="environment 2 is in flight"):
        env.render(2)
    env.send(np.array([3]), [1])
    assert env.recv()[4]["env_id"].tolist() == [0, 1, 2]


def test_order_of_calls() -> None:
    env = make()
    for call in (lambda: env.step(np.zeros(2, int)), lambda: env.send(np.zeros(2, int)), env.recv, env.snapshot):
        with pytest.raises(RuntimeError):
            call()
    env.reset()
    with pytest.raises(RuntimeError, match="send to more first"):
        env.recv()
    env.send(np.zeros(2, int))
    for call in (lambda: env.send(np.zeros(2, int)), env.reset, env.snapshot):
        with pytest.raises(RuntimeError):
            call()
    env.recv()


SEEDS: list[tuple[Any, type[Exception], str]] = [
    (np.int64(3), TypeError, "Unsupported seed type int64"),
    ([1, 2], TypeError, "Unsupported seed type list"),
    (np.array([1, 2, 3]), ValueError, r"expected shape \(2,\), got \(3,\)"),
    (np.array([[1, 2]]), ValueError, r"got \(1, 2\)"),
    (np.array([1.0, 2.0]), TypeError, "array of integers"),
    (2**31 - 1, TypeError, "at most 2147483647, got 2147483648"),
    (np.array([0, 2**40]), TypeError, "at most 2147483647"),
]


@pytest.mark.parametrize(("seed", "error", "message"), SEEDS)
def test_seeds(seed: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make().reset(seed=seed)


MASKS: list[tuple[Any, type[Exception], str]] = [
    ([True, False], TypeError, "boolean numpy array"),
    (np.array([1, 0]), TypeError, "dtype int64"),
    (np.array([True]), ValueError, r"shape \(2,\), got \(1,\)"),
]


@pytest.mark.parametrize(("mask", "error", "message"), MASKS)
def test_masks(mask: Any, error: type[Exception], message: str) -> None:
    env = make()
    env.reset()
    with pytest.raises(error, match=message):
        env.reset(options={"reset_mask": mask})


def test_every_nonzero_byte_of_a_mask_counts_as_true() -> None:
    env, same = make(), make()
    env.reset(seed=1)
    same.reset(seed=1)
    mask = np.array([2, 0], np.uint8).view(bool)
    normalized = arguments.reset_mask({"reset_mask": mask}, 2)
    assert normalized is not None and normalized.view(np.uint8).tolist() == [1, 0]
    observations, _ = env.reset(seed=5, options={"reset_mask": mask})
    assert np.array_equal(observations, same.reset(seed=5, options={"reset_mask": np.array([True, False])})[0])


def test_the_first_reset_must_include_all_environments() -> None:
    env = make()
    with pytest.raises(RuntimeError, match=r"first reset\(\) must reset every environment \(got 1 of 2\)"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(options={"reset_mask": np.array([True, True])})


def test_closed() -> None:
    env = make()
    observations, _ = env.reset(seed=1)
    before = observations.copy()
    env.close()
    env.close()
    assert env.closed
    for call in (lambda: env.step(np.zeros(2, int)), env.reset, env.recv):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError):
            call()
    assert np.array_equal(observations, before)


def test_snapshots_that_do_not_fit() -> None:
    env, other = make(), make(game="breakout")
    env.reset(seed=1)
    other.reset(seed=1)
    for state in (b"", b"nonsense", other.snapshot(), env.snapshot()[:-1]):
        with pytest.raises(ValueError, match="snapshot"):
            env.restore(state)
    env.step(np.zeros(2, int))
