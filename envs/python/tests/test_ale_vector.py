"""``env.ale`` of vector environments."""

from __future__ import annotations

from typing import Any

import ale_py.vector_env
import numpy as np
import pytest

from ale_train import Action
from ale_train.vector_env import AtariVectorEnv
from beside import assert_same_array


def both(**options: Any) -> tuple[Any, Any]:
    arguments = {"game": "breakout", "num_envs": 3, **options}
    return AtariVectorEnv(**arguments), ale_py.vector_env.AtariVectorEnv(**arguments)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"full_action_space": True},
        {"continuous": True},
        {"grayscale": False, "stack_num": 2, "batch_size": 2},
    ],
)
def test_queries(options: dict[str, Any]) -> None:
    ours, theirs = both(**options)
    assert [int(action) for action in ours.ale.get_action_set()] == [a.value for a in theirs.ale.get_action_set()]
    assert ours.ale.get_num_envs() == theirs.ale.get_num_envs()
    assert ours.ale.get_observation_shape() == theirs.ale.get_observation_shape()
    our, their = ours.ale.handle(), theirs.ale.handle()
    assert (our.dtype, our.shape) == (their.dtype, their.shape)
    assert {name for name in dir(theirs.ale) if name[0] != "_"} <= set(dir(ours.ale))


def test_calls_equal_those_of_ale_py() -> None:
    ours, theirs = both(repeat_action_probability=0.25)

    def assert_same(our: Any, their: Any) -> None:
        for one, other in zip(our[:-1], their[:-1]):
            assert_same_array("array", one, other)
        assert list(our[-1]) == list(their[-1])
        for name in our[-1]:
            assert_same_array(name, our[-1][name], their[-1][name])

    random = np.random.default_rng(1)
    for env_ids, seeds in (([0, 1, 2], [5, 6, 7]), ([2, 0], [8, 9]), ([1], [-1]), ([], [])):
        assert_same(ours.ale.reset(env_ids, seeds), theirs.ale.reset(env_ids, seeds))
        for _ in range(10):
            actions = random.integers(4, size=3).tolist()
            for env in (ours, theirs):
                env.ale.send(actions, [1.0] * 3)
            assert_same(ours.ale.recv(), theirs.ale.recv())


CALLS: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("reset", ([1, 1], [5, 5]), ValueError, "reset has a duplicate env_id=1"),
    ("reset", ([3], [5]), IndexError, r"reset env_id 3 is out of range \[0, 3\)"),
    ("reset", ([-1], [5]), Exception, "range"),
    ("reset", ([0, 1], [5]), ValueError, "env_ids and seeds must have same size"),
    ("send", ([0, 1], [1.0, 1.0]), ValueError, "Expected 3 actions, got 2"),
    ("send", ([0, 1, 2], [1.0, 1.0]), ValueError, "action_ids and paddle_strengths must have same size"),
]


@pytest.mark.parametrize(("method", "arguments", "error", "message"), CALLS)
def test_errors_equal_those_of_ale_py(
    method: str, arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    for env in both():
        env.ale.reset([0, 1, 2], [1, 2, 3])
        with pytest.raises(error, match=message):
            getattr(env.ale, method)(*arguments)


def test_errors() -> None:
    env = AtariVectorEnv(games=["pong", "breakout"], num_envs=1)
    with pytest.raises(RuntimeError, match="different actions; get_action_sets"):
        env.ale.get_action_set()
    assert env.ale.get_action_sets()[1] == [Action.NOOP, Action.FIRE, Action.RIGHT, Action.LEFT]
    with pytest.raises(RuntimeError, match="before the first reset"):
        env.ale.send([0, 0], [1, 1])
    env.reset()
    with pytest.raises(ValueError, match=r"must be 1, got \[1, 0.5\]"):
        env.ale.send([0, 0], [1, 0.5])
    with pytest.raises(ValueError, match="environment 1: action 4"):
        env.ale.send([0, 4], [1, 1])
    with pytest.raises(ValueError, match="env_id contains 2"):
        env.ale.emulator(2)
    env.send(np.array([0, 0]))
    with pytest.raises(RuntimeError, match="in flight"):
        env.ale.emulator(0)
    continuous = AtariVectorEnv("pong", 1, continuous=True)
    continuous.reset()
    with pytest.raises(RuntimeError, match="the actions are continuous"):
        continuous.ale.send([0], [1])
    ale = AtariVectorEnv("pong", 1).ale
    with pytest.raises(RuntimeError, match="no longer exists"):
        ale.get_num_envs()


def test_emulators_are_copies_in_the_state_of_their_environments() -> None:
    options: dict[str, Any] = {"games": ["breakout", "ms_pacman"], "num_envs": 1, "repeat_action_probability": 0.25}
    env, same = AtariVectorEnv(**options), AtariVectorEnv(**options)
    _, info = env.reset(seed=4)
    same.reset(seed=4)
    for _ in range(30):
        _, _, _, _, info = env.step(np.array([1, 2]))
        same.step(np.array([1, 2]))
    for env_id in range(2):
        ale = env.ale.emulator(env_id)
        assert ale.lives() == info["lives"][env_id]
        assert ale.getFrameNumber() == info["frame_number"][env_id]
        assert ale.getEpisodeFrameNumber() == info["episode_frame_number"][env_id]
        assert ale.getFloat("repeat_action_probability") == 0.25
        assert not ale.game_over()
        assert np.array_equal(ale.getRAM(), env.ram()[env_id])
        assert np.array_equal(ale.getScreenRGB(), env.render(env_id))
        if env_id == 0:
            # A copy that acts like the environment arrives in the same state, sticky actions included.
            for _ in range(4):
                ale.act(Action.FIRE)
            env.step(np.array([1, 2]))
            assert np.array_equal(ale.getRAM(), env.ram()[0])
            same.step(np.array([1, 2]))
            info = env.reset(options={"reset_mask": np.zeros(2, bool)})[1]
        ale.reset_game()
    assert np.array_equal(env.step(np.array([1, 2]))[0], same.step(np.array([1, 2]))[0])
    assert env.ale.emulator(0).getAvailableModes() == list(range(0, 48, 4))
