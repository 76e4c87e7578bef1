"""Atari environments for TorchRL: ``AtariTorchEnv`` is one of its ``EnvBase``. Requires torchrl."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from ale_train import arguments
from ale_train.vector_env import AtariVectorEnv

__all__ = ["AtariTorchEnv"]


class AtariTorchEnv(EnvBase):  # type: ignore[misc]
    """The environments of ``AtariVectorEnv`` as a batched environment of TorchRL, for collectors and ``rollout``.

    TorchRL resets the environments whose episodes are done; ``next`` has their last observation. Observations,
    ``(num_envs, 4, 84, 84)``, share the memory to which the environments wrote. Beside ``observation`` there is
    ``lives``.
    """

    def __init__(self, game: str, num_envs: int, **options: Any) -> None:
        """Creates the environments.

        Args:
            game: Id of the game, such as ``"ms_pacman"``.
            num_envs: Number of environments.
            options: Other parameters of ``AtariVectorEnv``, except those of asynchronous batches and autoreset, which
                TorchRL determines. Actions are discrete.
        """
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self.envs = AtariVectorEnv(game, num_envs, autoreset_mode=AutoresetMode.DISABLED, **options)
        if self.envs.batch_size != num_envs or self.envs.continuous:
            raise ValueError("batch_size must be 0 and continuous False: TorchRL steps all environments together")
        if options.get("life_loss_info"):
            raise ValueError("life_loss_info must be False: TorchRL resets an environment that reports an end")
        self._seed: int | None = None
        shape, rows = self.envs.observation_space.shape, torch.Size([num_envs])
        assert shape is not None
        self.observation_spec = Composite(
            observation=Bounded(0, 255, shape, dtype=torch.uint8),
            lives=Unbounded(rows, dtype=torch.int32),
            shape=rows,
        )
        self.action_spec = Categorical(self.envs.num_actions[0], shape=rows, dtype=torch.int64)
        self.reward_spec = Unbounded((num_envs, 1), dtype=torch.float32)
        flag = Categorical(2, shape=torch.Size([num_envs, 1]), dtype=torch.bool)
        self.done_spec = Composite(done=flag, terminated=flag.clone(), truncated=flag.clone(), shape=rows)

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        chosen = None if tensordict is None else tensordict.get("_reset", None)
        options, rows, seeds = None, self.envs.num_envs, None
        if chosen is not None:
            mask = chosen.reshape(self.batch_size).numpy()
            options, rows = {"reset_mask": mask}, int(mask.sum())
        if self._seed is not None:
            seeds = (self._seed + np.arange(rows)) & arguments.LARGEST_INT
        observations, info = self.envs.reset(seed=seeds, options=options)
        # Only now: if the reset fails, the next one needs the seed.
        self._seed = None
        over = np.zeros(self.envs.num_envs, bool)
        return self._batch(observations, info, over, over)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions = tensordict["action"].reshape(self.batch_size).numpy()
        observations, rewards, terminated, truncated, info = self.envs.step(actions)
        batch = self._batch(observations, info, terminated, truncated)
        batch["reward"] = torch.from_numpy(rewards).to(torch.float32).unsqueeze(-1)
        return batch

    def _set_seed(self, seed: int | None) -> None:
        # TorchRL derives seeds of 32 bits for parallel environments and collectors.
        self._seed = None if seed is None else seed & arguments.LARGEST_INT

    def _batch(
        self, observations: np.ndarray, info: dict[str, Any], terminated: np.ndarray, truncated: np.ndarray
    ) -> TensorDict:
        arrays = {
            "observation": observations,
            "lives": info["lives"],
            "terminated": terminated[:, None],
            "truncated": truncated[:, None],
            "done": (terminated | truncated)[:, None],
        }
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return TensorDict(tensors, batch_size=self.batch_size)

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Stops the threads."""
        self.envs.close()
        super().close(raise_if_closed=raise_if_closed)
