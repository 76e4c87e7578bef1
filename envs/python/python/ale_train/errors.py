"""Errors that ale-py reports by failed assertions.

They are ``AssertionError`` as well, so that code written for ale-py goes on catching them, and unlike assertions they
do not disappear with ``python -O``.
"""

__all__ = ["ActionError", "GameError"]


class GameError(ValueError, AssertionError):
    """No game has this id."""


class ActionError(ValueError, AssertionError):
    """The array of actions has the wrong type, dtype or shape."""
