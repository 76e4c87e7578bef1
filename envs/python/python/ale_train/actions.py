"""The actions of a joystick with one button."""

from __future__ import annotations

import enum

__all__ = ["Action"]


class Action(enum.IntEnum):
    """The eighteen actions, with the names and codes of ``ale_py.Action``."""

    NOOP = 0
    FIRE = 1
    UP = 2
    RIGHT = 3
    LEFT = 4
    DOWN = 5
    UPRIGHT = 6
    UPLEFT = 7
    DOWNRIGHT = 8
    DOWNLEFT = 9
    UPFIRE = 10
    RIGHTFIRE = 11
    LEFTFIRE = 12
    DOWNFIRE = 13
    UPRIGHTFIRE = 14
    UPLEFTFIRE = 15
    DOWNRIGHTFIRE = 16
    DOWNLEFTFIRE = 17

    def __repr__(self) -> str:
        """Returns the name as ale-py shows it, such as ``Action.FIRE``."""
        return f"Action.{self.name}"

    __str__ = __repr__

    @classmethod
    def of_stick(cls, horizontal: int, vertical: int, fire: bool) -> Action:
        """Returns the action of a stick and a button.

        Args:
            horizontal: -1 for left, 0, or 1 for right.
            vertical: -1 for down, 0, or 1 for up.
            fire: The button is held.

        Raises:
            LookupError: A position is not -1, 0 or 1.
        """
        if not {horizontal, vertical} <= {-1, 0, 1}:
            raise LookupError(f"the positions of a stick are -1, 0 and 1, got {horizontal} and {vertical}")
        name = ("DOWN", "", "UP")[vertical + 1] + ("LEFT", "", "RIGHT")[horizontal + 1] + ("FIRE" if fire else "")
        return cls[name or "NOOP"]
