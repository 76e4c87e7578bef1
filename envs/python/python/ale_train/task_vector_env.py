"""Vector environments of Gymnasium's own tasks: classic control, toy text and MuJoCo."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ale_train import _native, arguments
from ale_train.errors import ActionError
from ale_train.names import task_of

__all__ = ["TaskVectorEnv", "row_of"]

#: Observations, rewards, terminations, truncations and info.
StepBatch = tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]

#: The largest seed.
_LARGEST_SEED = 2**64 - 1


class TaskVectorEnv(VectorEnv[Any, Any, Any]):
    """Environments of classic control, toy text or MuJoCo on a work-stealing pool.

    The same seeds and actions give the same observations, rewards, flags and infos as Gymnasium's ``SyncVectorEnv``
    over the same id, in every bit, type and shape, including ``final_obs`` and ``final_info``. ``ale_train.tasks()``
    lists the ids.

    There are some differences. The first observation of an episode of Acrobot may differ in its last bit, because
    NumPy computes its sines in single precision. So may distances in Reacher, Pusher and other MuJoCo tasks, because
    NumPy computes norms in a different order on some processors. Actions are rounded to float32, the type of the action
    space. Invalid actions, including NaN, raise ActionError or ValueError. Unknown options of ``reset`` are errors.
    Nothing is rendered.

    Results do not depend on the number of threads. All calls release the GIL while they wait. The caller owns every
    returned array, as in ``AtariVectorEnv``.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
    #: True if steps continue after the end of an episode.
    _continues = False

    def __init__(
        self,
        task_id: str,
        num_envs: int = 1,
        *,
        batch_size: int = 0,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        render_mode: None = None,
        complete_info: bool = False,
        **task_arguments: Any,
    ) -> None:
        """Creates the environments. MuJoCo's library and models are downloaded with pip if they are missing.

        Args:
            task_id: The id in Gymnasium, such as ``"Ant-v5"``, also with the prefix ``"ale_train/"``.
            num_envs: Number of environments, at most 65536.
            batch_size: Rows of a batch; 0 means one for each environment, in their order. With fewer, ``recv`` returns
                the environments that finish first, and ``info["env_id"]`` contains their indices.
            num_threads: Threads that step environments, at most 1024; 0 means one for each row of a batch, but at most
                one for each core.
            thread_affinity_offset: The first core to which threads are pinned; -1 disables pinning.
            autoreset_mode: Gymnasium's autoreset mode, as the enum or its value.
            max_episode_steps: Steps after which an episode is truncated; by default those of the id. -1 disables the
                limit.
            render_mode: None, since nothing is rendered.
            complete_info: Every info has all entries, without masks, and ``env_id`` and ``elapsed_step``.
            task_arguments: The arguments of Gymnasium's environment, such as ``healthy_reward`` of ``Ant-v5`` or
                ``is_slippery`` of ``FrozenLake-v1``.

        Raises:
            GameError: The id is unknown.
            TypeError: The environment has no such argument, a value has the wrong type, or a render mode is given.
            ValueError: A value is out of range.
            OSError: MuJoCo is missing and cannot be downloaded.
            MemoryError: There is too little memory for the batches.
        """
        if render_mode is not None:
            # After a TypeError, and only then, Stable-Baselines3 tries again without render_mode.
            raise TypeError(f"render_mode is {render_mode!r}, but must be None: the environments do not render")
        self.num_envs = arguments.integer("num_envs", num_envs, 1)
        self.batch_size = arguments.integer("batch_size", batch_size, 0) or self.num_envs
        self.autoreset_mode = arguments.autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        limit = arguments.LARGEST_INT if max_episode_steps == -1 else max_episode_steps
        settings = {
            "id": task_of(task_id),
            "arguments": {name: _plain(value) for name, value in task_arguments.items()},
            "num_envs": self.num_envs,
            "max_episode_steps": None if limit is None else arguments.integer("max_episode_steps", limit, 1),
            "complete_info": bool(complete_info),
            "first_seeds": arguments.random_seeds(self.num_envs),
            "batch_size": self.batch_size,
            "num_threads": arguments.integer("num_threads", num_threads, 0),
            "thread_affinity_offset": arguments.affinity_offset("thread_affinity_offset", thread_affinity_offset),
            "autoreset_mode": self.autoreset_mode.value,
            "continues": self._continues,
        }
        self._pool: _native.TaskPool | None = _native.TaskPool(settings, sys.executable)
        self.single_observation_space, self.single_action_space = map(_space, self._pool.spaces)
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        self.action_space = batch_space(self.single_action_space, self.batch_size)
        self._is_continuous = isinstance(self.single_action_space, Box)
        self._row_shape: tuple[int, ...] = self.single_action_space.shape or ()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | np.ndarray | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes.

        Args:
            seed: ``s`` for the seeds ``s, s + 1, ...``, or a list with a seed for each environment. None continues
                the random number generator of the environment.
            options: ``{"reset_mask": array}`` resets only the environments selected by a boolean array of shape
                ``(num_envs,)``. The others are reported again, without entries in info. In classic control, ``low``
                and ``high`` bound the random numbers of the first states (``x_init`` and ``y_init`` in Pendulum).

        Returns:
            Observations, of shape ``(batch_size, *single_observation_space.shape)`` and the type of the space, or a
            tuple of arrays for ``Blackjack-v1``; and info.

        Raises:
            TypeError: The seed or mask has the wrong type.
            ValueError: The seed or mask has the wrong length, a seed is negative, or an option is unknown or out of
                range.
            RuntimeError: The first reset does not include every environment, or a batch does not hold all of them.
        """
        seeds = self._seeds(seed)
        mask, bounds = self._mask(options), self._bounds(options)
        pool = self._open_pool()
        if mask is not None:
            seeds = [seed for seed, selected in zip(seeds, mask) if selected]
        return pool.reset(seeds, mask, bounds)

    def step(self, actions: Any) -> StepBatch:
        """Performs one action in each environment of the last batch: ``send``, then ``recv``.

        Args:
            actions: Integers of shape ``(batch_size,)``, or floats of shape ``(batch_size, n)``.

        Returns:
            Observations as from ``reset``, rewards (float64), terminations, truncations (bool, ``(batch_size,)``) and
            info.

        Raises:
            ActionError: The type or shape is wrong; nothing is sent.
            ValueError: An action is not finite or not in the action space; nothing is sent.
            RuntimeError: There was no ``reset``; or, without autoreset, an episode has ended.
        """
        pool = self._open_pool()
        return self._result(pool.step(self._actions(actions, self.batch_size)))

    def send(self, actions: Any, env_ids: Sequence[int] | np.ndarray | None = None) -> None:
        """Sends actions without waiting; ``recv`` returns the results.

        Args:
            actions: One action for each environment.
            env_ids: The environments, which must not be in flight; by default those of the last batch.

        Raises:
            ActionError: The type or shape is wrong; nothing is sent.
            ValueError: An action or an index is out of range; nothing is sent.
            RuntimeError: There was no ``reset``, or an environment is in flight.
        """
        pool = self._open_pool()
        ids = None if env_ids is None else arguments.indices("env_ids", env_ids, self.num_envs)
        pool.send(self._actions(actions, self.batch_size if ids is None else len(ids)), ids)

    def send_reset(
        self,
        env_ids: Sequence[int] | np.ndarray | None = None,
        *,
        seed: int | Sequence[int | None] | np.ndarray | None = None,
    ) -> None:
        """Resets environments without waiting; ``recv`` returns the results, with rewards of 0.

        Args:
            env_ids: The environments, which must not be in flight; by default all, as the first call requires.
            seed: As for ``reset``, for the environments in ``env_ids``.

        Raises:
            RuntimeError: An environment is in flight, or the first call does not include all environments.
        """
        pool = self._open_pool()
        ids = list(range(self.num_envs))
        if env_ids is not None:
            ids = arguments.indices("env_ids", env_ids, self.num_envs)
        pool.send_reset(ids, self._seeds(seed, len(ids)))

    def recv(self) -> StepBatch:
        """Waits for the next batch; see ``step``.

        Raises:
            RuntimeError: Too few environments are in flight, or an environment failed.
        """
        return self._result(self._open_pool().recv())

    def snapshot(self) -> bytes:
        """Returns the complete state of all environments. Every batch must hold all of them.

        Raises:
            RuntimeError: There was no ``reset``, an environment is in flight, or ``batch_size`` is less than
                ``num_envs``.
        """
        return self._pool_of_whole_batches("snapshot").snapshot()

    def restore(self, state: bytes) -> tuple[Any, dict[str, Any]]:
        """Restores a state from ``snapshot``, to environments with the same options, and returns it as ``reset`` does.

        Args:
            state: The state.

        Raises:
            RuntimeError: An environment is in flight, or ``batch_size`` is less than ``num_envs``.
            ValueError: The state is damaged or belongs to other environments; nothing changes.
        """
        return self._pool_of_whole_batches("restore").restore(state)

    def close_extras(self, **kwargs: Any) -> None:
        """Stops the threads and frees the environments. Returned arrays stay valid."""
        self._pool = None

    def _open_pool(self) -> _native.TaskPool:
        if self._pool is None:
            raise gymnasium.error.ClosedEnvironmentError("the vector environment is closed")
        return self._pool

    def _pool_of_whole_batches(self, call: str) -> _native.TaskPool:
        """Returns the pool if every batch holds all environments.

        Otherwise results are pending between batches, and a state has neither their float64 rewards nor their infos.
        """
        pool = self._open_pool()
        if self.batch_size < self.num_envs:
            raise RuntimeError(
                f"{call} requires that a batch holds all environments, but batch_size is {self.batch_size} and "
                f"num_envs is {self.num_envs}"
            )
        return pool

    def _actions(self, actions: Any, rows: int) -> np.ndarray:
        """Returns the actions in a type that the pool accepts."""
        array = np.asarray(actions)
        kinds, name = ("fiu", "float32") if self._is_continuous else ("iu", "int64")
        if array.dtype.kind not in kinds:
            allowed = "floats" if self._is_continuous else "integers"
            raise ActionError(f"actions must be {allowed}, got {array.dtype}")
        if array.shape != (rows, *self._row_shape):
            raise ActionError(f"actions must have the shape {(rows, *self._row_shape)}, got {array.shape}")
        return array.astype(name, copy=False)

    def _seeds(self, seed: Any, count: int | None = None) -> list[int | None]:
        count = self.num_envs if count is None else count
        if seed is None:
            return [None] * count
        if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
            seeds: list[Any] = [int(seed) + index for index in range(count)]
        elif isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, (str, bytes)):
            seeds = [value if value is None else _seed(value) for value in seed]
        else:
            raise TypeError(f"seed must be an int, a list of int or None, got {type(seed).__name__}")
        if len(seeds) != count:
            raise ValueError(f"seed has {len(seeds)} entries, but must have one for each of {count} environments")
        for value in seeds:
            if value is not None and not 0 <= value <= _LARGEST_SEED:
                raise ValueError(f"seeds must be between 0 and {_LARGEST_SEED}, got {value}")
        return seeds

    def _mask(self, options: dict[str, Any] | None) -> np.ndarray | None:
        mask = arguments.reset_mask(options, self.num_envs)
        if mask is not None and not mask.any():
            raise ValueError("`reset_mask` selects no environment, but must select at least one")
        return mask

    def _bounds(self, options: dict[str, Any] | None) -> list[tuple[str, float]]:
        """Returns the bounds of the first states among the options."""
        names = self._open_pool().bounds
        known = [*names, "reset_mask"]
        unknown = [name for name in options or () if name not in known]
        if unknown:
            allowed = ", ".join(map(repr, known))
            raise ValueError(f"reset has no option {unknown[0]!r}; it has {allowed}")
        return [(name, _number(name, options[name])) for name in names if options and name in options]

    def _result(self, batch: StepBatch) -> StepBatch:
        """Returns a batch of the pool with final observations in Gymnasium's form: an array of objects."""
        info = batch[4]
        if "final_obs" in info:
            observations, ended = info["final_obs"], info["_final_obs"]
            rows = np.full(len(ended), None, object)
            for row in np.flatnonzero(ended).tolist():
                rows[row] = row_of(self.single_observation_space, observations, row)
            info["final_obs"] = rows
        return batch


def _plain(value: Any) -> Any:
    """Converts the value of an argument to types that the pool knows."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"seed must be an int, a list of int or None, got a list with {type(value).__name__}")
    return int(value)


def _space(described: tuple[Any, ...]) -> gymnasium.Space[Any]:
    """Returns the space that the pool describes."""
    kind, *parts = described
    if kind == "Tuple":
        return Tuple([_space(part) for part in parts[0]])
    if kind == "Discrete":
        return Discrete(parts[0], start=parts[1])
    name, shape, *bounds = parts
    dtype: type[Any] = np.dtype(name).type
    low, high = (np.array(bound, dtype).reshape(shape) for bound in bounds)
    space: gymnasium.Space[Any] = Box(low, high, dtype=dtype)
    return space


def row_of(space: gymnasium.Space[Any], observations: Any, row: int) -> Any:
    """Returns one observation as Gymnasium's environments do."""
    if isinstance(space, Tuple):
        return tuple(int(part[row]) for part in observations)
    return int(observations[row]) if isinstance(space, Discrete) else observations[row].copy()
