"""Errors that ale-py reports by failed assertions.

They derive from ``AssertionError``, so that code written for ale-py still catches them, but unlike assertions they are
also raised with ``python -O``.
"""

__all__ = ["ActionError", "GameError"]


class GameError(ValueError, AssertionError):
    """The id of a game is unknown."""


class ActionError(ValueError, AssertionError):
    """The array of actions has the wrong type, dtype or shape."""
