"""Vector environments as functions for JAX, by XLA's foreign function interface: no Python runs in a step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from ale_train import _native, arguments

if TYPE_CHECKING:
    from ale_train.vector_env import AtariVectorEnv

__all__ = ["Reset", "Step", "functions"]

#: ``reset(handle, seed=None, reset_mask=None)`` and ``step(handle, actions)``.
Reset = Callable[..., tuple[Any, tuple[Any, dict[str, Any]]]]
Step = Callable[[Any, Any], tuple[Any, tuple[Any, Any, Any, Any, dict[str, Any]]]]

#: The seed that stands for no seed.
_NO_SEED = np.iinfo(np.int32).min


def functions(env: AtariVectorEnv) -> tuple[Any, Reset, Step]:
    """Returns ``(handle, reset, step)`` of a vector environment; see ``AtariVectorEnv.xla``."""
    jax = import_jax()
    pool = env._open_pool()
    reset_results, step_results = pool.xla_results()

    def reset(handle: Any, seed: Any = None, reset_mask: Any = None) -> tuple[Any, tuple[Any, dict[str, Any]]]:
        operands = _seeds(seed), _mask(reset_mask, env.num_envs)
        handle, results = call("ale_train_reset", reset_results, handle, *operands)
        return handle, (results["observations"], results["info"])

    def step(handle: Any, actions: Any) -> tuple[Any, tuple[Any, Any, Any, Any, dict[str, Any]]]:
        actions = array_of_actions(actions, env.continuous, env.batch_size)
        handle, results = call("ale_train_step", step_results, handle, actions)
        return handle, (
            results["observations"], results["rewards"], results["terminated"], results["truncated"], results["info"],
        )  # fmt: skip

    # The functions refer to the environment, so that it lives as long as they do.
    return jax.numpy.asarray(np.frombuffer(bytes(pool.xla_handle), np.uint8)), reset, step


@functools.cache
def import_jax() -> Any:
    """Imports JAX and registers the functions of this package with it.

    Raises:
        gymnasium.error.DependencyNotInstalled: JAX is missing or too old.
    """
    try:
        import jax
    except ImportError as error:
        raise gymnasium.error.DependencyNotInstalled("xla() requires JAX: pip install jax") from error
    if not hasattr(jax, "ffi"):
        raise gymnasium.error.DependencyNotInstalled(f"xla() requires JAX 0.5.0 or newer, found {jax.__version__}")
    for name, capsule in _native.xla_targets():
        jax.ffi.register_ffi_target(name, capsule, platform="cpu")
    return jax


def call(target: str, results: Sequence[Any], handle: Any, *operands: Any) -> tuple[Any, dict[str, Any]]:
    """Calls a function of the package. Returns the handle and the results by their paths."""
    jax = import_jax()
    forms = [jax.ShapeDtypeStruct((8,), np.uint8)]
    forms += [jax.ShapeDtypeStruct(tuple(shape), np.dtype(dtype)) for _, dtype, shape in results]
    handle, *arrays = jax.ffi.ffi_call(target, forms, has_side_effect=True)(handle, *operands)
    by_path: dict[str, Any] = {}
    for (path, _, _), array in zip(results, arrays):
        group = by_path
        for name in path[:-1]:
            group = group.setdefault(name, {})
        group[path[-1]] = array
    return handle, by_path


def array_of_actions(actions: Any, continuous: bool, rows: int | None) -> Any:
    """Returns actions as an array of JAX, of a type and shape that the environments accept."""
    if isinstance(actions, np.ndarray) and actions.dtype == np.int64:
        # JAX would drop the upper bits, which could make an invalid action valid.
        actions = actions.clip(-1, arguments.LARGEST_INT).astype(np.int32)
    jnp = import_jax().numpy
    actions = jnp.asarray(actions)
    if continuous and (jnp.issubdtype(actions.dtype, np.integer) or jnp.issubdtype(actions.dtype, np.floating)):
        actions = actions.astype(np.float32)
    elif actions.dtype == np.int64:
        # With jax_enable_x64.
        actions = actions.clip(-1, arguments.LARGEST_INT).astype(np.int32)
    arguments.check_action_array(actions.dtype, actions.shape, continuous, rows)
    return actions


def _seeds(seed: Any) -> Any:
    """Returns the first seed, or a seed for each environment to be reset, as an array of int32."""
    if seed is None:
        return np.int32(_NO_SEED)
    if isinstance(seed, (list, tuple)):
        are_numbers = all(isinstance(value, (int, float, np.generic)) for value in seed)
        seed = np.array(seed) if are_numbers else import_jax().numpy.asarray(seed)
    if isinstance(seed, (int, np.ndarray)):
        seeds = np.asarray(seed)
        if seeds.dtype.kind not in "iub" or (seeds > arguments.LARGEST_INT).any():
            raise TypeError(f"seeds must be integers of at most {arguments.LARGEST_INT}, got {seed}")
        # All negative seeds stand for no seed, but a first seed of -1 is followed by 0.
        return seeds.clip(_NO_SEED + 1, None).astype(np.int32)
    dtype = getattr(seed, "dtype", type(seed).__name__)
    if dtype == np.int64:
        # With jax_enable_x64; as in ale-py, only the lower bits count.
        return seed.astype(np.int32)
    if dtype != np.int32:
        raise TypeError(f"`seed` must be an int or an array of int32, got {dtype}")
    return seed


def _mask(mask: Any, num_envs: int) -> Any:
    """Returns the environments to be reset as an array of booleans."""
    if mask is None:
        return np.ones(num_envs, bool)
    if isinstance(mask, (list, tuple)):
        mask = import_jax().numpy.asarray(mask)
    if getattr(mask, "dtype", None) != np.bool_:
        dtype = getattr(mask, "dtype", None)
        raise TypeError(f"`reset_mask` must be a boolean array, got {type(mask)} with dtype {dtype}")
    if mask.shape != (num_envs,):
        raise ValueError(f"`reset_mask` must have shape ({num_envs},), got {mask.shape}")
    return mask
