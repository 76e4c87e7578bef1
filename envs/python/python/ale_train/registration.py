"""Gymnasium ids for ``gymnasium.make_vec``."""

from __future__ import annotations

import gymnasium

from ale_train import _native
from ale_train.names import camel_case

__all__ = ["register_envs"]


def register_envs(namespace: str = "ALE") -> None:
    """Registers every game as ``NAMESPACE/Name-v5``, with the same options as ale-py.

    With the default namespace, ``gymnasium.make_vec("ALE/Pong-v5", num_envs=8)`` creates environments of this package,
    even if ale-py has registered the id; another namespace keeps both. As in ale-py, ``repeat_action_probability`` is
    0.25 by default (Machado et al., 2018).

    ``gymnasium.make``, which creates a single environment, still uses the entry point that ale-py has registered.
    """
    for game in _native.games():
        id = f"{namespace}/{camel_case(game)}-v5"
        before = gymnasium.registry.pop(id, None)
        gymnasium.register(
            id=id,
            entry_point=None if before is None else before.entry_point,
            vector_entry_point="ale_train.vector_env:AtariVectorEnv",
            kwargs={
                "game": game,
                "repeat_action_probability": 0.25,
                "full_action_space": False,
                "frameskip": 4,
                "max_num_frames_per_episode": 108000,
            },
        )
