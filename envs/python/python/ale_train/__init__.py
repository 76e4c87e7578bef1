"""Atari 2600 vector environments on a work-stealing pool, bit for bit those of ale-py.

``ale_train.vector_env.AtariVectorEnv`` takes the place of ``ale_py.vector_env.AtariVectorEnv``. The package's README
shows the other ways in.
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
