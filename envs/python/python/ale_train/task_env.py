"""Single environments of classic control, toy text and MuJoCo."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ale_train import arguments
from ale_train.task_pictures import TaskPictures, is_of_pictures
from ale_train.task_vector_env import TaskVectorEnv, row_of

__all__ = ["TaskEnv"]

#: The options of ``TaskVectorEnv`` that a single environment does not have.
_OPTIONS: dict[str, Any] = {
    "num_envs": 1,
    "batch_size": 0,
    "num_threads": 1,
    "thread_affinity_offset": -1,
    "autoreset_mode": AutoresetMode.DISABLED,
    "max_episode_steps": -1,
    "complete_info": False,
}


class TaskEnv(gymnasium.Env[Any, Any]):
    """One environment, as ``gymnasium.make("ale_train/CartPole-v1")`` creates it with Gymnasium's time limit.

    Results equal those of Gymnasium's environment, as described for ``TaskVectorEnv``. Scalars in infos have NumPy's
    types. A copy (``copy.deepcopy``) or a pickled environment continues the episode with the same random numbers.

    With a render mode, Gymnasium's own environment draws. It is created for the first picture and takes the same steps
    from then on, which takes its time. After that, the environment cannot be copied.
    """

    #: The modes of all environments; ``render_modes`` of an instance with a render mode are its own.
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi", "depth_array", "rgbd_tuple"]}

    def __init__(self, task_id: str, render_mode: str | None = None, **task_arguments: Any) -> None:
        """Creates the environment, without a time limit.

        Args:
            task_id: The id in Gymnasium, such as ``"Ant-v5"``.
            render_mode: A render mode of Gymnasium's environment: ``"human"``, ``"rgb_array"``, ``"ansi"`` in toy text,
                ``"depth_array"`` or ``"rgbd_tuple"`` in MuJoCo.
            task_arguments: The arguments of Gymnasium's environment.

        Raises:
            GameError: The id is unknown.
            TypeError: The environment has no such argument, or a value has the wrong type.
            ValueError: A value is out of range, or the environment does not have the render mode.
            OSError: MuJoCo is missing and cannot be downloaded.
        """
        for name in _OPTIONS:
            if name in task_arguments:
                raise TypeError(f"a single environment has no argument {name!r}; TaskVectorEnv has it")
        self._arguments = {"task_id": task_id, "render_mode": render_mode, **task_arguments}
        self._envs = _only_one(**self._arguments)
        self.observation_space = self._envs.single_observation_space
        self.action_space = self._envs.single_action_space
        self.render_mode = render_mode
        self._pictures = None
        if render_mode is not None:
            self._pictures = TaskPictures(task_id, render_mode, task_arguments)
            self.metadata = self._pictures.metadata
        self._was_reset = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: The seed; None continues the random number generator.
            options: Bounds of the random numbers of the first state in classic control: ``low`` and ``high``, or
                ``x_init`` and ``y_init`` in Pendulum.

        Returns:
            An observation of ``observation_space``, and info.

        Raises:
            gymnasium.error.Error: The seed is negative or not an int.
            ValueError: The seed is larger than 2**64 - 1, or an option is unknown or out of range.
        """
        super().reset(seed=seed)
        if self._pictures is not None:
            if seed is None and not self._was_reset:
                seed = int(arguments.random_seeds(1)[0])
            self._pictures.reset(seed, options)
        observations, infos = self._envs.reset(seed=seed, options=options)
        self._was_reset = True
        return row_of(self.observation_space, observations, 0), _info(infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Performs an action. As in Gymnasium, steps after the end of an episode are possible, but have no meaning.

        Args:
            action: A value of ``action_space``; floats may exceed the bounds.

        Returns:
            Observation, reward, whether the episode terminated, False (the time limit is Gymnasium's), and info.

        Raises:
            ActionError: The type or shape of the action is wrong.
            ValueError: The action is not finite or not in the action space.
            RuntimeError: There was no ``reset``.
        """
        observations, rewards, terminated, truncated, infos = self._envs.step(np.asarray(action)[np.newaxis])
        observation = row_of(self.observation_space, observations, 0)
        if self._pictures is not None:
            self._pictures.step(action)
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), _info(infos)

    def render(self) -> Any:
        """Returns what Gymnasium's environment returns in this state.

        Returns:
            For ``"rgb_array"`` an array of shape ``(height, width, 3)`` and type uint8, for ``"ansi"`` a text. None
            without a render mode, and for ``"human"``, which shows a window.

        Raises:
            gymnasium.error.ResetNeeded: There was no ``reset``, or the first picture is more than 100,000 steps after a
                reset with a seed.
            gymnasium.error.DependencyNotInstalled: A package that draws is missing.
        """
        if self._pictures is None:
            return None
        if not self._was_reset:
            raise gymnasium.error.ResetNeeded("render was called before reset")
        return self._pictures.render()

    def close(self) -> None:
        """Frees the environment."""
        if self._pictures is not None:
            self._pictures.close()
        self._envs.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._pictures is not None and self._pictures.is_drawing:
            raise TypeError("an environment that has drawn a picture cannot be copied or pickled")
        pool = self._envs._pool
        state = {name: value for name, value in vars(self).items() if name != "_envs"}
        snapshot = pool.snapshot() if pool is not None and pool.was_reset else None
        return {"attributes": state, "snapshot": snapshot, "is_closed": pool is None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state["attributes"])
        self._envs = _only_one(**self._arguments)
        if state["snapshot"] is not None:
            self._envs.restore(state["snapshot"])
        if state["is_closed"]:
            self._envs.close()


class _Continuing(TaskVectorEnv):
    """Environments whose episodes only ``reset`` ends."""

    _continues = True


def _only_one(task_id: str, render_mode: str | None, **task_arguments: Any) -> TaskVectorEnv:
    """Returns a vector environment with a single row, which does not draw."""
    if render_mode is not None:
        task_arguments = {name: value for name, value in task_arguments.items() if not is_of_pictures(name)}
    return _Continuing(task_id, **_OPTIONS, **task_arguments)


def _info(infos: dict[str, Any]) -> dict[str, Any]:
    """Returns the info of the only environment."""
    return {name: values[0] for name, values in infos.items() if f"_{name}" in infos}
