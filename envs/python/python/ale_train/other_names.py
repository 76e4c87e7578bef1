"""The same environments under the names of ale-py's older guide, and with the defaults of world models."""

from __future__ import annotations

from typing import Any

import numpy as np

from ale_train import arguments
from ale_train.names import game_of
from ale_train.vector_env import AtariVectorEnv

__all__ = ["VectorAtariEnv", "make_atari_vector_env"]

#: The current names of the parameters by those in ale-py's older guide.
_CURRENT_NAMES = {
    "frame_skip": "frameskip",
    "fire_reset": "use_fire_reset",
    "max_episode_steps": "max_num_frames_per_episode",
}


class VectorAtariEnv(AtariVectorEnv):
    """``AtariVectorEnv`` with the parameter names of ale-py's older guide.

    ``frame_skip`` is ``frameskip``, ``fire_reset`` is ``use_fire_reset``, and ``max_episode_steps``, which counts
    emulated frames, is ``max_num_frames_per_episode``. ``seed`` is used by the first reset if that has no seed. The
    game may be written ``"Breakout"`` or ``"ms_pacman"``. All other parameters are those of ``AtariVectorEnv``.
    """

    def __init__(self, game: str, num_envs: int, *, seed: int | np.ndarray | None = None, **options: Any) -> None:
        for older, name in _CURRENT_NAMES.items():
            if older in options:
                if name in options:
                    raise TypeError(f"{older} and {name} are two names of the same option; use one of them")
                options[name] = options.pop(older)
        # Used by `_first_seeds`, which the constructor calls.
        self._seed = seed
        super().__init__(game_of(game), num_envs, **options)

    def _first_seeds(self) -> list[int]:
        """Returns the given seeds, with random ones in place of those that are None."""
        given, random = arguments.seeds(self._seed, self.num_envs), super()._first_seeds()
        return [other if seed is None else seed for seed, other in zip(given, random, strict=True)]


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
        seed: Seed of the first reset, if that has none.
        options: Other parameters of ``AtariVectorEnv``, such as ``img_height`` or ``stack_num``.

    Raises:
        GameError: The game is unknown.
        ValueError: ``obs_type`` is none of these, or an option is out of range.
    """
    options_by_type: dict[str, dict[str, Any]] = {
        "rgb": {"grayscale": False},
        "grayscale": {"grayscale": True},
        "ram": {"ram": True},
    }
    type_options = options_by_type[arguments.one_of("obs_type", obs_type, tuple(options_by_type))]
    screen = {"img_height": 210, "img_width": 160, "stack_num": 1, "maxpool": False}
    unprocessed = {"noop_max": 0, "use_fire_reset": False, "reward_clipping": False}
    return VectorAtariEnv(
        game,
        num_envs,
        seed=seed,
        frameskip=frameskip,
        repeat_action_probability=repeat_action_probability,
        full_action_space=full_action_space,
        **{**screen, **unprocessed, **type_options, **options},
    )
