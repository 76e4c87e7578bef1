"""``ale_train.make``: the EnvPool interface."""

from __future__ import annotations

from typing import Any

import dm_env
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import ale_train
import ale_train.envpool as envpool
from ale_train.errors import GameError
from ale_train.vector_env import AtariVectorEnv


@pytest.mark.parametrize("env_type", ["gym", "gymnasium"])
def test_asynchronous_loop(env_type: str) -> None:
    env = ale_train.make("Pong-v5", env_type=env_type, num_envs=3, batch_size=2, seed=1)
    assert len(env) == env.num_envs == 3
    assert env.is_async
    assert env.all_env_ids.tolist() == [0, 1, 2]
    assert env.observation_space == Box(0, 255, (4, 84, 84), np.uint8)
    assert env.action_space == Discrete(6)
    assert env.spec.config.batch_size == env.config["batch_size"] == 2
    env.async_reset()
    steps, results = np.zeros(3, int) - 1, np.zeros(3, int)
    # While a thread compiles the game's code, its environment may fall behind by many rounds, even by an episode.
    for _ in range(20_000):
        if (results > 10).all():
            break
        observations, rewards, terminated, truncated, info = env.recv()
        assert (observations.shape, observations.dtype) == ((2, 4, 84, 84), np.uint8)
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float32, bool, bool)
        ids = info["env_id"]
        results[ids] += 1
        steps[ids] += 1
        assert np.array_equal(info["elapsed_step"], steps[ids])
        assert info["ram"].shape == (2, 128)
        assert np.array_equal(info["players"]["env_id"], ids)
        steps[ids[terminated | truncated]] = -1
        env.send(ids % 6, ids)
    assert (results > 10).all()
    env.close()


def test_an_asynchronous_pool_can_be_reset_again() -> None:
    env = ale_train.make("Pong-v5", num_envs=4, batch_size=2, seed=1)
    env.reset()
    for _ in range(3):
        env.step(np.zeros(2, int))
    _, info = env.reset()
    assert info["elapsed_step"].tolist() == [0, 0]
    env.async_reset()
    received = []
    for _ in range(2):
        *_, info = env.recv()
        received += info["env_id"].tolist()
        assert info["elapsed_step"].tolist() == [0, 0]
    assert sorted(received) == [0, 1, 2, 3]


def test_limits_that_are_never_reached() -> None:
    env = ale_train.make("Pong-v5", max_episode_steps=2**31 - 1, frame_skip=np.int64(4))
    env.reset()
    assert not env.step(np.zeros(1, int))[3].any()


def test_options_that_the_interface_determines() -> None:
    with pytest.raises(TypeError, match="autoreset_mode"):
        ale_train.make("CartPole-v1", autoreset_mode="SameStep")
    with pytest.raises(ValueError, match="num_envs is 0"):
        ale_train.make("CartPole-v1", num_envs=0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_episode_steps": 0}, ValueError, "^max_episode_steps is 0, "),
        ({"frame_skip": 0}, ValueError, "^frame_skip is 0, "),
        ({"reward_clip": "x"}, TypeError, "^reward_clip must be a bool"),
        ({"gray_scale": "x"}, TypeError, "^gray_scale must be a bool"),
        ({"zero_discount_on_life_loss": 2}, TypeError, "^zero_discount_on_life_loss must be a bool"),
        ({"mode": "a"}, TypeError, "^mode must be an int"),
        ({"difficulty": -2}, ValueError, "^difficulty is -2, "),
    ],
)
def test_errors_name_the_options_of_the_interface(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        ale_train.make("Harvest-v5", **options)


def test_same_bytes_as_the_vector_environment() -> None:
    env = ale_train.make("Breakout-v5", num_envs=2, seed=5, max_episode_steps=50, reward_clip=True)
    same = AtariVectorEnv("breakout", 2, fill_stack=True, rules="envpool", max_num_frames_per_episode=200)
    observations, info = env.reset()
    expected, _ = same.reset(seed=5)
    assert np.array_equal(observations, expected)
    assert info["lives"].tolist() == [5, 5]
    random = np.random.default_rng(1)
    for _ in range(120):
        actions = random.integers(4, size=2)
        ours, theirs = env.step(actions, np.array([0, 1])), same.step(actions)
        for index in range(4):
            assert np.array_equal(ours[index], theirs[index])


def test_dm() -> None:
    env = ale_train.make("Breakout-v5", env_type="dm", num_envs=2, max_episode_steps=3)
    step = env.reset()
    assert isinstance(step, dm_env.TimeStep)
    kinds, discounts = [step.step_type.tolist()], [step.discount.tolist()]
    for _ in range(5):
        step = env.step(np.array([1, 1], np.int32))
        kinds.append(step.step_type.tolist())
        discounts.append(step.discount.tolist())
    first, mid, last = ([int(kind)] * 2 for kind in (dm_env.StepType.FIRST, dm_env.StepType.MID, dm_env.StepType.LAST))
    assert kinds == [first, mid, mid, last, first, mid]
    assert discounts == [[1.0, 1.0]] * 3 + [[0.0, 0.0]] + [[1.0, 1.0]] * 2
    observation, spec = step.observation, env.observation_spec()
    assert observation._fields == spec._fields
    for name in ("env_id", "obs", "lives", "reward", "terminated", "ram"):
        array, one = getattr(observation, name), getattr(spec, name)
        assert (array.dtype, array.shape[1:]) == (one.dtype, one.shape), name
        one.validate(array[0])
    assert env.action_spec().num_values == 4
    env.discount_spec().validate(step.discount[0])
    env.reward_spec().validate(step.reward[0])


def until_a_life_is_lost(env: Any) -> Any:
    env.reset()
    for _ in range(400):
        step = env.step(np.array([1]))
        lives = step.observation.lives if isinstance(step, tuple) and hasattr(step, "observation") else step[4]["lives"]
        if lives[0] == 4:
            return step
    raise AssertionError("no life was lost")


def test_a_lost_life_is_a_discount_of_zero_and_does_not_end_the_episode() -> None:
    options = {"num_envs": 1, "zero_discount_on_life_loss": True}
    step = until_a_life_is_lost(ale_train.make("Breakout-v5", env_type="dm", **options))
    assert (step.step_type[0], step.discount[0]) == (dm_env.StepType.MID, 0)
    assert not until_a_life_is_lost(ale_train.make("Breakout-v5", **options))[2][0]
    step = until_a_life_is_lost(ale_train.make("Breakout-v5", env_type="dm", num_envs=1))
    assert step.discount[0] == 1


def test_resetting_chosen_environments() -> None:
    env = ale_train.make("Pong-v5", num_envs=3)
    env.reset()
    for _ in range(3):
        env.step(np.array([1, 2, 3]))
    observations, info = env.reset(np.array([1]))
    assert observations.shape[0] == 1
    assert (info["env_id"].tolist(), info["elapsed_step"].tolist()) == ([1], [0])
    assert env.step(np.array([1, 2, 3]))[4]["elapsed_step"].tolist() == [4, 1, 4]


def test_sending_to_some_environments_several_times() -> None:
    env, same = (ale_train.make("Breakout-v5", num_envs=4) for _ in range(2))
    env.reset()
    same.reset()
    env.send(np.array([1, 2]), np.array([3, 0]))
    env.send(np.array([3]), np.array([1]))
    observations, *_, info = env.recv()
    expected, *_ = same.step(np.array([1, 2, 3]), np.array([3, 0, 1]))
    assert np.array_equal(observations, expected)
    assert info["env_id"].tolist() == [3, 0, 1]
    with pytest.raises(RuntimeError, match="send to more first"):
        env.recv()


def test_resetting_chosen_environments_of_an_asynchronous_pool() -> None:
    env = ale_train.make("Pong-v5", num_envs=3, batch_size=1)
    _, info = env.reset()
    for _ in range(8):
        info = env.step(np.array([1]), info["env_id"])[4]
    chosen = info["env_id"]
    env.send(np.zeros(0, int), [])
    env.recv()
    env.recv()
    observations, info = env.reset(chosen)
    assert observations.shape[0] == 1
    assert (info["env_id"].tolist(), info["elapsed_step"].tolist()) == (chosen.tolist(), [0])
    with pytest.raises(RuntimeError, match="send to more first"):
        env.recv()


def test_seeds() -> None:
    def first(**options: Any) -> np.ndarray:
        return ale_train.make("Pong-v5", num_envs=2, **options).reset()[1]["ram"]

    assert np.array_equal(first(), first())
    assert np.array_equal(first(seed=3), first(env_seed=[3, 4]))
    assert not np.array_equal(first(seed=3), first(seed=4))
    for same in (np.int64(3), [3, 4], (3, 4), np.array([3, 4])):
        assert np.array_equal(first(seed=3), first(seed=same))


def test_first_seeds_belong_to_environments_in_any_order() -> None:
    def first(order: list[int]) -> np.ndarray:
        env = ale_train.VectorAtariEnv("breakout", 2, seed=7)
        env.send_reset(order)
        env.recv()
        return env.ram()

    assert np.array_equal(first([1, 0]), first([0, 1])) and not np.array_equal(*first([0, 1]))


def test_returned_arrays_do_not_share_memory() -> None:
    env = ale_train.make("Breakout-v5", num_envs=2)
    env.reset()
    _, rewards, _, _, info = env.step(np.zeros(2, np.int32))
    rewards += 1
    info["players"]["env_id"] += 1
    assert (info["reward"].tolist(), info["env_id"].tolist()) == ([0, 0], [0, 1])


def test_the_type_of_an_option_does_not_change_that_of_an_entry() -> None:
    for frame_skip in (4, np.int64(4)):
        assert ale_train.make("Pong-v5", frame_skip=frame_skip).reset()[1]["elapsed_step"].dtype == np.int32


@pytest.mark.parametrize("name", ["Pong-v5", "CartPole-v1"])
def test_seeds_that_are_errors(name: str) -> None:
    with pytest.raises(ValueError, match="seed is a list, which is the same as env_seed; give only one of them"):
        ale_train.make(name, num_envs=2, seed=[1, 2], env_seed=[3, 4])
    for seed in (None, 1.5, "1", np.array(1.5)):
        with pytest.raises(TypeError, match=f"^seed must be an int or a list of int, got {type(seed).__name__}$"):
            ale_train.make(name, num_envs=2, seed=seed)
    for env_seed in ([1.5, 2.5], ["1", "2"], [None, 1], [True, False], "12", 3, np.array([1.5, 2.5])):
        with pytest.raises(TypeError, match="^env_seed must be a list of int, got "):
            ale_train.make(name, num_envs=2, env_seed=env_seed)
    with pytest.raises(TypeError, match="^env_seed must be a list of int, got a list with float$"):
        ale_train.make(name, num_envs=2, seed=[1.5, 2.5])
    with pytest.raises(ValueError, match="^env_seed has 9223372036854775808, but seeds must be between"):
        ale_train.make(name, num_envs=2, env_seed=[2**63, 1])
    for seed in (2**63 - 1, 2**63, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"^seed is {seed}, but the seeds from it on must be between"):
            ale_train.make(name, num_envs=2, seed=seed)


def test_the_argument_env_id_takes_precedence_over_the_dictionary() -> None:
    env = ale_train.make("Pong-v5", num_envs=4)
    env.reset()
    actions = {"action": np.array([1, 2]), "env_id": np.array([0, 1])}
    assert env.step(actions)[4]["env_id"].tolist() == [0, 1]
    assert env.step(actions, np.array([2, 3]))[4]["env_id"].tolist() == [2, 3]
    assert env.step({"action": np.arange(4)})[4]["env_id"].tolist() == [0, 1, 2, 3]


def test_the_names_of_envpool() -> None:
    assert envpool.DMEnvPool is envpool.DmEnvPool and envpool.EnvSpec is envpool.Spec
    assert {"DMEnvPool", "EnvSpec"} <= set(envpool.__all__)
    assert isinstance(envpool.make_dm("Harvest-v5"), envpool.DMEnvPool)
    assert isinstance(envpool.make_spec("Harvest-v5"), envpool.EnvSpec)


def test_names_and_errors() -> None:
    names = ("MsPacman-v5", "ALE/MsPacman-v5", "ms_pacman", "MsPacman", "MsPacman-v4", "MsPacmanDeterministic-v0")
    for name in names:
        assert ale_train.make(name).config["task"] == "ms_pacman"
    with pytest.raises(GameError, match="did you mean Pong-v5"):
        ale_train.make("Pongo-v5")
    with pytest.raises(ValueError, match="env_type is 'foo', but must be one of gymnasium, gym, dm"):
        ale_train.make("Pong-v5", env_type="foo")
    with pytest.raises(TypeError, match="no option 'foo'"):
        ale_train.make("Pong-v5", foo=1)
    with pytest.raises(ValueError, match="pong cannot be played by 3 players"):
        ale_train.make("Pong-v5", max_num_players=3)
    with pytest.raises(ValueError, match="rules is 'foo', but must be one of ale_py, envpool"):
        AtariVectorEnv("pong", 1, rules="foo")
    with pytest.raises(ValueError, match="env_seed has 1 entries"):
        ale_train.make("Pong-v5", num_envs=2, env_seed=[1])
    env = ale_train.make("Pong-v5", num_envs=2)
    env.reset()
    with pytest.raises(AssertionError):
        env.step(np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="render_mode is 'human', but must be None or 'rgb_array'"):
        ale_train.make("Pong-v5", render_mode="human")
    with pytest.raises(ValueError):
        env.step(np.array([0, 1]), np.array([0, 9]))
