"""``env.xla()``: the environments within programs that JAX compiles."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ale_train
from ale_train.errors import ActionError
from ale_train.vector_env import AtariVectorEnv

STEPS = 60

#: Entries that every step of XLA has, but a step of NumPy only if an episode ended.
OF_EPISODES = {"final_obs", "episode", "_episode", "final_info"}

ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "one game": {"game": "breakout", "num_envs": 3, "repeat_action_probability": 0.25},
    "more info": {"game": "breakout", "num_envs": 2, "extra_info": True, "life_loss_info": True},
    "several games": {"games": ["pong", "breakout", "air_raid"], "num_envs": 2},
    "continuous": {"game": "breakout", "num_envs": 2, "continuous": True},
    "padded rows": {"game": "harvest", "num_envs": 3, "img_height": 3, "img_width": 3, "stack_num": 1},
    "RAM": {"game": "pong", "num_envs": 2, "ram": True},
}


def make(name: str = "one game", **options: Any) -> AtariVectorEnv:
    return AtariVectorEnv(**{**ENVIRONMENTS[name], "max_num_frames_per_episode": 90, **options})


def actions_for(env: AtariVectorEnv, steps: int = STEPS) -> np.ndarray:
    """Returns random actions, ``(steps, rows)`` or ``(steps, rows, 3)``."""
    random = np.random.default_rng(1)
    if env.continuous:
        return random.uniform(-1, 1, (steps, env.num_envs, 3)).astype(np.float32)
    return random.integers(env.action_space.nvec, size=(steps, env.num_envs))


def assert_same(name: str, ours: Any, expected: np.ndarray) -> None:
    assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape), name
    assert np.array_equal(ours, expected), name


def assert_same_info(ours: dict[str, Any], expected: dict[str, Any], ended: np.ndarray) -> None:
    """Compares all entries. Those that exist only after an episode are compared in rows whose episode ended."""
    assert set(expected) <= set(ours) <= set(expected) | OF_EPISODES
    for name in set(expected) - OF_EPISODES:
        assert_same(name, ours[name], expected[name])
    if "final_obs" in expected:
        assert_same("final_obs", np.asarray(ours["final_obs"])[ended], expected["final_obs"][ended])
    if "_episode" not in expected:
        return
    over = expected["_episode"]
    assert np.array_equal(ours["_episode"], over)
    for name in expected["final_info"]:
        assert np.array_equal(ours["final_info"][name], expected["final_info"][name])
    for name in ("r", "l"):
        assert np.array_equal(ours["episode"][name], expected["episode"][name])
    assert (np.asarray(ours["episode"]["t"])[over] > 0).all()


def assert_same_batch(ours: Any, expected: Any) -> None:
    for name, our, their in zip(("observations", "rewards", "terminated", "truncated"), ours, expected):
        assert_same(name, our, their)
    assert_same_info(ours[4], expected[4], ended=expected[2] | expected[3])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_scan_equals_step(name: str, mode: str) -> None:
    env, same = make(name, autoreset_mode=mode), make(name, autoreset_mode=mode)
    handle, reset, step = env.xla()
    actions = actions_for(env)

    @jax.jit
    def play(handle: Any, actions: Any) -> Any:
        handle, first = reset(handle, 7)
        handle, batches = jax.lax.scan(step, handle, actions)
        return handle, first, batches

    final, first, batches = play(handle, actions.astype(actions.dtype if env.continuous else np.int32))
    assert np.array_equal(final, handle)
    observations, info = same.reset(seed=7)
    assert_same("observations", first[0], observations)
    assert_same_info(first[1], info, ended=np.zeros(env.num_envs, bool))
    ends = 0
    for index, action in enumerate(actions):
        expected = same.step(action)
        assert_same_batch(jax.tree.map(lambda array, index=index: array[index], batches), expected)
        ends += int((expected[2] | expected[3]).sum())
    assert ends >= env.num_envs


@pytest.mark.parametrize("compile", [jax.jit, lambda function: function])
def test_calls_one_by_one(compile: Any) -> None:
    env, same = make(), make()
    handle, reset, step = env.xla()
    step = compile(step)
    handle, _ = compile(reset)(handle, np.array([5, 9, 5], np.int32))
    same.reset(seed=np.array([5, 9, 5]))
    for action in actions_for(env, 5):
        handle, batch = step(handle, jnp.asarray(action))
        assert_same_batch(batch, same.step(action))


def test_xla_and_step_alternate() -> None:
    env, same = make(), make()
    handle, _, step = env.xla()
    env.reset(seed=3)
    same.reset(seed=3)
    for index, action in enumerate(actions_for(env, 20)):
        batch = env.step(action) if index % 2 else step(handle, action)[1]
        assert_same_batch(batch, same.step(action))


def test_masks_and_seeds_of_resets_may_be_traced() -> None:
    env, same = make(), make()
    handle, reset, step = env.xla()
    handle, _ = reset(handle, 1)
    same.reset(seed=1)
    handle, _ = step(handle, np.array([1, 1, 1]))
    same.step(np.array([1, 1, 1]))

    @jax.jit
    def again(handle: Any, first: Any, mask: Any) -> Any:
        return reset(handle, first + 1, ~mask)

    for first, mask in ((4, [True, False, False]), (9, [False, False, True]), (0, [True, True, True])):
        handle, (observations, info) = again(handle, jnp.int32(first), jnp.array(mask))
        expected, expected_info = same.reset(seed=first + 1, options={"reset_mask": ~np.array(mask)})
        assert_same("observations", observations, expected)
        assert_same_info(info, expected_info, ended=np.zeros(3, bool))
    handle, (observations, info) = reset(handle, np.array([8]), np.array([False, True, False]))
    expected, _ = same.reset(seed=np.array([8]), options={"reset_mask": np.array([False, True, False])})
    assert_same("observations", observations, expected)
    # A reset without a seed continues the random number generators.
    assert_same("observations", reset(handle)[1][0], same.reset()[0])


def test_an_unseeded_first_reset_draws_seeds() -> None:
    def frames() -> list[int]:
        handle, reset, _ = make(num_envs=8).xla()
        numbers: list[int] = reset(handle)[1][1]["frame_number"].tolist()
        return numbers

    assert frames() != frames()


def test_first_come_batches() -> None:
    env = make(num_envs=4, batch_size=2)
    handle, reset, step = env.xla()
    handle, (observations, info) = reset(handle, 5)
    assert observations.shape[0] == 2
    seen = set(info["env_id"].tolist())
    for _ in range(50):
        handle, batch = step(handle, np.array([1, 2]))
        seen |= set(batch[4]["env_id"].tolist())
    assert seen == {0, 1, 2, 3}


def test_functions_and_methods_of_an_envpool_alternate() -> None:
    env = ale_train.make("Harvest-v5", num_envs=4)
    handle, recv, send, step = env.xla()
    env.async_reset()
    handle, _ = jax.block_until_ready(recv(handle))
    assert env.reset()[1]["env_id"].tolist() == [0, 1, 2, 3]
    handle, _ = jax.block_until_ready(step(handle, np.array([1, 1, 1, 1])))
    assert env.step(np.array([1, 2]), np.array([3, 1]))[4]["env_id"].tolist() == [3, 1]
    env.send(np.array([1]), np.array([2]))
    jax.block_until_ready(send(handle, np.array([1]), np.array([0])))
    observations, *_, info = env.recv()
    assert len(observations) == 2 and sorted(info["env_id"].tolist()) == [0, 2]


def test_the_functions_keep_the_environments_alive() -> None:
    handle, reset, step = make().xla()
    gc.collect()
    handle, _ = reset(handle, 1)
    step(handle, np.array([1, 2, 3]))


ACTIONS: list[tuple[str, Any, str]] = [
    ("one game", [0, 0], r"shape \(3,\), got \(2,\)"),
    ("one game", [[0], [0], [0]], "shape"),
    ("one game", [0.0, 0.0, 0.0], "int32 or int64, got float32"),
    ("one game", [True, False, True], "int32 or int64, got bool"),
    ("continuous", np.zeros((2, 2), np.float32), r"shape \(2, 3\), got \(2, 2\)"),
    ("continuous", [0, 0], r"shape \(2, 3\), got \(2,\)"),
    ("continuous", np.zeros((2, 3), bool), "of float32, got bool"),
]


@pytest.mark.parametrize(("name", "actions", "message"), ACTIONS)
def test_actions_of_the_wrong_form(name: str, actions: Any, message: str) -> None:
    handle, reset, step = make(name).xla()
    handle, _ = reset(handle, 1)
    for call in (step, jax.jit(step)):
        with pytest.raises(ActionError, match=message):
            call(handle, jnp.asarray(actions))


VALUES: list[tuple[str, Any, str]] = [
    ("one game", [0, 4, 0], r"environment 1: action 4 is not in the action space Discrete\(4\)"),
    ("one game", [0, 0, -1], "environment 2: action -1"),
    ("several games", [0, 5, 4, 0, 0, 0], "environment 2: action 4"),
    ("continuous", np.full((2, 3), np.nan, np.float32), "environment 0: action"),
]


@pytest.mark.parametrize(("name", "actions", "message"), VALUES)
def test_invalid_actions(name: str, actions: Any, message: str) -> None:
    env = make(name)
    handle, reset, step = env.xla()
    handle, _ = reset(handle, 1)
    for call in (step, jax.jit(step)):
        with pytest.raises(jax.errors.JaxRuntimeError, match=message):
            jax.block_until_ready(call(handle, np.asarray(actions)))
    # Nothing was sent, and the environment is still usable.
    step(handle, np.zeros_like(actions_for(env, 1)[0]))


def test_an_action_of_64_bits_is_not_truncated() -> None:
    handle, reset, step = make().xla()
    handle, _ = reset(handle, 1)
    assert "environment 0: action 2147483647" in failing(step, handle, np.array([2**32, 0, 0]))


def failing(call: Any, *arguments: Any) -> str:
    with pytest.raises(jax.errors.JaxRuntimeError) as error:
        jax.block_until_ready(call(*arguments))
    return str(error.value)


def test_order_of_calls() -> None:
    env = make()
    handle, reset, step = env.xla()
    assert "send was called before the first reset" in failing(step, handle, np.zeros(3, int))
    some = np.array([True, False, True])
    assert "must reset every environment (got 2 of 3)" in failing(reset, handle, 1, some)
    handle, _ = reset(handle, 1)
    assert "expected shape (2,), got [3]" in failing(reset, handle, np.arange(3), some)
    assert "at most 2147483647, got 2147483649" in failing(reset, handle, 2**31 - 1)
    env.send(np.zeros(3, int))
    assert "in flight" in failing(step, handle, np.zeros(3, int))
    assert "between send and recv" in failing(reset, handle, 1)
    env.recv()
    env.close()
    assert "the vector environment of this handle is closed" in failing(step, handle, np.zeros(3, int))


def test_handles_of_other_environments() -> None:
    handle, reset, step = make().xla()
    other, other_reset, _ = make(num_envs=2).xla()
    other_reset(other, 1)
    assert "action values: got 3, expected 2" in failing(step, other, np.zeros(3, int))
    assert "entries of the reset mask: got 3, expected 2" in failing(reset, other, 1)
    assert "must have 8 elements" in failing(step, handle[:4], np.zeros(3, int))
    assert "handle must be of uint8" in failing(step, handle.astype(jnp.float32), np.zeros(3, int))
    assert "is closed" in failing(step, jnp.zeros(8, jnp.uint8), np.zeros(3, int))


SEEDS: list[tuple[Any, Any, type[Exception], str]] = [
    (1.5, None, TypeError, "got float"),
    (2**31, None, TypeError, "at most 2147483647"),
    (np.array([1.0, 2.0, 3.0]), None, TypeError, "must be integers"),
    (jnp.array([1.0]), None, TypeError, "array of int32, got float32"),
    ([1.0, 2.0, 3.0], None, TypeError, "must be integers"),
    ([2**31, 0, 0], None, TypeError, "at most 2147483647"),
    (1, [1, 0, 1], TypeError, "boolean array"),
    (1, np.array([1, 0, 1]), TypeError, "dtype int64"),
    (1, np.array([True]), ValueError, r"shape \(3,\), got \(1,\)"),
]


@pytest.mark.parametrize(("seed", "mask", "error", "message"), SEEDS)
def test_seeds_and_masks(seed: Any, mask: Any, error: type[Exception], message: str) -> None:
    handle, reset, _ = make().xla()
    with pytest.raises(error, match=message):
        reset(handle, seed, mask)


@contextlib.contextmanager
def with_x64(enabled: bool) -> Iterator[None]:
    """Sets ``jax_enable_x64`` in a block."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", enabled)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def test_lists_of_seeds_and_masks() -> None:
    env, same = make(), make()
    handle, reset, _ = env.xla()
    handle, (observations, _) = reset(handle, [5, 9, 5])
    assert np.array_equal(observations, same.reset(seed=np.array([5, 9, 5]))[0])
    mask = [True, False, True]
    handle, (observations, _) = reset(handle, (3, 4), mask)
    assert np.array_equal(observations, same.reset(seed=np.array([3, 4]), options={"reset_mask": np.array(mask)})[0])
    handle, (observations, _) = jax.jit(lambda handle, seed: reset(handle, [seed, 8, seed + 1]))(handle, 7)
    assert np.array_equal(observations, same.reset(seed=np.array([7, 8, 8]))[0])


@pytest.mark.parametrize("compile", [jax.jit, lambda function: function])
def test_integers_of_64_bits_in_jax(compile: Any) -> None:
    env, same = make(), make()
    with with_x64(True):
        handle, reset, step = env.xla()
        seeds = jnp.array([5, 9, 7])
        handle, _ = compile(reset)(handle, seeds)
        same.reset(seed=np.array([5, 9, 7]))
        for action in actions_for(env, 20):
            actions = jnp.asarray(action)
            assert seeds.dtype == actions.dtype == np.int64
            handle, batch = compile(step)(handle, actions)
            assert_same_batch(batch, same.step(action))
        assert "environment 0: action 2147483647" in failing(compile(step), handle, jnp.array([2**32, 0, 0]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float16, np.float64, jnp.bfloat16])
@pytest.mark.parametrize("x64", [False, True])
def test_continuous_actions_of_other_types(dtype: Any, x64: bool) -> None:
    env, same = make("continuous"), make("continuous")
    with with_x64(x64):
        handle, reset, step = env.xla()
        handle, _ = reset(handle, 1)
        same.reset(seed=1)
        for action in np.array([[[1, 0, 0], [1, 2, 1]], [[0, 1, 1], [1, 3, 0]], [[1, 1, 0], [0, 0, 1]]], dtype):
            handle, batch = step(handle, action)
            assert_same_batch(batch, same.step(action.astype(np.float32)))


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    from ale_train import xla

    monkeypatch.setattr(xla, "import_jax", xla.import_jax.__wrapped__)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="pip install jax"):
        make().xla()


def test_closed() -> None:
    env = make()
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.xla()
