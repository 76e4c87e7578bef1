"""Pictures of classic control, toy text and MuJoCo, drawn by Gymnasium's own environments."""

from __future__ import annotations

from typing import Any

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


class TaskPictures:
    """Gymnasium's environment, which takes the same steps and draws them.

    It needs what Gymnasium needs: pygame, or the package ``mujoco``.
    """

    def __init__(self, task_id: str, render_mode: str, task_arguments: dict[str, Any]) -> None:
        """Creates the environment.

        Args:
            task_id: The id in Gymnasium.
            render_mode: A render mode of Gymnasium's environment.
            task_arguments: The arguments of the environment.

        Raises:
            ValueError: The environment does not have the render mode.
            gymnasium.error.DependencyNotInstalled: A package that draws is missing.
        """
        spec = gymnasium.spec(task_of(task_id))
        if spec.entry_point is None:
            raise ValueError(f"{task_id} has no pictures")
        create = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
        modes = tuple(getattr(create, "metadata", {}).get("render_modes", ()))
        arguments.one_of("render_mode", render_mode, modes)
        self._env = create(**{**spec.kwargs, **task_arguments}, render_mode=render_mode)
        #: Gymnasium's metadata, with ``render_fps``.
        self.metadata = self._env.metadata

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Starts the episode that the environment starts with the same arguments."""
        self._env.reset(seed=seed, options=options)

    def step(self, action: Any) -> None:
        """Takes a step of the environment."""
        self._env.step(action)

    def render(self) -> Any:
        """Returns what the render mode of Gymnasium's environment returns."""
        return self._env.render()

    def close(self) -> None:
        """Closes the window."""
        self._env.close()
