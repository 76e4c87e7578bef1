"""The results of a batch in the vocabulary of EnvPool."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Players", "Results"]


class Results(NamedTuple):
    """The results from which both kinds of pool build their return values; one entry per row, in NumPy or JAX."""

    observations: Any
    rewards: Any
    terminated: Any
    truncated: Any
    is_first: Any
    continues: Any
    info: dict[str, Any]

    def of_rows(self, rows: np.ndarray) -> Results:
        """Returns only these rows."""

        def chosen(value: Any) -> Any:
            return {key: chosen(entry) for key, entry in value.items()} if isinstance(value, dict) else value[rows]

        return Results(*map(chosen, self))


class Players(NamedTuple):
    """The environment of each row."""

    env_id: np.ndarray
