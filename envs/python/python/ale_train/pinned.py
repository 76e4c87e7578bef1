"""Page-locked memory for observations, which a GPU can read directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Allocate", "allocator"]

#: Takes a number of bytes and returns the address and the owner of memory of this size.
Allocate = Callable[[int], tuple[int, Any]]


def allocator() -> Allocate:
    """Returns a function that allocates page-locked memory from PyTorch.

    PyTorch caches dropped memory for later allocations. It reuses the memory only after all copies of whole arrays that
    were started with ``non_blocking=True`` have completed. It does not keep track of copies of slices.

    Raises:
        RuntimeError: PyTorch is missing, or finds no GPU with CUDA.
    """
    try:
        import torch
    except ImportError as error:
        raise _unavailable("it is not installed; install it (pip install torch)") from error
    if not torch.cuda.is_available():
        raise _unavailable("it finds no GPU with CUDA; install a driver and a build of PyTorch with CUDA")

    def allocate(size: int) -> tuple[int, Any]:
        memory = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        return memory.data_ptr(), memory

    return allocate


def _unavailable(reason: str) -> RuntimeError:
    return RuntimeError(f"pin_memory=True requires PyTorch with CUDA, but {reason}, or leave out pin_memory")
