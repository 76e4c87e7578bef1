"""The counterpart of ale-py's ``ALEVectorInterface``: the ``ale`` of vector environments."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ale_train import _native, arguments
from ale_train.actions import Action

if TYPE_CHECKING:
    from ale_train.vector_env import AtariVectorEnv

__all__ = ["ALEVectorInterface"]


class ALEVectorInterface:
    """The environments by their indices, with the methods of ale-py's ``ALEVectorInterface`` and two more:
    ``get_action_sets`` and ``emulator``."""

    def __init__(self, env: AtariVectorEnv) -> None:
        # The environment owns this object.
        self._env_of = weakref.ref(env)

    @property
    def _env(self) -> AtariVectorEnv:
        env = self._env_of()
        if env is None:
            raise RuntimeError("the vector environment of this interface no longer exists")
        return env

    def get_num_envs(self) -> int:
        """Returns the number of environments."""
        return self._env.num_envs

    def get_observation_shape(self) -> tuple[int, ...]:
        """Returns the shape of a single observation."""
        shape = self._env.single_observation_space.shape
        assert shape is not None
        return shape

    def get_action_set(self) -> list[Action]:
        """Returns the actions by index.

        Raises:
            RuntimeError: The games have different actions; ``get_action_sets`` returns those of each environment.
        """
        first, *others = self.get_action_sets()
        if any(other != first for other in others):
            raise RuntimeError("the games have different actions; get_action_sets() returns those of each environment")
        return first

    def get_action_sets(self) -> list[list[Action]]:
        """Returns the actions of each environment by index."""
        return [list(actions) for actions in self._env.action_sets]

    def handle(self) -> np.ndarray:
        """Returns the handle of ``AtariVectorEnv.xla``, an array of eight bytes."""
        return np.frombuffer(bytes(self._env._open_pool().xla_handle), np.uint8).copy()

    def reset(self, env_ids: Sequence[int], seeds: Sequence[int], /) -> tuple[np.ndarray, dict[str, Any]]:
        """Resets these environments and returns a batch, in which the others are reported again.

        Args:
            env_ids: The environments.
            seeds: A seed for each of them; a negative one continues the random number generator.

        Raises:
            ValueError: An environment is named twice, or the lengths differ.
            IndexError: There is no such environment.
        """
        env = self._env
        ids, values = (np.asarray(given, np.int64) for given in (env_ids, seeds))
        if ids.shape != values.shape or ids.ndim != 1:
            raise ValueError(f"env_ids and seeds must have same size, got {ids.size} and {values.size}")
        for index, env_id in enumerate(ids.tolist()):
            if not 0 <= env_id < env.num_envs:
                raise IndexError(f"reset env_id {env_id} is out of range [0, {env.num_envs})")
            if env_id in ids[:index]:
                raise ValueError(f"reset has a duplicate env_id={env_id}")
        mask = np.isin(np.arange(env.num_envs), ids)
        return env.reset(seed=values[np.argsort(ids)], options={"reset_mask": mask})

    def send(self, action_ids: Sequence[int], paddle_strengths: Sequence[float], /) -> None:
        """Sends an action to each environment of the last batch without waiting.

        Args:
            action_ids: An index into ``get_action_set`` for each row.
            paddle_strengths: 1 for each row, the only strength of discrete actions.

        Raises:
            ValueError: The lengths differ, a strength is not 1, or an action is out of range.
            RuntimeError: The actions are continuous; ``AtariVectorEnv.send`` sends them.
        """
        env = self._env
        if env.continuous:
            raise RuntimeError("the actions are continuous; AtariVectorEnv.send sends them")
        if len(action_ids) != env.batch_size:
            raise ValueError(f"Expected {env.batch_size} actions, got {len(action_ids)}")
        if len(paddle_strengths) != len(action_ids):
            raise ValueError("action_ids and paddle_strengths must have same size")
        if any(strength != 1 for strength in paddle_strengths):
            raise ValueError(f"the strength of discrete actions must be 1, got {list(paddle_strengths)}")
        env.send(np.asarray(action_ids))

    def recv(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Waits for the next batch, as ``AtariVectorEnv.recv`` does."""
        return self._env.recv()

    def emulator(self, env_id: int) -> _native.ALEInterface:
        """Returns a copy of an environment's emulator: its lives, RAM, screen, modes, saved state and so on.

        The copy is independent: acting on it does not change the environment. It has no frame limit, so
        ``game_truncated`` is always false. Call it before ``send``.

        Args:
            env_id: The environment.

        Raises:
            ValueError: There is no such environment.
            RuntimeError: The environment is in flight.
        """
        env = self._env
        return env._open_pool().emulator(*arguments.indices("env_id", [env_id], env.num_envs))
