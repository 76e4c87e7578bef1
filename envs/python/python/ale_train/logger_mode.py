"""The levels of ale-py's messages."""

from __future__ import annotations

import enum

__all__ = ["LoggerMode"]


class LoggerMode(enum.Enum):
    """The names and codes of ``ale_py.LoggerMode``. The only message here is a warning about unknown ROMs."""

    Info = 0
    Warning = 1
    Error = 2

    def __repr__(self) -> str:
        """Returns the name as ale-py shows it, such as ``LoggerMode.Error``."""
        return str(self)
