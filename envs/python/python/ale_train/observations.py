"""Observations of users as arrays in the types of their spaces."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

__all__ = ["as_array", "batch_length", "cast", "cast_parts", "num_rows"]


def num_rows(space: gymnasium.Space[Any], observations: Any) -> int | None:
    """Returns the number of observations in a batch; None for a single observation."""
    while isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = _parts(space, observations)
        space, observations = next(iter(parts.values()))
    return batch_length(as_array(observations), space.shape or ())


def batch_length(array: np.ndarray, shape: tuple[int, ...]) -> int | None:
    """Returns the number of observations in an array; None for a single one, which has the dimensions of ``shape``."""
    if array.ndim != len(shape) + 1:
        return None
    if len(array) == 0:
        raise ValueError("there is no observation in the batch")
    return len(array)


def cast(values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Returns an observation in a type, to which floats are rounded.

    Raises:
        ValueError: The observation has another shape or kind of numbers, or integers that the type does not contain.
    """
    array = as_array(values)
    are_integers = array.dtype.kind in "iu" and dtype.kind in "iu"
    if array.shape != shape or not (are_integers or np.can_cast(array.dtype, dtype, "same_kind")):
        raise ValueError(
            f"the observation has the shape {array.shape} and the type {array.dtype}, but must have the shape {shape} "
            f"and the type {dtype}"
        )
    if are_integers and array.dtype != dtype and array.size:
        low, high, limits = array.min(), array.max(), np.iinfo(dtype)
        if low < limits.min or high > limits.max:
            raise ValueError(f"the observation has values from {low} to {high}, but must have the type {dtype}")
    return array.astype(dtype, copy=False)


def cast_parts(space: gymnasium.Space[Any], values: Any, rows: tuple[int, ...]) -> Any:
    """Returns an observation, or a batch with the shape ``rows``, in the types of its space."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = {key: cast_parts(part, value, rows) for key, (part, value) in _parts(space, values).items()}
        return parts if isinstance(space, spaces.Dict) else tuple(parts.values())
    assert space.dtype is not None
    return cast(values, (*rows, *(space.shape or ())), space.dtype)


def _parts(space: spaces.Dict | spaces.Tuple[Any], values: Any) -> dict[Any, tuple[gymnasium.Space[Any], Any]]:
    """Returns the parts of a space and of an observation in it by their keys."""
    parts = dict(space.spaces if isinstance(space, spaces.Dict) else enumerate(space.spaces))
    try:
        found = {key: (part, values[key]) for key, part in parts.items()}
        if len(values) == len(parts):
            return found
    except (KeyError, IndexError, TypeError):
        pass
    raise ValueError(f"the observation {values!r:.200} is not in its space {space}")


def as_array(values: Any) -> np.ndarray:
    """Returns an observation as an array."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError("the parts of the observation have different shapes") from None
