"""Learners in Python: runs, agents and loops of one's own."""

import copy
import json
import os
import signal
import subprocess
import sys
import threading
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import ale_train

#: Settings with which a corridor is learned in seconds.
QUICK = {"num_envs": 8, "seed": 1, "num_threads": 1, "verbose": False, "learning_rate": 0.003}


class Corridor(gymnasium.Env):
    """A corridor whose right end has the reward 1. Each step costs 0.1."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2, start=3)

    def __init__(self, length=5, fails_after=None):
        self.length, self.fails_after, self.steps = length, fails_after, 0

    def _observe(self):
        return np.array([self.position / self.length], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = int(self.np_random.integers(2))
        return self._observe(), {}

    def step(self, action):
        assert action in (3, 4)
        self.steps += 1
        if self.fails_after is not None and self.steps > self.fails_after:
            raise ArithmeticError("the corridor has collapsed")
        self.position = max(0, self.position + (1 if action == 4 else -1))
        is_at_end = self.position == self.length
        return self._observe(), (1.0 if is_at_end else -0.1), is_at_end, False, {}


def records(run_dir):
    """Returns the records of a run with losses, without the durations."""
    lines = (run_dir / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    updates = [json.loads(line) for line in lines if '"losses/' in line]
    return [{key: value for key, value in update.items() if key.startswith("losses/")} for update in updates]


def vector_env(num_envs, mode=AutoresetMode.SAME_STEP, **kwargs):
    return SyncVectorEnv([lambda: Corridor(**kwargs)] * num_envs, autoreset_mode=mode)


def test_a_class_of_a_script_is_learned(tmp_path):
    model = ale_train.PPO(Corridor, run_dir=tmp_path / "run", **QUICK).learn(20_000)
    scores = model.evaluate(20, deterministic=True)
    (returns,) = scores.returns.values()
    # The way takes five steps from the start, and four from the next place.
    assert set(np.round(returns, 6)) <= {0.6, 0.7} and scores.mean > 0.59
    action, state = model.predict(np.zeros(1, np.float32), deterministic=True)
    assert (int(action), state) == (4, None)
    actions, _ = model.predict(np.zeros((3, 1), np.float32), deterministic=True)
    assert actions.tolist() == [4, 4, 4]


def test_a_stopped_run_continues_bit_for_bit(tmp_path):
    total = 8192
    whole = ale_train.PPO(Corridor, run_dir=tmp_path / "whole", **QUICK).learn(total)
    stopped = ale_train.PPO(Corridor, run_dir=tmp_path / "stopped", **QUICK)
    stopped.learn(total, callback=lambda record: record["steps"] >= total // 2)
    assert 0 < stopped.num_timesteps < total
    # The schedules have the total of the first call.
    flags = ["--total-frames", str(total), "--quiet"]
    done = subprocess.run([*PROGRAM, "resume", tmp_path / "stopped", *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert records(tmp_path / "stopped") == records(tmp_path / "whole")
    assert stopped.num_timesteps == whole.num_timesteps == total


#: The program beside this interpreter.
PROGRAM = [sys.executable, "-c", "import sys, ale_train_program; sys.exit(ale_train_program.main())"]


def test_vector_environments_here_and_in_workers_train_alike(tmp_path):
    settings = {**QUICK, "num_envs": 4}
    ale_train.PPO(Corridor, run_dir=tmp_path / "workers", **settings).learn(4096)
    ale_train.PPO(vector_env(4), run_dir=tmp_path / "here", **settings).learn(4096)
    assert len(records(tmp_path / "here")) > 1
    assert records(tmp_path / "here") == records(tmp_path / "workers")


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_loop_of_ones_own_equals_a_run(tmp_path, mode):
    settings = {key: value for key, value in QUICK.items() if key not in ("verbose", "num_envs")}
    ale_train.PPO(vector_env(4, mode), run_dir=tmp_path, verbose=False, **settings).learn(4096)
    env = vector_env(4, mode)
    learner = ale_train.Learner(
        "ppo",
        env.single_observation_space,
        env.single_action_space,
        4,
        autoreset_mode=mode,
        total_steps=4096,
        **settings,
    )
    observations, _ = env.reset(seed=1)
    updates = []
    while not learner.is_complete:
        observations, *results = env.step(learner.act(observations))
        learner.observe(observations, *results)
        metrics = learner.update()
        if metrics:
            updates.append({key: value for key, value in metrics.items() if key.startswith("losses/")})
    assert len(updates) > 1 and updates == records(tmp_path)


class Doors(gymnasium.Env):
    """Two of three doors are open. The one whose number is observed leads to the reward 1.

    One in ten steps is the last, and episodes of ten steps are truncated.
    """

    observation_space = spaces.Box(0, 1, (3,), np.float32)
    action_space = spaces.Discrete(3, start=2)

    def _observe(self):
        self.doors = self.np_random.permutation(3)
        observation, mask = np.zeros(3, np.float32), np.ones(3, np.int8)
        observation[self.doors[0]], mask[self.doors[1]] = 1, 0
        return observation, {"action_mask": mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._observe()

    def step(self, action):
        assert action != self.doors[1] + 2, "the door is closed"
        reward = float(action == self.doors[0] + 2)
        self.steps += 1
        is_last = bool(self.np_random.random() < 0.1)
        observation, info = self._observe()
        return observation, reward, is_last, self.steps == 10, {} if is_last else info


def doors(num_envs, mode=AutoresetMode.SAME_STEP):
    return SyncVectorEnv([Doors] * num_envs, autoreset_mode=mode)


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_masks_of_a_vector_environment_and_of_workers_are_alike(tmp_path, algorithm):
    settings = {**QUICK, "num_envs": 4, "action_masks": True, "num_threads": 1}
    learner = getattr(ale_train, algorithm)
    learner(Doors, run_dir=tmp_path / "workers", **settings).learn(4096)
    model = learner(doors(4), run_dir=tmp_path / "here", **settings).learn(4096)
    assert len(records(tmp_path / "here")) > 1
    assert records(tmp_path / "here") == records(tmp_path / "workers")
    scores = model.evaluate(20, deterministic=True, env=doors(2, AutoresetMode.NEXT_STEP))
    assert len(scores.returns[model.agent.game]) == 20
    actions, _ = model.predict(np.zeros((3, 3), np.float32), action_masks=np.eye(3, dtype=np.int8))
    assert actions.tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="1 are needed, but none were given"):
        model.predict(np.zeros(3, np.float32))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_masks_in_a_loop_of_ones_own_are_those_of_a_run(tmp_path, mode):
    settings = {"seed": 1, "num_threads": 1, "learning_rate": 0.003, "action_masks": True}
    ale_train.PPO(doors(4, mode), run_dir=tmp_path, verbose=False, **settings).learn(4096)
    env = doors(4, mode)
    described = ("ppo", env.single_observation_space, env.single_action_space, 4)
    learner = ale_train.Learner(*described, autoreset_mode=mode, total_steps=4096, **settings)
    observations, infos = env.reset(seed=1)
    with pytest.raises(ValueError, match="no action_mask of environment 0"):
        learner.act(observations)
    updates, actions = [], learner.act(observations, infos)
    while not learner.is_complete:
        observations, *results = env.step(actions)
        learner.observe(observations, *results)
        metrics = learner.update()
        if metrics:
            updates.append({key: value for key, value in metrics.items() if key.startswith("losses/")})
        actions = actions if learner.is_complete else learner.act(observations)
    assert len(updates) > 1 and updates == records(tmp_path)


def test_the_state_of_a_learner_continues_bit_for_bit():
    env = vector_env(2)
    described = ("ppo", env.single_observation_space, env.single_action_space, 2)
    options = {"autoreset_mode": AutoresetMode.SAME_STEP, "seed": 3, "num_threads": 1, "num_steps": 16}
    first, second = (ale_train.Learner(*described, **options) for _ in range(2))

    def steps(learner, env, observations, count):
        seen = []
        for _ in range(count):
            actions = learner.act(observations)
            observations, *results = env.step(actions)
            learner.observe(observations, *results)
            seen.append((actions.tolist(), learner.update()))
        return observations, seen

    observations, _ = env.reset(seed=7)
    observations, _ = steps(first, env, observations, 21)
    second.load_state_dict(first.state_dict())
    copied = copy.deepcopy(env)
    _, expected = steps(first, env, observations, 40)
    assert sum(metrics is not None for _, metrics in expected) == 2
    assert steps(second, copied, observations, 40)[1] == expected


def test_calls_out_of_order_are_errors():
    env = vector_env(2)
    learner = ale_train.Learner("ppo", env.single_observation_space, env.single_action_space, 2, num_steps=2)
    observations, _ = env.reset(seed=1)
    with pytest.raises(ValueError, match="act before you observe"):
        learner.observe(observations, np.zeros(2), np.zeros(2, bool), np.zeros(2, bool), {})
    actions = learner.act(observations)
    with pytest.raises(ValueError, match="observe the results of the last actions before the next act"):
        learner.act(observations)
    with pytest.raises(
        ValueError, match="rewards has the shape .*, but must have a value for each of the 2 environments"
    ):
        learner.observe(observations, np.zeros(3), np.zeros(2, bool), np.zeros(2, bool), {})
    observed, *results = env.step(actions)
    learner.observe(observed, *results)
    with pytest.raises(ValueError, match="observations other than those that were observed last"):
        learner.act(observed + 1)
    assert learner.update() is None
    observed, *results = env.step(learner.act(observed))
    learner.observe(observed, *results)
    with pytest.raises(ValueError, match="an update is due: call update before the next act"):
        learner.act(observed)
    assert learner.update() is not None and learner.updates == 1


def test_ctrl_c_writes_a_checkpoint_and_is_a_keyboard_interrupt(tmp_path):
    model = ale_train.PPO(Corridor, run_dir=tmp_path / "run", **QUICK)

    def interrupt():
        while not (tmp_path / "run" / "metrics.jsonl").exists():
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.learn(100_000_000)
    thread.join()
    reached = model.num_timesteps
    assert reached > 0
    # The handlers of this process are still Python's.
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    again = ale_train.PPO.load(tmp_path / "run", verbose=False).learn(2048)
    assert again.num_timesteps >= reached + 1024


def test_exceptions_of_a_vector_environment_are_raised_as_they_are(tmp_path):
    model = ale_train.PPO(vector_env(2, fails_after=100), run_dir=tmp_path, verbose=False)
    with pytest.raises(ArithmeticError, match="the corridor has collapsed"):
        model.learn(10_000)


def test_exceptions_of_a_worker_name_their_cause(tmp_path):
    model = ale_train.PPO(Corridor, run_dir=tmp_path, env_kwargs={"fails_after": 100}, **QUICK)
    with pytest.raises(RuntimeError, match="ArithmeticError: the corridor has collapsed"):
        model.learn(10_000)


def test_exceptions_of_a_callback_are_raised_after_a_checkpoint(tmp_path):
    def callback(record):
        raise LookupError(f"after {record['steps']} steps")

    model = ale_train.PPO(Corridor, run_dir=tmp_path, **QUICK)
    with pytest.raises(LookupError, match="after"):
        model.learn(10_000, callback)
    assert model.num_timesteps > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rat": 1e-3}, "learning_rat is not a setting of ppo; did you mean ppo.learning_rate?"),
        ({"learning_rate": -1}, "ppo.learning_rate"),
        ({"policy": {"hidden_sizes": 1}}, "did you mean 'policy.hidden_size'?"),
        ({"preset": "fats-ppo"}, "fast-ppo"),
    ],
)
def test_settings_are_checked_at_once(settings, message):
    with pytest.raises(ValueError) as error:
        ale_train.PPO(Corridor, **settings)
    assert message in str(error.value)


def test_environments_that_cannot_be_learned_are_errors():
    with pytest.raises(TypeError, match="must be an id, a class, a function"):
        ale_train.PPO(17)
    with pytest.raises(ValueError, match="unknown game or set 'pnog'; did you mean pong"):
        ale_train.PPO("pnog")
    with pytest.raises(ValueError, match="num_envs is 3, but the vector environment has 2"):
        ale_train.PPO(vector_env(2), num_envs=3)
    with pytest.raises(TypeError, match="learners do not support the space Text"):
        ale_train.Learner("ppo", spaces.Text(3), spaces.Discrete(2), 1)


def test_a_directory_with_a_run_is_not_overwritten(tmp_path):
    ale_train.DQN(Corridor, run_dir=tmp_path, num_envs=1, seed=1, verbose=False).learn(200)
    with pytest.raises(ValueError, match=r"contains a run; continue it with PPO\.load"):
        ale_train.PPO(Corridor, run_dir=tmp_path)
    with pytest.raises(ValueError, match="is a run of dqn, not of ppo"):
        ale_train.PPO.load(tmp_path)
    assert ale_train.DQN.load(tmp_path).num_timesteps == 200


@pytest.mark.parametrize(
    ("algorithm", "env"),
    [
        (ale_train.PPO, "harvest"),
        (ale_train.PQN, "CartPole-v1"),
        (ale_train.SAC, "gymnasium:Pendulum-v1"),
        (ale_train.SAC, "CartPole-v1"),
        (ale_train.DQN, gymnasium.spec("Acrobot-v1")),
        (ale_train.PPO, lambda: gymnasium.make("MountainCarContinuous-v0")),
        (ale_train.PPO, ["gymnasium:CartPole-v0", "gymnasium:CartPole-v1"]),
    ],
    ids=["game", "task", "id", "discrete SAC", "specification", "function", "list"],
)
def test_every_kind_of_environment_is_trained(tmp_path, algorithm, env):
    model = algorithm(env, num_envs=2, run_dir=tmp_path, seed=1, verbose=False).learn(600)
    assert model.num_timesteps > 0


def test_an_environment_is_trained_in_this_process(tmp_path):
    model = ale_train.PPO(Corridor(), run_dir=tmp_path, seed=1, verbose=False, num_steps=32).learn(64)
    assert model.num_timesteps == 64
    assert len(model.evaluate(3).returns["python:__vector__:SyncVectorEnv"]) == 3


def test_agents_play_as_the_program_evaluates_them():
    agent = ale_train.load_agent("zoo:harvest")
    assert (agent.games, agent.game) == (["harvest"], "harvest")
    scores = agent.evaluate(4, seed=3, deterministic=True)
    command = [*PROGRAM, "eval", "zoo:harvest", "--episodes", "4", "--seed", "3", "--greedy", "--json"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert scores.returns["harvest"].tolist() == report["games"][0]["returns"]
    assert scores.lengths["harvest"].tolist() == report["games"][0]["lengths"]
    in_python = agent.evaluate(4, seed=3, deterministic=True, env=agent.make_vec(4))
    assert sorted(in_python.returns["harvest"]) == sorted(scores.returns["harvest"])


def test_agents_are_saved_recorded_and_named(tmp_path):
    agent = ale_train.load_agent("zoo:harvest")
    agent.save(tmp_path / "agent.safetensors")
    saved = ale_train.load_agent(tmp_path / "agent.safetensors")
    observations, _ = agent.make_vec(3).reset(seed=5)
    assert agent.predict(observations, deterministic=True)[0].tolist() == (
        saved.predict(observations, deterministic=True)[0].tolist()
    )
    agent.record(tmp_path / "video.gif", max_steps=10)
    assert (tmp_path / "video.gif").read_bytes().startswith(b"GIF89a")
    with pytest.raises(ValueError, match="the agent does not play 'qbert'; it plays harvest"):
        ale_train.load_agent("zoo:harvest", game="qbert")
    with pytest.raises(ValueError, match=r"the observation has the shape \(3,\)"):
        agent.predict(np.zeros(3))


def test_recurrent_agents_have_a_state(tmp_path):
    model = ale_train.PPO(Corridor, run_dir=tmp_path, policy={"lstm": 8}, **QUICK).learn(2048)
    first, second = np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32)
    _, state = model.predict(first, deterministic=True)
    assert state is not None
    _, same = model.predict(second, state, np.array([False]), deterministic=True)
    assert same.player is state.player
    assert model.agent.experiment["policy"]["lstm"] == 8


class Mixed(gymnasium.Env):
    """An image and a vector, of which both are needed."""

    observation_space = spaces.Dict(
        {"picture": spaces.Box(0, 255, (5, 6, 3), np.uint8), "speed": spaces.Box(-1, 1, (3,), np.float32)}
    )
    action_space = spaces.MultiDiscrete([2, 3])

    def _observe(self):
        picture = self.np_random.integers(256, size=(5, 6, 3), dtype=np.uint8)
        return {"picture": picture, "speed": self.np_random.uniform(-1, 1, 3).astype(np.float32)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observe(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self._observe(), float(action[0]), bool(self.np_random.random() < 0.1), False, {}


def test_images_and_vectors_are_converted_as_in_workers(tmp_path):
    settings = {"seed": 1, "num_threads": 1, "verbose": False, "num_steps": 16}
    workers = ale_train.PPO(Mixed, num_envs=3, run_dir=tmp_path / "workers", **settings).learn(192)
    env = SyncVectorEnv([Mixed] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    here = ale_train.PPO(env, run_dir=tmp_path / "here", **settings).learn(192)
    assert records(tmp_path / "here") == records(tmp_path / "workers")
    observations, _ = env.reset(seed=2)
    actions, _ = workers.predict(observations, deterministic=True)
    assert actions.shape == (3, 2) and (actions == here.predict(observations, deterministic=True)[0]).all()
