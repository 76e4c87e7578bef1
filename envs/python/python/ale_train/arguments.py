"""Validation and normalization of arguments."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ale_train import _native
from ale_train.errors import ActionError
from ale_train.names import unknown_game

#: The largest seed and the largest value of an integer option without an entry in `_LIMITS`: ale-py uses 32-bit
#: integers.
LARGEST_INT = 2**31 - 1

#: The largest values of the other integer options.
_LIMITS = _native.limits()

#: The types of discrete and of continuous actions.
_DISCRETE = (np.dtype(np.int32), np.dtype(np.int64))
_CONTINUOUS = (np.dtype(np.float32),)

#: One value, a list from which each episode draws one, a list for each environment, or one of the former for each game.
Variants = int | Sequence[int] | Sequence[Sequence[int]] | Mapping[str, int | Sequence[int]] | None


def check_games(ids: Sequence[str]) -> None:
    """Raises GameError for an unknown id."""
    if not ids:
        raise ValueError("games is empty, but must name at least one game")
    for game in ids:
        if game not in _native.games():
            raise unknown_game(game, str(game))


def check_frameskip(frameskip: object) -> int:
    """Returns a positive ``int``. Requires this type, as ale-py does."""
    if type(frameskip) is not int:
        raise gymnasium.error.Error(f"Invalid frameskip type: {type(frameskip)}. It must be an int.")
    if frameskip <= 0:
        raise gymnasium.error.Error(f"Invalid frameskip of {frameskip}, frameskip must be positive.")
    return frameskip


def one_of(name: str, value: str, allowed: Sequence[str]) -> str:
    """Returns the value if it is allowed."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, but must be one of {', '.join(allowed)}")
    return value


def autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Returns the mode with this value."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        allowed = ", ".join(other.value for other in AutoresetMode)
        raise ValueError(f"Invalid autoreset_mode: {mode}. It must be one of {allowed}.") from None


def integer(name: str, value: int, smallest: int) -> int:
    """Returns the value as an integer if it is in the allowed range, whose upper end is the limit of the option."""
    value, largest = _index(name, value), _LIMITS.get(name, LARGEST_INT)
    if not smallest <= value <= largest:
        raise ValueError(f"{name} is {value}, but must be between {smallest} and {largest}")
    return value


def clamped(name: str, value: int) -> int:
    """Clamps the value to the range from 0 to the limit of the option.

    For options that are upper bounds, such as ``num_threads``.
    """
    return min(max(_index(name, value), 0), _LIMITS.get(name, LARGEST_INT))


def _index(name: str, value: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {type(value).__name__}") from None


def affinity_offset(name: str, value: int) -> int | None:
    """Returns the first core to which threads are pinned; None, for negative values, pins none."""
    value = integer(name, value, -LARGEST_INT - 1)
    return value if value >= 0 else None


def flag(name: str, value: object) -> bool:
    """Returns the value as a bool. Also accepts 0 and 1, as EnvPool does; other values raise TypeError."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} must be a bool, got {value!r}")


def number(name: str, value: object) -> float:
    """Returns the value as a float if it is a number."""
    if isinstance(value, (float, int, np.floating, np.integer)):
        return float(value)
    raise TypeError(f"{name} must be a number, got {value!r}")


def indices(name: str, values: Sequence[int] | np.ndarray, count: int) -> list[int]:
    """Returns a list of integers in ``range(count)``."""
    values = np.atleast_1d(np.asarray(values))
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a list of integers, got {values.dtype} of shape {values.shape}")
    selected: list[int] = values.tolist()
    for value in selected:
        if not 0 <= value < count:
            raise ValueError(f"{name} contains {value}, but must be between 0 and {count - 1}")
    return selected


def variants(name: Literal["mode", "difficulty"], values: Variants, games: Sequence[str]) -> list[list[int]]:
    """Returns a list for each environment, from which each episode draws one value; empty for the game's default.

    Args:
        name: The option.
        values: Its value.
        games: The game of each environment.
    """
    if values is None:
        return [[] for _ in games]
    if isinstance(values, Mapping):
        return _variants_by_game(name, values, games)
    if isinstance(values, (int, np.integer)):
        values = [int(values)]
    rows: list[Any] = list(values)
    if not any(isinstance(row, (Sequence, np.ndarray)) for row in rows):
        values = _integers(name, rows)
        _reject_list_by_env(name, values, games)
        return [values] * len(games)
    if len(rows) != len(games):
        raise ValueError(f"{name} has entries for {len(rows)} environments, but there are {len(games)}")
    return [_integers(name, row) for row in rows]


def _variants_by_game(name: str, values: Mapping[str, Any], games: Sequence[str]) -> list[list[int]]:
    for game in values:
        if game not in games:
            known = ", ".join(dict.fromkeys(games))
            raise ValueError(f"{name} has a value for {game!r}, but its keys must be among the games {known}")
    return [_integers(name, values.get(game, [])) for game in games]


def _integers(name: str, values: Any) -> list[int]:
    """Returns one value or several as a list."""
    several: Any = values if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str) else [values]
    return [integer(name, value, 0) for value in several]


def _reject_list_by_env(name: Literal["mode", "difficulty"], values: list[int], games: Sequence[str]) -> None:
    """Raises ValueError if a flat list with an entry for each environment has values that a game lacks."""
    if not len(values) == len(games) > 1:
        return
    distinct = dict.fromkeys(games)
    for game in distinct:
        allowed = _native.variants(game)[name]
        lacking = [value for value in values if value not in allowed]
        if lacking:
            by_env = [[value] for value in values]
            hint = f"{by_env} has one value for each environment"
            if len(distinct) == len(games):
                hint += f", and a dictionary such as {dict(zip(games, values))} one for each game"
            raise ValueError(
                f"{game} has no {name} {lacking[0]}; every environment draws from a list of int, but {hint}"
            )


def seeds(seed: object, count: int) -> list[int | None]:
    """Returns a seed for each environment to reset; None continues the random number generator.

    A negative seed counts as None. As in ale-py, a seed that does not fit into 32 bits raises TypeError.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, int):
        seeds = [seed + index for index in range(count)]
    elif isinstance(seed, np.ndarray):
        if seed.shape != (count,):
            raise ValueError(
                f"`seed` must have one entry per sub-environment being reset, expected shape ({count},), "
                f"got {seed.shape}"
            )
        if seed.dtype.kind not in "iu":
            raise TypeError(f"`seed` must be an array of integers, got one of {seed.dtype}")
        seeds = seed.tolist()
    else:
        raise TypeError(
            f"Unsupported seed type {type(seed).__name__}; allowed are int, a numpy array of integers and None"
        )
    if any(seed > LARGEST_INT for seed in seeds):
        raise TypeError(f"seeds must be at most {LARGEST_INT}, got {max(seeds)}")
    return [None if seed < 0 else seed for seed in seeds]


def random_seeds(count: int) -> list[int]:
    """Returns seeds from the entropy of the operating system."""
    seeds: list[int] = (np.random.SeedSequence().generate_state(count) & LARGEST_INT).tolist()
    return seeds


def check_actions(actions: object, continuous: bool, rows: int | None = None) -> None:
    """Requires an array with one action per row, of a type that ale-py accepts, and with ``rows`` rows if given."""
    if not isinstance(actions, np.ndarray):
        raise ActionError(f"actions must be a NumPy array, got {type(actions).__name__}")
    check_action_array(actions.dtype, actions.shape, continuous, rows)


def check_action_array(dtype: np.dtype[Any], shape: tuple[int, ...], continuous: bool, rows: int | None) -> None:
    """Requires an array of a type and shape that ``check_actions`` accepts."""
    allowed, form = (_CONTINUOUS, "(rows, 3)") if continuous else (_DISCRETE, "(rows,)")
    if dtype not in allowed:
        names = " or ".join(other.name for other in allowed)
        raise ActionError(f"actions must be of {names}, got {dtype}")
    if not shape or shape[1:] != ((3,) if continuous else ()) or (rows is not None and shape[0] != rows):
        wanted = form if rows is None else form.replace("rows", str(rows))
        raise ActionError(f"actions must have the shape {wanted}, got {shape}")


def reset_mask(options: dict[str, Any] | None, num_envs: int) -> np.ndarray | None:
    """Returns the mask of the environments to be reset; None selects all."""
    if options is None or "reset_mask" not in options:
        return None
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        dtype = getattr(mask, "dtype", None)
        raise TypeError(f"`reset_mask` must be a boolean numpy array, got {type(mask)} with dtype {dtype}")
    if mask.shape != (num_envs,):
        raise ValueError(f"`reset_mask` must have shape ({num_envs},), got {mask.shape}")
    # The bytes of an array viewed as bool may have any value, but Rust requires 0 or 1.
    normalized: np.ndarray = mask.view(np.uint8) != 0
    return normalized


def pool_seeds(seed: int, env_seed: Sequence[int], num_envs: int) -> np.ndarray:
    """Returns the seed of each environment of a pool: ``env_seed``, or numbers from ``seed`` on."""
    if len(env_seed) not in (0, num_envs):
        raise ValueError(f"env_seed has {len(env_seed)} entries, but num_envs is {num_envs}")
    if not -(2**63) <= seed <= 2**63 - num_envs:
        raise ValueError(f"seed is {seed}, but the seeds from it on must be between -2**63 and 2**63 - 1")
    return np.array(env_seed, np.int64) if len(env_seed) else int(seed) + np.arange(num_envs, dtype=np.int64)


def check_pool_seeds(env_seed: Any) -> None:
    """Requires a list of 64-bit integers."""
    if isinstance(env_seed, str) or np.ndim(env_seed) != 1:
        raise TypeError(f"env_seed must be a list of int, got {env_seed!r}")
    for seed in env_seed:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise TypeError(f"env_seed must be a list of int, got a list with {type(seed).__name__}")
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"env_seed has {seed}, but seeds must be between -2**63 and 2**63 - 1")
