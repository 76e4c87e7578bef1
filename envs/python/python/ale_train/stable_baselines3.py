"""Atari environments for Stable-Baselines3: ``AtariVecEnv`` is one of its ``VecEnv``. Requires stable-baselines3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from ale_train import arguments
from ale_train.names import game_of
from ale_train.vector_env import AtariVectorEnv

__all__ = ["AtariVecEnv"]


class AtariVecEnv(VecEnv):  # type: ignore[misc]
    """The environments of ``AtariVectorEnv`` as a ``VecEnv``, for ``PPO("CnnPolicy", AtariVecEnv("pong", 8))``.

    Observations are stacks of frames ``(num_envs, 4, 84, 84)``, so that ``VecFrameStack`` and ``VecTransposeImage`` are
    not needed. Neither is ``VecMonitor``: ``infos[i]["episode"]`` has the return and length of full episodes. With
    ``life_loss_info=True`` a lost life is reported as ``done`` while the game continues. Adding
    ``fire_after_lost_life=True`` makes it continue as with Stable-Baselines3's ``AtariWrapper``.
    """

    def __init__(self, game: str, num_envs: int, *, seed: int | None = None, **options: Any) -> None:
        """Creates the environments.

        Args:
            game: ``"ms_pacman"``, ``"ALE/MsPacman-v5"`` or ``"MsPacmanNoFrameskip-v4"``.
            num_envs: Number of environments.
            seed: ``s`` gives environment ``i`` the seed ``s + i`` for its first reset, as ``env.seed(s)`` does.
            options: Other parameters of ``AtariVectorEnv``, except those of asynchronous batches and autoreset, which
                Stable-Baselines3 determines.
        """
        options = {"extra_info": True, **options}
        self.envs = AtariVectorEnv(game_of(game), num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._reports_episodes = bool(options["extra_info"])
        if self.envs.batch_size != num_envs:
            raise ValueError("batch_size must be 0: Stable-Baselines3 steps all environments together")
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)
        # The names of Gym's vector environments, which had the same interface.
        self.single_observation_space, self.single_action_space = self.observation_space, self.action_space
        if seed is not None:
            self.seed(seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Sets the seeds of the next reset and returns them. Only the lower 31 bits of larger seeds count.

        Args:
            seed: ``s`` for the seeds ``s, s + 1, ...``; None draws one.
        """
        seeds = super().seed(seed)
        self._seeds = [seed & arguments.LARGEST_INT if seed > arguments.LARGEST_INT else seed for seed in seeds]
        return self._seeds

    def reset(self) -> np.ndarray:
        """Starts new episodes, with the seeds of ``seed`` if it was called before, and returns the observations."""
        given = self._seeds
        seeds = None if given[0] is None else np.array(given)
        observations, info = self.envs.reset(seed=seeds)
        self.reset_infos = [{"lives": int(lives)} for lives in info["lives"]]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Sends an action to each environment.

        Args:
            actions: Indices of actions, of shape ``(num_envs,)``.
        """
        dtype = np.float32 if self.envs.continuous else np.int64
        self.envs.send(np.asarray(actions, dtype))

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Waits for the results: observations, rewards (float32), dones and one info for each environment.

        An info has ``lives``, at the end of a game those before its reset. If the environment is done, it also has
        ``terminal_observation``, ``TimeLimit.truncated`` and, where the game or its limit has ended, ``episode``.
        """
        observations, rewards, terminated, truncated, info = self.envs.recv()
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{"lives": lives} for lives in info["lives"].tolist()]
        for env in np.flatnonzero(dones).tolist():
            infos[env]["terminal_observation"] = info["final_obs"][env]
            infos[env]["TimeLimit.truncated"] = bool(truncated[env])
            if "_episode" in info and info["_episode"][env]:
                infos[env]["lives"] = int(info["final_info"]["lives"][env])
                infos[env]["episode"] = {key: values[env].item() for key, values in info["episode"].items()}
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Stops the threads."""
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Returns the screens."""
        return list(self.envs.render())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the vector environment, once for each of the chosen environments."""
        return [getattr(self.envs, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises an error: the environments have no attributes of their own."""
        raise AttributeError(f"{attr_name} cannot be set: the environments have no attributes of their own")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Calls a method of a copy of each chosen environment's ``ALEInterface``, such as ``getRAM``."""
        copies = (self.envs.ale.emulator(index) for index in self._chosen(indices))
        return [getattr(ale, method_name)(*method_args, **method_kwargs) for ale in copies]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Returns True for ``Monitor`` and False for other classes, once for each of the chosen environments.

        ``infos[i]["episode"]`` has the entries of ``Monitor``, so that ``evaluate_policy`` and ``EvalCallback`` report
        the returns of full episodes. With ``extra_info=False`` they are missing, and the result is False.
        """
        # evaluate_policy would wait forever for entries that are missing.
        return [wrapper_class is Monitor and self._reports_episodes] * len(self._chosen(indices))

    def _chosen(self, indices: Any) -> list[int]:
        """Returns the indices of the environments that ``indices`` selects; None selects all."""
        return list(range(self.num_envs)) if indices is None else arguments.indices("indices", indices, self.num_envs)
