"""The actions of a joystick with one button."""

from __future__ import annotations

import enum

from ale_train._native import action_names

__all__ = ["Action"]

#: The eighteen actions, with the names and codes of ``ale_py.Action``.
Action = enum.IntEnum("Action", [(name, code) for code, name in enumerate(action_names())], module=__name__)
