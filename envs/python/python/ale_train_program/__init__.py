"""The script ``ale-train``: the program, without NumPy and Gymnasium, whose import would take longer than a command."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import signal
import sys
from types import ModuleType

__all__ = ["main"]


def main() -> int:
    """Runs the program with the arguments of this process. Returns its exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # The program reacts to Ctrl-C. Python would raise KeyboardInterrupt after the end of the program.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    script = os.path.abspath(sys.argv[0])
    status: int = _module().main(script, sys.argv)
    return status


def _module() -> ModuleType:
    """Loads the compiled module without the package around it."""
    package = importlib.util.find_spec("ale_train")
    assert package is not None and package.submodule_search_locations is not None
    for directory in package.submodule_search_locations:
        finder = importlib.machinery.FileFinder(
            directory, (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES)
        )
        spec = finder.find_spec("_native")
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("the package ale_train lacks its compiled module")
