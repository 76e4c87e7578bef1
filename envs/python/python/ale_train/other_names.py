"""The same environments under the names of other guides and libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ale_train.names import game_of
from ale_train.vector_env import AtariVectorEnv

__all__ = ["VectorAtariEnv", "make_atari_vector_env"]

#: The parameter names of ale-py's older guide and their current names.
_OLDER = {"frame_skip": "frameskip", "fire_reset": "use_fire_reset", "max_episode_steps": "max_num_frames_per_episode"}


class VectorAtariEnv(AtariVectorEnv):
    """``AtariVectorEnv`` with the parameter names of ale-py's older guide.

    ``frame_skip`` is ``frameskip``, ``fire_reset`` is ``use_fire_reset``, and ``max_episode_steps``, which counts
    emulated frames, is ``max_num_frames_per_episode``. ``seed`` is used by the first ``reset`` without a seed. The game
    may be written ``"Breakout"`` or ``"ms_pacman"``. All other parameters are those of ``AtariVectorEnv``.
    """

    def __init__(self, game: str, num_envs: int, *, seed: int | np.ndarray | None = None, **options: Any) -> None:
        for older, name in _OLDER.items():
            if older in options:
                if name in options:
                    raise TypeError(f"{older} and {name} are two names of the same option; use one of them")
                options[name] = options.pop(older)
        super().__init__(game_of(game), num_envs, **options)
        self._first_seed = seed

    def reset(
        self, *, seed: int | np.ndarray | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts new episodes.

        Args:
            seed: As for ``AtariVectorEnv.reset``; None in the first reset stands for the seed of the constructor.
            options: As for ``AtariVectorEnv.reset``.
        """
        if seed is not None:
            return super().reset(seed=seed, options=options)
        results = super().reset(seed=self._first_seed, options=options)
        # Only now: if the call fails, the next one needs the seed.
        self._first_seed = None
        return results


def make_atari_vector_env(
    game: str,
    num_envs: int,
    *,
    obs_type: str = "rgb",
    frameskip: int = 4,
    repeat_action_probability: float = 0.25,
    full_action_space: bool = False,
    seed: int | np.ndarray | None = None,
    **options: Any,
) -> AtariVectorEnv:
    """Creates environments for world models: one frame per observation, raw rewards, no no-ops.

    Args:
        game: Name of the game in any common spelling.
        num_envs: Number of environments.
        obs_type: ``"rgb"`` for ``(1, 210, 160, 3)``, ``"grayscale"`` for ``(1, 210, 160)``, ``"ram"`` for ``(1, 128)``.
        frameskip: Emulated frames per step.
        repeat_action_probability: Probability that a frame repeats the previous action (sticky actions).
        full_action_space: Use all legal actions instead of the minimal set.
        seed: Seed of the first reset without a seed.
        options: Other parameters of ``AtariVectorEnv``, such as ``img_height`` or ``stack_num``.
    """
    kinds: dict[str, dict[str, Any]] = {
        "rgb": {"grayscale": False},
        "grayscale": {"grayscale": True},
        "ram": {"ram": True},
    }
    if obs_type not in kinds:
        raise ValueError(f"obs_type is {obs_type!r}, but must be one of {', '.join(kinds)}")
    screen = {"img_height": 210, "img_width": 160, "stack_num": 1, "maxpool": False}
    game_itself = {"noop_max": 0, "use_fire_reset": False, "reward_clipping": False}
    return VectorAtariEnv(
        game,
        num_envs,
        seed=seed,
        frameskip=frameskip,
        repeat_action_probability=repeat_action_probability,
        full_action_space=full_action_space,
        **{**screen, **game_itself, **kinds[obs_type], **options},
    )
