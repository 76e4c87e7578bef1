"""Bytes, types and names equal those of EnvPool 1.2.7, and of 1.2.5 for Python before 3.12."""

from __future__ import annotations

from typing import Any

import dm_env
import gymnasium
import numpy as np
import pytest

import ale_train.envpool as ours

theirs = pytest.importorskip("envpool")

#: Name, options and number of steps. The games differ in buttons, ways of counting lives and lengths.
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any], int]] = {
    "defaults": ("Breakout-v5", {}, 150),
    "whole games": ("Pong-v5", {}, 900),
    "no FIRE button": ("MsPacman-v5", {}, 300),
    "no no-ops": ("Freeway-v5", {"noop_max": 1, "use_fire_reset": False}, 40),
    "many no-ops": ("SpaceInvaders-v5", {"noop_max": 200}, 100),
    "episodic life": ("Breakout-v5", {"episodic_life": True}, 250),
    "episodic life, no FIRE": ("MsPacman-v5", {"episodic_life": True, "use_fire_reset": False}, 300),
    "episodic life, limit": ("Breakout-v5", {"episodic_life": True, "max_episode_steps": 37}, 120),
    "limit": ("Seaquest-v5", {"max_episode_steps": 20, "reward_clip": True}, 60),
    "sticky": ("Breakout-v5", {"repeat_action_probability": 0.25, "full_action_space": True}, 150),
    "colour": ("Enduro-v5", {"gray_scale": False, "stack_num": 2}, 40),
    "size and frame skip": ("Qbert-v5", {"img_height": 64, "img_width": 96, "frame_skip": 3}, 150),
    "single frames": ("Breakout-v5", {"frame_skip": 1, "stack_num": 1, "max_episode_steps": 200}, 250),
    "mode and difficulty": ("Breakout-v5", {"mode": 4, "difficulty": 1}, 60),
    "seeds": ("Kangaroo-v5", {"env_seed": [9, 2]}, 40),
    "list of seeds": ("Kangaroo-v5", {"seed": [9, 2]}, 40),
}


def assert_same(name: str, our: Any, their: Any) -> None:
    """Compares arrays, and dictionaries, tuples and named tuples of them."""
    if isinstance(their, dict):
        assert set(our) == set(their), name
        for key in their:
            assert_same(f"{name}[{key!r}]", our[key], their[key])
    elif isinstance(their, tuple):
        assert getattr(our, "_fields", None) == getattr(their, "_fields", None)
        assert len(our) == len(their), name
        for index, (one, other) in enumerate(zip(our, their)):
            assert_same(f"{name}[{index}]", one, other)
    else:
        assert (our.dtype, our.shape) == (their.dtype, their.shape), name
        assert np.array_equal(our, their), name


def make_both(task: str, env_type: str, **options: Any) -> tuple[Any, Any]:
    arguments = {"env_type": env_type, "num_envs": 2, "seed": 3, **options}
    return ours.make(task, **arguments), theirs.make(task, **arguments)


def play(our: Any, their: Any, steps: int) -> None:
    random = np.random.default_rng(1)
    assert_same("reset", our.reset(), their.reset())
    for step in range(steps):
        actions = random.integers(our.spec.action_space.n, size=2).astype(np.int32)
        assert_same(f"step {step}", our.step(actions), their.step(actions))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_gymnasium(name: str) -> None:
    task, options, steps = CONFIGURATIONS[name]
    our, their = make_both(task, "gymnasium", **options)
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(our, space) == getattr(their, space)
    play(our, their, steps)


@pytest.mark.parametrize(
    "options", [{}, {"zero_discount_on_life_loss": True}, {"episodic_life": True}, {"max_episode_steps": 20}]
)
def test_dm(options: dict[str, Any]) -> None:
    our, their = make_both("Breakout-v5", "dm", **options)
    assert our.action_spec() == their.action_spec()
    for our_spec, their_spec in zip(our.observation_spec(), their.observation_spec()):
        # Our spec of rewards has no bounds; EnvPool's minimum is the smallest positive float.
        if isinstance(their_spec, tuple) or their_spec.name == "reward":
            continue
        assert our_spec == their_spec
    play(our, their, 150)


def test_gym() -> None:
    play(*make_both("Seaquest-v5", "gym"), 20)


def test_resetting_chosen_environments() -> None:
    our, their = make_both("Breakout-v5", "gymnasium", num_envs=3)
    assert_same("reset", our.reset(), their.reset())
    for ids in ([1], [0, 2], [0, 1, 2]):
        for actions in np.random.default_rng(1).integers(4, size=(10, 3)).astype(np.int32):
            assert_same("step", our.step(actions), their.step(actions))
        chosen = np.array(ids, np.int32)
        assert_same(f"reset({ids})", our.reset(chosen), their.reset(chosen))


def test_a_reset_starts_a_new_game_where_an_autoreset_continues() -> None:
    our, their = make_both("Breakout-v5", "gymnasium", num_envs=2, episodic_life=True)
    assert_same("reset", our.reset(), their.reset())
    # Until lives are lost, and again after the reset.
    for round in range(3):
        for _ in range(60):
            actions = np.full(2, 3, np.int32)
            assert_same("step", our.step(actions), their.step(actions))
        assert_same(f"reset {round}", our.reset(), their.reset())


def test_sending_and_receiving() -> None:
    our, their = make_both("Pong-v5", "gymnasium")
    for env in (our, their):
        env.async_reset()
    ids = np.arange(2, dtype=np.int32)
    for step in range(20):
        assert_same(f"step {step}", our.recv(), their.recv())
        actions = np.array([step % 6, 2], np.int32)
        for env in (our, their):
            if step % 2:
                env.send(actions, ids)
            else:
                env.send({"action": actions, "env_id": ids, "players": {"env_id": ids}})


@pytest.mark.parametrize("env_type", ["gymnasium", "dm"])
def test_sending_to_some_environments(env_type: str) -> None:
    our, their = make_both("Breakout-v5", env_type, num_envs=4)
    assert_same("reset", our.reset(), their.reset())
    random = np.random.default_rng(1)
    for _ in range(20):
        ids = random.permutation(4)[: random.integers(1, 5)]
        actions = random.integers(4, size=len(ids))
        assert_same(f"step of {ids}", our.step(actions, ids), their.step(actions, ids))
    assert_same("reset([3, 1])", our.reset(np.array([3, 1])), their.reset(np.array([3, 1])))


@pytest.mark.parametrize("form", ["all", "ids", "permutation", "dictionary"])
def test_the_first_step_resets(form: str) -> None:
    our, their = make_both("Pong-v5", "gymnasium", max_episode_steps=3)
    ids = {"ids": np.arange(2), "permutation": np.array([1, 0])}.get(form)
    for step in range(6):
        actions: Any = np.array([step, 2], np.int32)
        if form == "dictionary":
            actions = {"action": actions, "env_id": np.arange(2, dtype=np.int32)}
        assert_same(f"step {step}", our.step(actions, ids), their.step(actions, ids))


def test_an_empty_list_of_environments_gives_an_empty_batch() -> None:
    our, their = make_both("Pong-v5", "gymnasium")
    nothing = np.zeros(0, np.int32)
    for env in (our, their):
        env.reset()
    assert_same("reset", our.reset(nothing), their.reset(nothing))
    assert_same("step", our.step(nothing, nothing), their.step(nothing, nothing))
    actions = np.array([1, 2], np.int32)
    assert_same("then", our.step(actions), their.step(actions))
    with pytest.raises(RuntimeError):
        our.recv()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_whole_actions_of_other_types(dtype: type) -> None:
    our, their = make_both("Pong-v5", "gymnasium")
    assert_same("reset", our.reset(), their.reset())
    for actions in np.array([[1, 2], [5, 3], [0, 4]], dtype):
        assert_same("step", our.step(actions), their.step(actions))


def test_rendering() -> None:
    our, their = make_both("Breakout-v5", "gymnasium", num_envs=3, render_mode="rgb_array", render_env_id=1)
    assert_same("reset", our.reset(), their.reset())
    for actions in np.random.default_rng(1).integers(4, size=(30, 3)):
        assert_same("step", our.step(actions), their.step(actions))
        for ids in (None, 2, [2, 0]):
            assert_same(f"render({ids})", our.render(ids), their.render(ids))
    for env in make_both("Breakout-v5", "gymnasium"):
        env.reset()
        with pytest.raises(RuntimeError, match="render_mode"):
            env.render()


def test_config_and_spec() -> None:
    our, their = make_both("Pong-v5", "gymnasium", batch_size=1)
    assert set(our.config) == set(their.config)
    for name, value in their.config.items():
        assert name == "base_path" or our.config[name] == value, name
    for env, module in ((our, ours), (their, theirs)):
        spec = env.spec
        assert (spec.config.num_envs, spec.config.batch_size) == (2, 1)
        assert spec.reward_threshold is None
        assert module.make_spec("Pong-v5").config.num_envs == 1
    for name in ("observation_space", "action_space", "gymnasium_observation_space", "gymnasium_action_space"):
        assert getattr(our.spec, name) == getattr(their.spec, name)
    for name in ("num_envs", "is_async"):
        assert getattr(our, name) == getattr(their, name)
    assert_same("all_env_ids", our.all_env_ids, their.all_env_ids)
    assert our.metadata["autoreset_mode"] == their.metadata["autoreset_mode"]


def test_names() -> None:
    envs = set(theirs.list_all_envs())
    # EnvPool 1.2.5 has Taxi-v3 instead.
    assert set(ours.list_all_envs()) - envs - {"Taxi-v4"} == {"Harvest-v5", "TicTacToe3D-v5"}
    for name in ("make", "make_dm", "make_gym", "make_gymnasium", "make_spec", "list_all_envs"):
        assert callable(getattr(ours, name)) and callable(getattr(theirs, name))


def test_xla() -> None:
    import jax

    our, their = make_both("Breakout-v5", "gymnasium", max_episode_steps=20)
    handle, recv, send, step = our.xla()
    our.async_reset()
    handle, first = recv(handle)
    assert_same("reset", (first[0], first[4]), their.reset())
    actions = np.random.default_rng(1).integers(4, size=(50, 2)).astype(np.int32)
    handle, batches = jax.jit(lambda handle, actions: jax.lax.scan(step, handle, actions))(handle, actions)
    for index, action in enumerate(actions):
        ours_now = jax.tree.map(lambda array, index=index: np.asarray(array[index]), batches)
        assert_same(f"step {index}", ours_now, their.step(action))
    handle = send(handle, actions[0], np.array([0, 1]))
    assert_same("recv", jax.tree.map(np.asarray, recv(handle)[1]), their.step(actions[0]))


@pytest.mark.parametrize("wrapper", [gymnasium.wrappers.vector.RecordEpisodeStatistics, gymnasium.Wrapper])
def test_wrappers_of_gymnasium(wrapper: Any) -> None:
    our, their = make_both("Breakout-v5", "gymnasium", max_episode_steps=20)
    our, their = wrapper(our), wrapper(their)
    assert_same("reset", our.reset(), their.reset())
    for actions in np.random.default_rng(1).integers(4, size=(50, 2)).astype(np.int32):
        (*batch, info), (*expected, their_info) = our.step(actions), their.step(actions)
        for one in (info, their_info):
            one.get("episode", {}).pop("t", None)
        assert_same("step", (*batch, info), (*expected, their_info))


def test_statistics_of_one_environment() -> None:
    our, their = (
        gymnasium.wrappers.RecordEpisodeStatistics(env)
        for env in make_both("Breakout-v5", "gymnasium", num_envs=1, max_episode_steps=20)
    )
    assert_same("reset", our.reset(), their.reset())
    for _ in range(30):
        (*batch, info), (*expected, their_info) = our.step(np.array([1])), their.step(np.array([1]))
        assert_same("step", tuple(batch), tuple(expected))
        assert info.get("episode", {}).keys() == their_info.get("episode", {}).keys()
        if "episode" in info:
            assert (info["episode"]["r"], info["episode"]["l"]) == (their_info["episode"]["r"], 20)


def test_classes() -> None:
    for env in make_both("Pong-v5", "gymnasium"):
        assert isinstance(env, gymnasium.vector.VectorEnv) and isinstance(env, gymnasium.Env)
        assert env.unwrapped is env and not env.closed
        env.close(x=1)
        assert env.closed
    for env in make_both("Pong-v5", "dm"):
        assert isinstance(env, dm_env.Environment)
        with env:
            env.reset()
    for env in make_both("CartPole-v1", "gymnasium"):
        with env as entered:
            assert entered is env
            env.reset()
        assert env.closed


def test_seeds_after_construction_are_ignored_with_a_warning() -> None:
    our, their = make_both("Breakout-v5", "gymnasium")
    for env in (our, their):
        with pytest.warns(UserWarning):
            env.seed(1)
    with pytest.warns(UserWarning):
        first = our.reset(seed=1)
    with pytest.warns(UserWarning):
        assert_same("reset(seed=1)", first, their.reset(seed=1))


@pytest.mark.parametrize("mask", [np.array([False, True, True]), [True, False, False], None])
def test_reset_masks(mask: Any) -> None:
    our, their = make_both("Breakout-v5", "gymnasium", num_envs=3)
    assert_same("reset", our.reset(), their.reset())
    for actions in np.random.default_rng(1).integers(4, size=(10, 3)).astype(np.int32):
        assert_same("step", our.step(actions), their.step(actions))
    options = {"reset_mask": mask}
    assert_same("reset with a mask", our.reset(options=options), their.reset(options=options))
    assert_same("step", our.step(actions), their.step(actions))
    for env in (our, their):
        for wrong in ({"foo": 1}, {"reset_mask": [True]}, {"reset_mask": [False] * 3}):
            with pytest.raises(ValueError):
                env.reset(options=wrong)
        with pytest.raises(ValueError):
            env.reset(np.array([1]), options={"reset_mask": np.array([True] * 3)})


@pytest.mark.parametrize("env_type", ["gymnasium", "dm"])
def test_receiving_a_reset(env_type: str) -> None:
    our, their = make_both("Pong-v5", env_type)
    for env in (our, their):
        env.async_reset()
    assert_same("recv(reset=True)", our.recv(reset=True), their.recv(reset=True))
    for env in (our, their):
        env.send(np.array([1, 2], np.int32))
    assert_same("recv(False, False)", our.recv(False, False), their.recv(False, False))


def test_options_are_shown() -> None:
    our, their = make_both("Pong-v5", "gymnasium", env_seed=[3, 4])
    assert our.spec.config._asdict().keys() == their.spec.config._asdict().keys()
    for name, value in our.spec.config._asdict().items():
        assert f"{name}={value!r}" in repr(our) and f"{name}=" in repr(their)
    assert str(our) == repr(our)


@pytest.mark.parametrize("options", [{"episodic_life": True, "max_episode_steps": 53}, {"max_episode_steps": 165}])
@pytest.mark.parametrize("env_type", ["gymnasium", "dm"])
def test_ends_in_the_last_step_before_the_limit(env_type: str, options: dict[str, Any]) -> None:
    our, their = make_both("Breakout-v5", env_type, num_envs=1, **options)
    assert_same("reset", our.reset(), their.reset())
    for step in range(options["max_episode_steps"] + 10):
        actions = np.array([1 if step % 7 == 0 else 3], np.int32)
        assert_same(f"step {step}", our.step(actions), their.step(actions))


@pytest.mark.parametrize("seeds", [{"seed": -5}, {"seed": [-3, 7]}, {"env_seed": [-2, 2]}, {"seed": 2**31 - 2}])
@pytest.mark.parametrize("probability", [0.0, 0.25])
def test_any_seed(seeds: dict[str, Any], probability: float) -> None:
    our, their = make_both("Breakout-v5", "gymnasium", repeat_action_probability=probability, **seeds)
    play(our, their, 60)
    assert_same("reset", our.reset(), their.reset())
