"""The program of worker processes as a module, for its conversions of observations and actions."""

from __future__ import annotations

import functools
from types import ModuleType

from ale_train import _native

__all__ = ["worker_module"]


@functools.cache
def worker_module() -> ModuleType:
    """Returns the module."""
    module = ModuleType("ale_train.worker")
    module.__file__ = "worker.py"
    exec(compile(_native.worker_source(), module.__file__, "exec"), module.__dict__)
    module.import_packages()
    return module
