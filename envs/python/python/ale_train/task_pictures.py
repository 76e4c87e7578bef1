"""Pictures of classic control, toy text and MuJoCo, drawn by Gymnasium's own environments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import load_env_creator

from ale_train import arguments
from ale_train.names import task_of

__all__ = ["TaskPictures", "is_of_pictures"]

#: The arguments of Gymnasium's MuJoCo tasks that concern pictures only.
_ARGUMENTS = frozenset(
    {
        "width", "height", "camera_id", "camera_name", "default_camera_config", "max_geom", "visual_options",
    }
)  # fmt: skip


def is_of_pictures(name: str) -> bool:
    """Returns true if an argument of a task concerns its pictures only."""
    return name in _ARGUMENTS


#: The steps that are repeated for the first picture. More would take seconds.
_MAX_HISTORY = 100_000


class _Reset(NamedTuple):
    """The arguments of ``reset``."""

    seed: int | None
    options: dict[str, Any] | None


class TaskPictures:
    """Gymnasium's environment, which takes the same steps and draws them.

    It is created for the first picture, and repeats the steps since the last reset with a seed: many programs, such as
    Stable-Baselines3, ask for a render mode and draw nothing. It needs what Gymnasium needs: pygame, or the package
    ``mujoco``.
    """

    def __init__(self, task_id: str, render_mode: str, task_arguments: dict[str, Any]) -> None:
        """Checks the render mode.

        Args:
            task_id: The id in Gymnasium.
            render_mode: A render mode of Gymnasium's environment.
            task_arguments: The arguments of the environment.

        Raises:
            ValueError: The environment does not have the render mode.
        """
        spec = gymnasium.spec(task_of(task_id))
        if spec.entry_point is None:
            raise ValueError(f"{task_id} has no pictures")
        creator = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
        self._creator: Callable[..., Any] = creator
        self._arguments = {**spec.kwargs, **task_arguments, "render_mode": render_mode}
        #: Gymnasium's metadata, with ``render_fps``.
        self.metadata: dict[str, Any] = getattr(creator, "metadata", {})
        arguments.one_of("render_mode", render_mode, tuple(self.metadata.get("render_modes", ())))
        self._env: gymnasium.Env[Any, Any] | None = None
        # None after too many steps without a picture.
        self._history: list[Any] | None = None
        if render_mode == "human":
            # It shows every step.
            self._env = self._create()

    @property
    def is_drawing(self) -> bool:
        """True once there was a picture."""
        return self._env is not None

    def _create(self) -> gymnasium.Env[Any, Any]:
        env: gymnasium.Env[Any, Any] = self._creator(**self._arguments)
        return env

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Starts the episode that the environment starts with the same arguments."""
        if self._env is not None:
            self._env.reset(seed=seed, options=options)
        elif seed is not None:
            self._history = [_Reset(seed, options)]
        elif self._history is not None:
            self._history.append(_Reset(seed, options))

    def step(self, action: Any) -> None:
        """Takes a step of the environment."""
        if self._env is not None:
            self._env.step(action)
        elif self._history is not None and len(self._history) < _MAX_HISTORY:
            # The caller may change an array.
            self._history.append(copy.copy(action))
        else:
            self._history = None

    def render(self) -> Any:
        """Returns what the render mode of Gymnasium's environment returns.

        Raises:
            gymnasium.error.ResetNeeded: The first picture is too many steps after a reset with a seed.
            gymnasium.error.DependencyNotInstalled: A package that draws is missing.
        """
        if self._env is None:
            if self._history is None:
                raise gymnasium.error.ResetNeeded(
                    f"the first picture must be at most {_MAX_HISTORY} steps after a reset with a seed"
                )
            env = self._create()
            for entry in self._history:
                if isinstance(entry, _Reset):
                    env.reset(seed=entry.seed, options=entry.options)
                else:
                    env.step(entry)
            self._env, self._history = env, None
        return self._env.render()

    def close(self) -> None:
        """Closes the window."""
        if self._env is not None:
            self._env.close()
