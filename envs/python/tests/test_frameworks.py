"""Stable-Baselines3, TorchRL and tensors: ``pytest -m frameworks``, with the packages of ``[test,frameworks]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ale_train.vector_env import AtariVectorEnv

pytestmark = pytest.mark.frameworks

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("arguments", [["stable_baselines3_ppo.py", "harvest", "1024"], ["torchrl_collector.py"]])
def test_examples(arguments: list[str]) -> None:
    name, *rest = arguments
    subprocess.run([sys.executable, str(EXAMPLES / name), *rest], check=True, timeout=600)


def test_tensors_share_memory() -> None:
    import torch

    env = AtariVectorEnv("harvest", 2)
    observations, _ = env.reset(seed=1)
    for tensor in (torch.from_numpy(observations), torch.from_dlpack(observations)):
        assert tensor.data_ptr() == observations.ctypes.data
    kept, before = torch.from_dlpack(observations), observations.copy()
    del observations
    for _ in range(10):
        env.step(np.array([1, 2]))
    assert np.array_equal(kept.numpy(), before), "the tensor keeps the memory"


@pytest.mark.parametrize("life_loss_info", [False, True])
def test_stable_baselines3_steps_as_the_vector_environment(life_loss_info: bool) -> None:
    from ale_train.stable_baselines3 import AtariVecEnv

    options: dict[str, Any] = {"max_num_frames_per_episode": 200, "life_loss_info": life_loss_info}
    env = AtariVecEnv("breakout", 3, **options)
    same = AtariVectorEnv("breakout", 3, autoreset_mode="SameStep", extra_info=True, **options)
    env.seed(7)
    assert np.array_equal(env.reset(), same.reset(seed=7)[0])
    ends = 0
    for actions in np.random.default_rng(1).integers(4, size=(150, 3)):
        observations, rewards, dones, infos = env.step(actions)
        expected, reward, terminated, truncated, info = same.step(actions)
        assert np.array_equal(observations, expected)
        assert rewards.dtype == np.float32 and np.array_equal(rewards, reward)
        assert np.array_equal(dones, terminated | truncated)
        for index in range(3):
            one = infos[index]
            over = "_episode" in info and info["_episode"][index]
            assert one["lives"] == (info["final_info"] if over else info)["lives"][index]
            assert ("terminal_observation" in one) == dones[index]
            if dones[index]:
                assert np.array_equal(one["terminal_observation"], info["final_obs"][index])
                assert one["TimeLimit.truncated"] == truncated[index]
                assert ("episode" in one) == over
            if "episode" in one:
                ends += 1
                assert one["episode"]["r"] == info["episode"]["r"][index]
    assert ends >= 6
    # Without a call of seed, a reset continues the random number generators.
    assert np.array_equal(env.reset(), same.reset()[0])


class RandomActions:
    """A model that ignores observations."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(3)

    def predict(self, observations: np.ndarray, state: Any = None, **_: Any) -> tuple[np.ndarray, Any]:
        return self.random.integers(4, size=len(observations)), state


def test_stable_baselines3_evaluates_whole_games() -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    from ale_train.stable_baselines3 import AtariVecEnv

    options: dict[str, Any] = {"seed": 1, "life_loss_info": True, "max_num_frames_per_episode": 2000}
    env = AtariVecEnv("breakout", 2, **options)
    returns, lengths = evaluate_policy(RandomActions(), env, n_eval_episodes=2, return_episode_rewards=True)
    same, model = AtariVecEnv("breakout", 2, **options), RandomActions()
    observations, lives_lost = same.reset(), 0
    episodes: dict[int, dict[str, Any]] = {}
    while len(episodes) < 2:
        observations, _, dones, infos = same.step(model.predict(observations)[0])
        lives_lost += sum(done and "episode" not in info for done, info in zip(dones, infos))
        for index, info in enumerate(infos):
            if "episode" in info:
                episodes.setdefault(index, info["episode"])
    assert lives_lost > 0
    assert returns == [episode["r"] for episode in episodes.values()]
    assert lengths == [episode["l"] for episode in episodes.values()]


@pytest.mark.parametrize("id", ["ale_train/CartPole-v1", "ale_train/FrozenLake-v1", "ale_train/Pendulum-v1"])
def test_stable_baselines3_makes_tasks_by_id(id: str) -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    PPO("MlpPolicy", id, n_steps=16, batch_size=16, device="cpu").learn(32)
    PPO("MlpPolicy", make_vec_env(id, 2), n_steps=16, batch_size=16, device="cpu").learn(32)


def test_other_methods_of_stable_baselines3() -> None:
    from stable_baselines3.common.monitor import Monitor

    from ale_train.stable_baselines3 import AtariVecEnv

    assert AtariVecEnv("harvest", 1).render_mode == "rgb_array"
    env = AtariVecEnv("pong", 3)
    assert env.seed(2**32 - 2) == [2**31 - 2, 2**31 - 1, 0]
    env.reset()
    assert env.seed(1) == [1, 2, 3]
    env.reset()
    assert env.render().shape[2] == 3
    assert [image.shape for image in env.get_images()] == [(210, 160, 3)] * 3
    assert [ram.shape for ram in env.env_method("getRAM", indices=[0, 2])] == [(128,)] * 2
    assert env.get_attr("num_actions", indices=1) == [[6, 6, 6]]
    assert env.env_is_wrapped(object) == [False] * 3
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert env.env_is_wrapped(Monitor, indices=[2, 0]) == [True] * 2
    assert AtariVecEnv("pong", 2, extra_info=False).env_is_wrapped(Monitor) == [False] * 2
    with pytest.raises(AttributeError, match="no attributes of their own"):
        env.set_attr("mode", 1)
    with pytest.raises(ValueError, match="indices contains 3"):
        env.env_method("lives", indices=3)
    with pytest.raises(ValueError, match="batch_size must be 0"):
        AtariVecEnv("pong", 3, batch_size=2)


def test_torchrl_resets_done_environments() -> None:
    import torch
    from torchrl.envs.utils import check_env_specs

    from ale_train.torchrl import AtariTorchEnv

    options: dict[str, Any] = {"max_num_frames_per_episode": 130, "repeat_action_probability": 0.25}
    env = AtariTorchEnv("breakout", 3, **options)
    check_env_specs(env)
    same = AtariVectorEnv("breakout", 3, autoreset_mode="Disabled", **options)
    env.set_seed(2**31 - 2)
    env.reset()
    env.set_seed(5)
    torch.manual_seed(1)
    rollout = env.rollout(80, break_when_any_done=False)
    observations, _ = same.reset(seed=5)
    resets = 0
    for step in range(80):
        now = rollout[:, step]
        assert np.array_equal(now["observation"].numpy(), observations)
        observations, rewards, terminated, truncated, _ = same.step(now["action"].numpy())
        after = now["next"]
        assert np.array_equal(after["observation"].numpy(), observations)
        assert np.array_equal(after["reward"][:, 0].numpy(), rewards)
        assert np.array_equal(after["terminated"][:, 0].numpy(), terminated)
        assert np.array_equal(after["truncated"][:, 0].numpy(), truncated)
        over = terminated | truncated
        if over.any() and step < 79:
            resets += 1
            observations, _ = same.reset(options={"reset_mask": over})
    assert resets >= 2
    with pytest.raises(ValueError, match="continuous False"):
        AtariTorchEnv("pong", 2, continuous=True)
