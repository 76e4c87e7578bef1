"""What TaskVectorEnv and make_vec add to Gymnasium, and the errors of bad input."""

import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import ale_train
from ale_train import TaskVectorEnv
from ale_train.errors import ActionError, GameError
from ale_train.task_env import TaskEnv


def test_make_vec_makes_tasks_and_games():
    assert isinstance(ale_train.make_vec("CartPole-v1", 2), TaskVectorEnv)
    assert isinstance(ale_train.make_vec("ale_train/cartpole-v1", num_envs=2), TaskVectorEnv)
    games = ale_train.make_vec("ALE/Harvest-v5", num_envs=2, frameskip=3)
    assert isinstance(games, ale_train.AtariVectorEnv)


@pytest.mark.parametrize("make", [ale_train.make_vec, ale_train.make, TaskVectorEnv])
def test_unknown_ids_suggest_the_nearest(make):
    with pytest.raises(GameError, match="unknown environment 'CartPol-v1'; did you mean .*CartPole-v1"):
        make("CartPol-v1", num_envs=2)
    with pytest.raises(GameError, match=r"ale_train.tasks\(\) and ale_train.games\(\) list the known ones"):
        make("Zzzzzz", num_envs=2)


def test_games_are_not_tasks() -> None:
    with pytest.raises(GameError, match="^'ALE/Pong-v5' is the Atari game pong; ale_train.make and make_vec"):
        ale_train.TaskVectorEnv("ALE/Pong-v5", 2)


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (np.zeros(2, int), ActionError, r"shape \(3,\), got \(2,\)"),
        (np.zeros((3, 1), int), ActionError, r"shape \(3,\), got \(3, 1\)"),
        (np.zeros(3), ActionError, "integers, got float64"),
        ([0, 5, 1], ValueError, "environment 1: .*5"),
        ([0, -1, 1], ValueError, "environment 1: .*-1"),
        ([0, 2**40, 1], ValueError, "environment 1"),
    ],
)
def test_bad_discrete_actions_change_nothing(actions, error, message):
    env, other = TaskVectorEnv("CartPole-v1", 3), TaskVectorEnv("CartPole-v1", 3)
    env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(error, match=message):
        env.step(actions)
    assert (env.step([1, 1, 1])[0] == other.step([1, 1, 1])[0]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("id", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_actions_that_are_not_finite_are_errors(id, bad):
    env = TaskVectorEnv(id, 2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="environment 1: "):
        env.step(np.array([[0.5], [bad]], np.float32))
    env.step(np.array([[0.5], [0.5]]))


@pytest.mark.parametrize(
    ("id", "arguments", "error", "message"),
    [
        ("Acrobot-v1", {"g": 1}, TypeError, 'Acrobot-v1 has no argument "g"; it takes no arguments'),
        ("Pendulum-v1", {"gravity": 1}, TypeError, "its arguments are g"),
        ("Pendulum-v1", {"g": "low"}, TypeError, "g of Pendulum-v1 must be a finite number"),
        ("Pendulum-v1", {"g": {1}}, TypeError, "g of Pendulum-v1 must be .* not set"),
        ("FrozenLake-v1", {"map_name": "5x5"}, ValueError, 'map_name is "5x5", but must be 4x4 or 8x8'),
        ("FrozenLake-v1", {"desc": None, "map_name": None}, ValueError, "map_name is None, but without desc"),
        ("Pendulum-v1", {"g": None}, TypeError, "g of Pendulum-v1 must be a finite number"),
        ("FrozenLake-v1", {"success_rate": 2}, ValueError, "success_rate is 2, but must be between 0 and 1"),
        ("FrozenLake-v1", {"desc": ["FF", "FG"]}, ValueError, "needs an S"),
        ("FrozenLake-v1", {"is_slippery": 1.5}, TypeError, "must be True or False"),
        ("CartPole-v1", {"num_envs": 0}, ValueError, "num_envs is 0"),
        ("CartPole-v1", {"num_envs": 2, "batch_size": 3}, ValueError, "batch_size is 3"),
        ("CartPole-v1", {"max_episode_steps": 0}, ValueError, "max_episode_steps is 0"),
        ("CartPole-v1", {"render_mode": "human"}, TypeError, "render_mode is 'human', but must be None"),
        ("CartPole-v1", {"autoreset_mode": "Never"}, ValueError, "NextStep, SameStep, Disabled"),
    ],
)
def test_bad_options_are_errors(id, arguments, error, message):
    with pytest.raises(error, match=message):
        TaskVectorEnv(id, **{"num_envs": 1, **arguments})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": [1]}, ValueError, "seed has 1 entries, but must have one for each of 2"),
        ({"seed": -1}, ValueError, "seeds must be between 0"),
        ({"seed": "1"}, TypeError, "seed must be an int"),
        ({"seed": [1.5, 2]}, TypeError, "a list with float"),
        ({"options": {"x_init": 0}}, ValueError, "no option 'x_init'; it has 'low', 'high', 'reset_mask'"),
        ({"options": {"low": 0.1}}, ValueError, "lower bound 0.1 of the first state exceeds the upper bound 0.05"),
        ({"options": {"high": np.inf}}, ValueError, "high is inf, but must be between"),
        ({"options": {"high": [1]}}, ValueError, "high must be a number, got"),
        ({"options": {"reset_mask": [True, True]}}, TypeError, "boolean numpy array"),
        ({"options": {"reset_mask": np.array([True])}}, ValueError, r"shape \(2,\)"),
        ({"options": {"reset_mask": np.zeros(2, bool)}}, ValueError, "selects no environment"),
        ({"options": {"reset_mask": np.array([True, False])}}, RuntimeError, "first reset"),
    ],
)
def test_bad_resets_are_errors(options, error, message):
    with pytest.raises(error, match=message):
        TaskVectorEnv("CartPole-v1", 2).reset(**options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": -1}, gymnasium.error.Error, "Seed must be"),
        ({"seed": 1.5}, gymnasium.error.Error, "Seed must be"),
        ({"seed": 2**64}, ValueError, "seeds must be between 0"),
        ({"options": {"x_init": 0}}, ValueError, "reset has no option 'x_init'"),
    ],
)
def test_bad_resets_of_single_environments_are_errors(options, error, message):
    env = TaskEnv("CartPole-v1")
    with pytest.raises(error, match=message):
        env.reset(**options)
    env.reset(seed=2**64 - 1)


@pytest.mark.parametrize("option", ["num_envs", "batch_size", "num_threads", "complete_info", "max_episode_steps"])
def test_single_environments_have_no_options_of_vector_environments(option):
    with pytest.raises(TypeError, match=f"a single environment has no argument '{option}'; TaskVectorEnv has it"):
        TaskEnv("CartPole-v1", **{option: 1})


def test_calls_out_of_order_are_errors():
    env = TaskVectorEnv("CartPole-v1", 2)
    with pytest.raises(RuntimeError, match="before the first reset"):
        env.step([0, 1])
    env.reset()
    env.send([0, 1])
    with pytest.raises(RuntimeError, match="in flight"):
        env.send([0, 1])
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.step([0, 1])


def test_nothing_is_written_into_the_packages_of_python(tmp_path):
    (tmp_path / "mujoco-4.0.0.dist-info").mkdir()
    (tmp_path / "mujoco").mkdir()
    program = "import ale_train\ntry:\n    ale_train.make_vec('Ant-v5', 2)\nexcept OSError as error:\n    print(error)"
    environment = {**os.environ, "ALE_TRAIN_MUJOCO": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert "nothing is written into a directory of Python packages" in done.stdout, done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mujoco", "mujoco-4.0.0.dist-info"]


def test_a_missing_mujoco_is_a_one_line_error(tmp_path):
    program = "import ale_train\ntry:\n    ale_train.make_vec('Ant-v5', 2)\nexcept OSError as error:\n    print(error)"
    environment = {**os.environ, "ALE_TRAIN_MUJOCO": str(tmp_path / "none"), "PIP_NO_INDEX": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "mujoco" in done.stdout and done.stdout.count("\n") == 1


def test_asynchronous_batches_have_the_same_results():
    steps, num_envs = 40, 6
    expected = TaskVectorEnv("CartPole-v1", num_envs)
    first, _ = expected.reset(seed=5)
    rows = [[row] for row in first]
    for step in range(steps):
        observations, *_ = expected.step(np.full(num_envs, step % 2))
        for env, row in enumerate(observations):
            rows[env].append(row)

    env = TaskVectorEnv("CartPole-v1", num_envs, batch_size=2, num_threads=2)
    env.send_reset(seed=5)
    counts = np.zeros(num_envs, int)
    while counts.min() <= steps:
        observations, rewards, _, _, info = env.recv()
        ids = info["env_id"]
        assert observations.shape == (2, 4) and rewards.shape == (2,)
        for id, row in zip(ids, observations):
            if counts[id] <= steps:
                assert (row == rows[id][counts[id]]).all()
        env.send(counts[ids] % 2, ids)
        counts[ids] += 1


def test_snapshots_continue_exactly():
    env = TaskVectorEnv("Pendulum-v1", 3)
    env.reset(seed=1)
    actions = np.random.default_rng(0).uniform(-2, 2, (50, 3, 1)).astype(np.float32)
    for one in actions:
        env.step(one)
    state = env.snapshot()
    first = [env.step(one) for one in actions]
    other = TaskVectorEnv("Pendulum-v1", 3)
    other.restore(state)
    for (observations, rewards, *_), one in zip(first, actions):
        again, repeated, *_ = other.step(one)
        assert (again == observations).all() and (repeated == rewards).all()


def test_snapshots_of_another_version_are_refused():
    env = TaskVectorEnv("Pendulum-v1", 1)
    env.reset(seed=1)
    state, mark = env.snapshot(), b"\xff" * 5
    assert state.count(mark + b"\x02") == 1
    with pytest.raises(ValueError, match="saved by another version of ale-train"):
        env.restore(state.replace(mark + b"\x02", mark + b"\x03"))


def test_pending_results_cannot_be_saved():
    env, whole = TaskVectorEnv("Pendulum-v1", 4, batch_size=2), TaskVectorEnv("Pendulum-v1", 4)
    env.reset(seed=1)
    whole.reset(seed=1)
    for call in (env.snapshot, lambda: env.restore(whole.snapshot())):
        with pytest.raises(RuntimeError, match="batch_size is 2 and num_envs is 4"):
            call()


def test_arrays_belong_to_the_caller():
    for id in ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1"):
        env = TaskVectorEnv(id, 4)
        first, _ = env.reset(seed=1)
        before = first.copy()
        for _ in range(10):
            env.step(env.action_space.sample())
        assert (first == before).all() and first.flags.writeable


def test_the_interface_of_envpool():
    env = ale_train.make("CartPole-v1", env_type="gymnasium", num_envs=4, batch_size=2, seed=3, max_episode_steps=10)
    assert env.spec.config.max_episode_steps == 10 and len(env) == 4 and env.is_async
    assert env.observation_space.shape == (4,) and env.action_space.n == 2
    env.async_reset()
    for _ in range(50):
        observations, rewards, terminated, truncated, info = env.recv()
        assert observations.shape == (2, 4) and rewards.dtype == np.float32
        assert set(info) == {"env_id", "players", "elapsed_step"}
        assert (terminated.dtype, truncated.dtype) == (bool, bool)
        env.send(np.zeros(2, np.int32), info["env_id"])


def test_episodes_of_the_interface_of_envpool_are_truncated_at_the_limit():
    env = ale_train.make("Pendulum-v1", num_envs=4, batch_size=2, seed=3, max_episode_steps=10)
    env.async_reset()
    truncations = 0
    # One of the environments has a quarter of the 100 rows: at least two episodes of a reset and ten steps.
    for _ in range(50):
        _, _, terminated, truncated, info = env.recv()
        assert not terminated.any()
        assert (truncated == (info["elapsed_step"] == 10)).all()
        truncations += truncated.sum()
        env.send(np.zeros((2, 1), np.float32), info["env_id"])
    assert truncations >= 2


@pytest.mark.parametrize("id", ale_train.tasks())
def test_every_task_has_the_interface_of_envpool(id):
    if id.endswith("-v5"):
        pytest.importorskip("mujoco")
    env = ale_train.make(id, env_type="gym", num_envs=3)
    observations, info = env.reset()
    assert env.observation_space.contains(observations[0].astype(env.observation_space.dtype))
    action = np.stack([env.action_space.sample()] * 3)
    one, rewards, terminated, truncated, info = env.step(action)
    assert one.shape == observations.shape and info["elapsed_step"].tolist() == [1, 1, 1]
    partial, info = env.reset(np.array([1]))
    assert len(partial) == 1 and info["env_id"].tolist() == [1]
    with pytest.raises(NotImplementedError, match=f"not for {id}"):
        env.xla()


def test_the_type_of_an_entry_does_not_depend_on_the_first_row():
    env = ale_train.make("FrozenLake-v1", num_envs=8, seed=1)
    _, info = env.reset()
    assert info["prob"].dtype == np.float64 and (info["prob"] == 1).all()
    resets = 0
    for _ in range(50):
        info = env.step(np.full(8, 2))[4]
        is_first = info["elapsed_step"] == 0
        resets += is_first[0] and not is_first.all()
        assert info["prob"].dtype == np.float64
        assert np.allclose(info["prob"], np.where(is_first, 1, 1 / 3))
    assert resets > 0


def test_the_interface_of_dm():
    pytest.importorskip("dm_env")
    env = ale_train.make("FrozenLake-v1", env_type="dm", num_envs=2, is_slippery=False)
    step = env.reset()
    assert step.step_type.tolist() == [0, 0] and step.observation.obs.dtype == np.int32
    step = env.step(np.array([1, 2], np.int32))
    assert step.step_type.tolist() == [1, 1] and step.discount.tolist() == [1, 1]
    assert step.observation.obs.tolist() == [4, 1] and step.observation.prob.tolist() == [1, 1]
    assert env.action_spec().num_values == 4 and env.observation_spec().obs.num_values == 16


@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1", "Taxi-v4", "Ant-v5"])
def test_observations_of_dm_have_the_form_of_their_spec(id):
    pytest.importorskip("dm_env")
    if id.endswith("-v5"):
        pytest.importorskip("mujoco")
    env, other = (ale_train.make(id, env_type="dm", num_envs=2) for _ in range(2))
    spec, first = env.observation_spec(), env.reset().observation
    later = env.step(np.stack([env.spec.action_space.sample()] * 2)).observation
    assert type(spec) is type(first) is type(later) is type(other.reset().observation)
    for name, entry in zip(first._fields, spec):
        if name != "players":
            rows = getattr(first, name)
            assert (rows.shape[1:], rows.dtype) == (entry.shape, entry.dtype), name
            assert getattr(later, name).dtype == rows.dtype
