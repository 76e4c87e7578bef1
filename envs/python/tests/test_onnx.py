"""Agents in the ONNX format: their outputs in ONNX Runtime equal those of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import ale_train
from ale_train.program import run

onnxruntime = pytest.importorskip("onnxruntime")

#: The largest difference, relative to the largest number of a row, or to 1. Both programs compute with 32 bits; their
#: differences from a computation with 64 bits are not much smaller.
TOLERANCE = 1e-5
#: The steps of each agent, in 8 environments.
STEPS = 12
NUM_ENVS = 8

#: Agents that play Atari games and are built into the program.
ZOO = ["harvest", *(pytest.param(name, marks=pytest.mark.long) for name in ("pong", "breakout", "space_invaders"))]


class Exported:
    """An agent in ONNX Runtime."""

    def __init__(self, agent: str, directory: Path) -> None:
        path = directory / "agent.onnx"
        run(["export", agent, "--out", str(path)])
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.inputs = {value.name: value.shape for value in self.session.get_inputs()}
        self.outputs = [value.name for value in self.session.get_outputs()]
        self.state: dict[str, np.ndarray] = {}

    def __call__(self, observations: np.ndarray, starts: np.ndarray, task: int) -> dict[str, np.ndarray]:
        rows = len(observations)
        feed: dict[str, Any] = {"observations": observations}
        if "task" in self.inputs:
            feed["task"] = np.full(rows, task, np.int64)
        for name in {"hidden", "cell"} & self.inputs.keys():
            state = self.state.get(name, np.zeros((rows, self.inputs[name][1]), np.float32))
            feed[name] = np.where(starts[:, None], np.float32(0), state)
        results = dict(zip(self.outputs, self.session.run(None, feed)))
        self.state = {name: results[f"next_{name}"] for name in ("hidden", "cell") if f"next_{name}" in results}
        return results


def assert_near(found: np.ndarray, expected: np.ndarray, scale: np.ndarray | float = 0.0) -> None:
    """Compares rows. ``scale`` is the size of the numbers from which they were computed, ``(rows, 1)``."""
    largest = np.abs(expected).max(1, keepdims=True) if expected.ndim == 2 else np.abs(expected)
    differences = np.abs(found.astype(float) - expected)
    assert (differences <= TOLERANCE * np.maximum(1, np.maximum(largest, scale))).all(), differences.max()


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits.astype(float) - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def assert_probable(logits: np.ndarray, probabilities: np.ndarray) -> None:
    """Compares logits with probabilities. Those of almost impossible actions have no exact logarithm."""
    probabilities = np.maximum(probabilities, 1e-30)
    log_probabilities = np.maximum(log_softmax(logits), np.log(1e-30))
    assert_near(log_probabilities, np.log(probabilities), np.abs(logits).max(1, keepdims=True))


def compare(agent: ale_train.Agent, exported: Exported, steps: Iterator[tuple[np.ndarray, np.ndarray]]) -> int:
    """Compares outputs and greedy actions. Returns the number of observations.

    Args:
        agent: The agent in the program.
        exported: The agent in ONNX Runtime.
        steps: Observations, and where episodes start.
    """
    task, state, count = agent.games.index(agent.game), None, 0
    for observations, starts in steps:
        expected = agent.outputs(observations, state, starts)
        actions, state = agent.predict(observations, state, starts, deterministic=True)
        results = exported(observations, starts, task)
        if expected.action_values is not None:
            width = expected.action_values.shape[1]
            assert_near(results["action_values"][:, :width], expected.action_values)
            assert (results["action_values"][:, width:] < -1e29).all()
            count += len(observations)
            continue
        assert_near(results["values"], expected.values)
        if expected.probabilities is None:
            assert_near(results["actions"][:, : actions.shape[1]], actions)
        else:
            logits, width = results["logits"], expected.probabilities.shape[1]
            assert (logits[:, width:] < -1e29).all()
            assert_probable(logits[:, :width], expected.probabilities)
            assert (logits.argmax(1) == actions).mean() > 0.95
        count += len(observations)
    return count


def played(agent: ale_train.Agent, make: Callable[[], Any], length: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields the observations that an agent sees in environments, padded with zeros to ``length``."""
    env = make()
    observations, _ = env.reset(seed=3)
    state, starts = None, np.ones(env.num_envs, bool)
    for _ in range(STEPS):
        padding = max(0, length - observations.shape[-1])
        if observations.ndim == 2:
            observations = np.pad(observations, ((0, 0), (0, padding)))
        yield observations.copy(), starts
        actions, state = agent.predict(observations, state, starts)
        observations, _, terminated, truncated, _ = env.step(actions)
        starts = terminated | truncated
    env.close()


def trained(directory: Path, algorithm: str, games: str, *settings: str) -> str:
    """Trains an agent for a moment. Returns its directory."""
    run_dir = str(directory / "run")
    small = ["--num-envs", "4", "--num-threads", "1", "--total-frames", "1024", "--quiet", "--run-dir", run_dir]
    sets = [part for setting in ("evaluation.episodes=0", *settings) for part in ("--set", setting)]
    run([algorithm, "--games", games, *small, *sets])
    return run_dir


@pytest.mark.parametrize("name", ZOO)
def test_agents_of_the_zoo(tmp_path: Path, name: str) -> None:
    agent = ale_train.load_agent(f"zoo:{name}")
    steps = played(agent, lambda: agent.make_vec(NUM_ENVS))
    assert compare(agent, Exported(f"zoo:{name}", tmp_path), steps) >= 64


@pytest.mark.long
def test_the_agent_of_57_games(tmp_path: Path) -> None:
    exported = Exported("zoo:atari57", tmp_path)
    for game in ale_train.load_agent("zoo:atari57").games:
        agent = ale_train.load_agent("zoo:atari57", game)
        assert compare(agent, exported, played(agent, lambda agent=agent: agent.make_vec(NUM_ENVS))) >= 64


RECURRENT = ["ppo.num_steps=16", "ppo.num_minibatches=2", "policy.lstm=8", "policy.game_embedding=3"]
SMALL_PPO = ["ppo.num_steps=16", "ppo.num_minibatches=2"]
SMALL_SAC = ["sac.learning_starts=64", "sac.buffer_size=500", "sac.batch_size=4", "policy.hidden_size=16"]
SMALL_DQN = ["dqn.learning_starts=64", "dqn.buffer_size=500", "dqn.batch_size=4"]


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("ppo", [*SMALL_PPO, "policy.value_scale=popart"]),
        ("ppo", [*SMALL_PPO, "policy.head=shared", "policy.normalize_observations=true", "policy.value_scale=h"]),
        ("ppo", RECURRENT),
        ("dqn", [*SMALL_DQN, "dqn.dueling=true", "dqn.noisy=true", "dqn.distribution=c51", "dqn.num_atoms=11"]),
        ("dqn", [*SMALL_DQN, "dqn.distribution=quantile", "dqn.num_atoms=5", "policy.value_scale=popart"]),
        ("dqn", [*SMALL_DQN, "dqn.dueling=true", "policy.head=shared", "policy.value_scale=symlog"]),
        ("pqn", ["pqn.num_steps=16", "pqn.num_minibatches=2"]),
        ("sac", SMALL_SAC),
        ("sac", [*SMALL_SAC, "policy.head=shared", "policy.layer_norm=true"]),
    ],
)
def test_agents_of_several_tasks(tmp_path: Path, algorithm: str, settings: list[str]) -> None:
    path = trained(tmp_path, algorithm, "CartPole-v1,Acrobot-v1", *settings)
    exported = Exported(path, tmp_path)
    for name in ("CartPole-v1", "Acrobot-v1"):
        agent = ale_train.load_agent(path, name)
        steps = played(agent, lambda name=name: ale_train.make_vec(name, NUM_ENVS), length=6)
        assert compare(agent, exported, steps) >= 64


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("ppo", [*SMALL_PPO, "policy.normalize_observations=true"]),
        ("ppo", [*SMALL_PPO, "policy.squash_actions=true", "policy.deviation=state"]),
        ("sac", SMALL_SAC),
    ],
)
def test_continuous_actions(tmp_path: Path, algorithm: str, settings: list[str]) -> None:
    path = trained(tmp_path, algorithm, "Pendulum-v1", *settings)
    agent = ale_train.load_agent(path)
    steps = played(agent, lambda: ale_train.make_vec("Pendulum-v1", NUM_ENVS))
    exported = Exported(path, tmp_path)
    assert compare(agent, exported, steps) >= 64
    assert {"actions", "means", "log_deviations", "values"} == set(exported.outputs)


@pytest.mark.parametrize(
    "settings",
    [
        RECURRENT,
        [*SMALL_PPO, "policy.torso=impala", "policy.width=0.25"],
        [*SMALL_PPO, "policy.torso=impala", "policy.layer_norm=true", "policy.width=0.25"],
        [*SMALL_PPO, "policy.torso=data_efficient", "policy.layer_norm=false"],
        [*SMALL_PPO, "policy.torso=small"],
    ],
)
def test_networks_for_images(tmp_path: Path, settings: list[str]) -> None:
    path = trained(tmp_path, "ppo", "harvest", *settings)
    agent = ale_train.load_agent(path)
    assert compare(agent, Exported(path, tmp_path), played(agent, lambda: agent.make_vec(NUM_ENVS))) >= 64


class Rooms(gymnasium.Env[Any, Any]):
    """Random images of two sizes beside numbers, and actions of several choices."""

    observation_space = gymnasium.spaces.Dict(
        {
            "first": gymnasium.spaces.Box(0, 9, (3, 7, 7), np.uint8),
            "numbers": gymnasium.spaces.Box(-1, 1, (2,), np.float32),
            "second": gymnasium.spaces.Box(0, 255, (1, 40, 40), np.uint8),
        }
    )
    action_space = gymnasium.spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), float(action[0]), self.np_random.random() < 0.1, False, {}


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        (ale_train.PPO, {"num_steps": 16, "num_minibatches": 2}),
        (ale_train.SAC, {"learning_starts": 32, "buffer_size": 500, "batch_size": 4}),
    ],
)
def test_several_images_beside_numbers(tmp_path: Path, algorithm: Any, settings: dict[str, int]) -> None:
    model = algorithm(Rooms, run_dir=tmp_path / "run", num_envs=2, num_threads=1, verbose=False, **settings)
    model.learn(64)
    exported = Exported(str(tmp_path / "run"), tmp_path)
    spaces = {"observation_space": Rooms.observation_space, "action_space": Rooms.action_space}
    agent = ale_train.load_agent(tmp_path / "run", **spaces)
    batch = [Rooms.observation_space.sample() for _ in range(64)]
    observations = {key: np.stack([row[key] for row in batch]) for key in batch[0]}
    expected = agent.outputs(observations)
    # Images come first, in the order of their names.
    parts = [observations[key] for key in ("first", "second", "numbers")]
    feed = {f"observations_{index}": part for index, part in enumerate(parts)}
    results = dict(zip(exported.outputs, exported.session.run(None, feed)))
    assert_near(results["values"], expected.values)
    assert expected.probabilities is not None
    for options in (slice(0, 3), slice(3, 5)):
        assert_probable(results["logits"][:, options], expected.probabilities[:, options])
