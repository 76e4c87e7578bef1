"""What users give to learners and agents: observations, environments, paths and arguments of other libraries."""

import os
import signal
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import ale_train

#: The program beside this interpreter.
PROGRAM = [sys.executable, "-c", "import sys, ale_train_program; sys.exit(ale_train_program.main())"]
#: Settings of short runs.
SHORT = {"seed": 1, "num_threads": 1, "verbose": False}


class Dice(gymnasium.Env):
    """Observations are drawn from a space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, bool(self.np_random.random() < 0.1), False, {}


def dice(space, num_envs=1):
    return SyncVectorEnv([lambda: Dice(space)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)


def agent_of(space, run_dir):
    return ale_train.PPO(dice(space), run_dir=run_dir, num_steps=16, num_minibatches=1, **SHORT).learn(16)


@pytest.mark.parametrize("id", ["FrozenLake-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1"])
def test_agents_of_toy_text_take_the_observations_of_its_environments(tmp_path, id):
    model = ale_train.PPO(id, num_envs=2, run_dir=tmp_path, **SHORT).learn(256)
    env = model.make_vec(3)
    observations, _ = env.reset(seed=1)
    values = model.agent.outputs(observations).values
    space = env.single_observation_space
    is_tuple = isinstance(space, spaces.Tuple)
    rows = list(zip(*observations)) if is_tuple else list(observations)
    # The network was trained on these vectors, in which each integer is one-hot.
    encoded = np.stack([spaces.flatten(space, row) for row in rows]).astype(np.float32)
    assert (model.agent.outputs(encoded).values == values).all()
    alone, _ = gymnasium.make(id).reset(seed=1)
    assert model.agent.outputs(alone).values.shape == (1,)
    assert np.shape(model.predict(alone)[0]) == () and model.predict(observations)[0].shape == (3,)
    assert len(model.evaluate(2, env=env).returns[id]) == 2


def test_agents_of_several_tasks_take_the_observations_of_each(tmp_path):
    games = ["CartPole-v1", "FrozenLake-v1"]
    ale_train.PPO(games, num_envs=1, run_dir=tmp_path, **SHORT).learn(128)
    for game in games:
        agent = ale_train.load_agent(tmp_path, game)
        assert agent.evaluate(1, env=agent.make_vec(2)).returns[game].shape == (1,)


MIXED = spaces.Dict({"count": spaces.Discrete(4, start=1), "place": spaces.Box(-1, 1, (2,), np.float32)})


@pytest.mark.parametrize(
    ("space", "given", "same"),
    [
        (spaces.Box(0, 1, (2,), np.float32), np.array([0.5, 1]), np.array([0.5, 1], np.float32)),
        (spaces.Box(0, 1, (2,), np.float32), [0, 1], np.array([0, 1], np.float32)),
        (spaces.Box(0, 255, (12, 12, 3), np.uint8), np.full((12, 12, 3), 7), np.full((12, 12, 3), 7, np.uint8)),
        (spaces.MultiDiscrete([3, 4]), [2, 1], np.array([2, 1])),
        (MIXED, {"count": 4, "place": [0.5, -1.0]}, {"count": np.int64(4), "place": np.array([0.5, -1], np.float32)}),
        (
            spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)]),
            (2, [0, 1]),
            (np.int64(2), np.array([0, 1], np.int8)),
        ),
    ],
    ids=["floats", "integers as floats", "image", "list", "dict", "tuple"],
)
def test_observations_are_cast_to_the_types_of_their_space(tmp_path, space, given, same):
    agent = agent_of(space, tmp_path).agent

    def batch(value):
        if isinstance(value, dict):
            return {key: batch(part) for key, part in value.items()}
        return tuple(batch(part) for part in value) if isinstance(value, tuple) else [value, value]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = agent.outputs(same).values
        assert (agent.outputs(given).values == expected).all()
        assert (agent.outputs(batch(given)).values == np.repeat(expected, 2)).all()
        assert np.shape(agent.predict(given)[0]) == () and agent.predict(batch(given))[0].shape == (2,)


BOX = spaces.Box(0, 1, (2,), np.float32)


@pytest.mark.parametrize(
    ("space", "given", "message"),
    [
        (
            BOX,
            np.zeros(3),
            r"the shape \(3,\) and the type float64, but must have the shape \(2,\) and the type float32",
        ),
        (BOX, np.zeros((5, 3)), r"the shape \(5, 3\) and the type float64, but must have the shape \(5, 2\)"),
        (BOX, np.zeros((0, 2)), "there is no observation"),
        (BOX, ["left", "right"], "the type <U5, but must have the shape"),
        (BOX, [[0, 1], [0]], "parts of the observation have different shapes"),
        (spaces.Box(0, 255, (12,), np.uint8), np.full(12, 256), "values from 256 to 256, but must have the type uint8"),
        (spaces.Box(0, 255, (12,), np.uint8), np.zeros(12), "the type float64, but must have .* the type uint8"),
        (spaces.Discrete(4), 4, r"the observation 4 is not in its space Discrete\(4\)"),
        (spaces.Discrete(4), [0, -1], r"the observation -1 is not in its space Discrete\(4\)"),
        (spaces.Discrete(4), 1.5, "the type float64, but must have .* the type int64"),
        (MIXED, {"count": 1}, "is not in its space Dict"),
        (MIXED, np.zeros(2), "is not in its space Dict"),
    ],
)
def test_other_observations_are_errors_that_name_them(tmp_path, space, given, message):
    with pytest.raises(ValueError, match=message):
        agent_of(space, tmp_path).predict(given)


def test_images_of_games_are_not_cast_from_floats():
    agent = ale_train.load_agent("zoo:harvest")
    observations, _ = agent.make_vec(2).reset(seed=1)
    integers = agent.predict(observations.astype(int), deterministic=True)[0]
    assert (integers == agent.predict(observations, deterministic=True)[0]).all()
    with pytest.raises(ValueError, match=r"the type float64, .* agent\.make_vec\(n\) makes environments"):
        agent.predict(observations / 255)


def test_a_learner_needs_a_row_for_each_environment():
    env = dice(BOX, 8)
    learner = ale_train.Learner("ppo", BOX, env.single_action_space, 8, num_steps=2, **{"num_threads": 1})
    observations, _ = env.reset(seed=1)
    for wrong in (observations[:3], np.concatenate([observations, observations])):
        with pytest.raises(ValueError, match=rf"the shape \({len(wrong)}, 2\) .* must have the shape \(8, 2\)"):
            learner.act(wrong)
    observations, *results = env.step(learner.act(observations))
    with pytest.raises(ValueError, match=r"must have the shape \(8, 2\)"):
        learner.observe(observations[:3], *results)
    for index, name in enumerate(["rewards", "terminations", "truncations"]):
        for wrong in (results[index][:3], np.tile(results[index], 2), results[index][0]):
            parts = [*results[:index], wrong, *results[index + 1 :]]
            with pytest.raises(ValueError, match=f"{name} has the shape .* each of the 8 environments"):
                learner.observe(observations, *parts)
    learner.observe(observations, *results)


def test_ctrl_c_in_the_program_ends_without_a_traceback(tmp_path):
    command = [*PROGRAM, "ppo", "--env", "CartPole-v1", "--run-dir", tmp_path / "run", "--total-frames", "100000000"]
    with subprocess.Popen([*command, "--set", "experiment.num_threads=1"], stderr=subprocess.PIPE, text=True) as run:
        while not (tmp_path / "run" / "metrics.jsonl").exists():
            assert run.poll() is None, run.stderr.read()
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    assert "Traceback" not in errors and "KeyboardInterrupt" not in errors and "ale-train resume" in errors
    assert run.returncode == 130


def test_environments_that_cannot_be_observed_by_learners_are_type_errors(tmp_path):
    pool = ale_train.make("CartPole-v1", num_envs=2, num_threads=1)
    with pytest.raises(TypeError, match=r"the interface of EnvPool; give its id, or .* ale_train\.make_vec"):
        ale_train.PPO(pool)
    model = agent_of(BOX, tmp_path)
    for call in (lambda: ale_train.PPO.load(tmp_path, "CartPole-v1"), lambda: model.evaluate(2, env="CartPole-v1")):
        with pytest.raises(TypeError, match="env is 'CartPole-v1', but must be a vector environment"):
            call()
    assert len(model.evaluate(2, env=Dice(BOX)).returns[model.agent.game]) == 2


def test_relative_paths_stay_valid_in_another_directory(tmp_path, monkeypatch):
    model = ale_train.PPO("CartPole-v1", num_envs=1, run_dir="run", **SHORT).learn(128)
    agent = ale_train.load_agent("run")
    unnamed = ale_train.PPO("CartPole-v1", init_from="run", num_envs=1, **SHORT)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert model.run_dir == tmp_path / "run" and model.learn(128).num_timesteps >= 256
    assert agent.evaluate(1).returns["CartPole-v1"].shape == model.evaluate(1).returns["CartPole-v1"].shape
    assert unnamed.learn(128).run_dir.parent == tmp_path / "checkpoints" and os.listdir() == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ale_train.PPO("MlpPolicy", "CartPole-v1"), "the environment comes first"),
        (lambda: ale_train.PPO("CartPole-v1", policy="MlpPolicy"), "the environment comes first"),
        (lambda: ale_train.PPO("CartPole-v1", policy_kwargs=None), "policy_kwargs is an argument"),
        (lambda: ale_train.PPO("CartPole-v1", policy_kwargs={"net_arch": [8]}), r"policy=\{...\} changes"),
        (lambda: ale_train.PPO("CartPole-v1", tensorboard_log="logs"), "always written to run_dir"),
        (lambda: ale_train.PPO("CartPole-v1").learn(total_timesteps=100), "learn has total_steps"),
        (lambda: ale_train.PPO("CartPole-v1").learn(100, progress_bar=True), "verbose=True shows the progress"),
        (lambda: ale_train.PPO("CartPole-v1").learn(100, tricks=True), "unexpected keyword argument 'tricks'"),
        (lambda: ale_train.PPO("CartPole-v1").learn(100.5), "total_steps is 100.5, but must be an integer"),
        (lambda: ale_train.PPO("CartPole-v1", learning_rate=lambda _: 0.1), "learning_rate is <function .* a number"),
        (lambda: ale_train.PPO("CartPole-v1", learning_rate=None), "learning_rate is None, but must be a number"),
        (
            lambda: ale_train.Learner("ppo", BOX, spaces.Discrete(2), 1).load_state_dict({}),
            "the state is {}, but must be what state_dict returned",
        ),
    ],
)
def test_arguments_of_other_libraries_and_types_are_explained(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_the_number_of_steps_is_at_least_that_of_an_update():
    model = ale_train.PPO("CartPole-v1", num_envs=2, num_steps=32, **SHORT)
    for expected in (64, 128):
        for total in (-5, 0, 63):
            with pytest.raises(ValueError, match=f"total_steps is {total}, but must be at least 64, the steps of one"):
                model.learn(total)
        total = {64: np.int64(64), 128: 64.0}[expected]
        assert model.learn(total).num_timesteps == expected
    games = ["CartPole-v1", "Acrobot-v1"]
    assert ale_train.DQN(games, num_envs=3, **SHORT).learn(6).num_timesteps == 6
    with pytest.raises(ValueError, match="at least 6, the steps of one update"):
        ale_train.DQN(games, num_envs=3, **SHORT).learn(5)


def test_objects_name_themselves(tmp_path):
    model = ale_train.PPO("CartPole-v1", num_envs=1, run_dir=tmp_path, **SHORT)
    assert repr(model) == f"PPO('CartPole-v1', num_timesteps=0, run_dir={str(tmp_path)!r})"
    model.learn(128)
    assert repr(model) == f"PPO('CartPole-v1', num_timesteps=128, run_dir={str(tmp_path)!r})"
    assert repr(model.agent) == f"Agent({str(tmp_path)!r}, 'CartPole-v1', frames=128)"
    learner = ale_train.Learner("ppo", BOX, spaces.Discrete(2), 3)
    assert repr(learner) == "Learner('ppo', num_envs=3, updates=0)"


def test_the_package_lists_its_public_names():
    assert sorted(dir(ale_train)) == sorted(ale_train.__all__)


def test_a_quiet_run_is_saved_without_a_notice(tmp_path, capfd):
    model = ale_train.PPO("CartPole-v1", num_envs=1, run_dir=tmp_path / "run", **SHORT).learn(128)
    model.save(tmp_path / "agent.safetensors")
    assert ale_train.load_agent(tmp_path / "agent.safetensors").games == ["CartPole-v1"]
    assert capfd.readouterr().err == ""
