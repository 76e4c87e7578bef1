"""Atari 2600 vector environments on a work-stealing pool, bit for bit those of ale-py.

``ale_train.vector_env.AtariVectorEnv`` takes the place of ``ale_py.vector_env.AtariVectorEnv``. The package's README
shows the other ways in.
"""

from ale_train._native import __version__, games
from ale_train.actions import Action

__all__ = ["Action", "__version__", "games"]
