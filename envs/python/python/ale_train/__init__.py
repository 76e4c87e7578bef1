"""Atari 2600 vector environments on a work-stealing pool, bit for bit equal to those of ale-py.

``ale_train.vector_env.AtariVectorEnv`` is a drop-in replacement for ``ale_py.vector_env.AtariVectorEnv``. The README of
the package describes the other entry points.
"""

from ale_train._native import __version__, games
from ale_train.actions import Action
from ale_train.envpool import make
from ale_train.other_names import VectorAtariEnv, make_atari_vector_env
from ale_train.registration import register_envs
from ale_train.vector_env import AtariVectorEnv

__all__ = [
    "Action",
    "AtariVectorEnv",
    "VectorAtariEnv",
    "__version__",
    "games",
    "make",
    "make_atari_vector_env",
    "register_envs",
]
