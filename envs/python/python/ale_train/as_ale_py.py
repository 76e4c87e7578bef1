"""``import ale_py`` for programs that were written for ale-py."""

from __future__ import annotations

import sys
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from ale_train import _native, env, names, registration, roms, vector_env
from ale_train.actions import Action
from ale_train.logger_mode import LoggerMode

__all__ = ["install_as_ale_py"]

#: The version of ale-py that the package equals.
_VERSION = "0.12.1"

#: The directory whose ``ale_py`` calls ``install_as_ale_py`` when it is imported.
_STAND_IN = str(Path(__file__).parent / "stand_in")


def install_as_ale_py() -> None:
    """Makes ``import ale_py`` import this package, and registers ale-py's environments with Gymnasium.

    Call it before other modules import ``ale_py``, since a module that has imported it keeps it. ale-py may be
    installed or not. Processes that ``multiprocessing`` starts later import this package as well, since they inherit
    ``sys.path``, in which a directory with an ``ale_py`` is now the first entry. ``ALEVectorInterface`` cannot be
    imported, with an error that says so; ``AtariVectorEnv.ale`` has its methods.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "ale_py"]:
        del sys.modules[name]
    native = {
        "Action": Action,
        "ALEInterface": _native.ALEInterface,
        "ALEState": _native.ALEState,
        "LoggerMode": LoggerMode,
        "SDL_SUPPORT": False,
        "__version__": _VERSION,
    }
    environments = {
        "AtariEnv": env.AtariEnv,
        "AtariEnvStepMetadata": env.AtariEnvStepMetadata,
        "AtariVectorEnv": vector_env.AtariVectorEnv,
    }
    registering = {
        "register_v0_v4_envs": partial(registration.register_v0_v4_envs, package="ale_py"),
        "register_v5_envs": partial(registration.register_v5_envs, package="ale_py"),
    }
    package = _module("ale_py", {**native, **environments, **registering})
    package.__path__ = []
    package.__all__ = [*(name for name in native if name != "__version__"), *environments]  # type: ignore[attr-defined]
    package.__getattr__ = _missing  # type: ignore[method-assign]
    for name, contents in (
        ("_ale_py", native),
        ("env", {"AtariEnv": env.AtariEnv, "AtariEnvStepMetadata": env.AtariEnvStepMetadata}),
        ("vector_env", {"AtariVectorEnv": vector_env.AtariVectorEnv}),
        ("registration", {**registering, "rom_id_to_name": names.camel_case}),
        ("roms", {name: getattr(roms, name) for name in roms.__all__}),
    ):
        setattr(package, name, _module(f"ale_py.{name}", contents))
    if _STAND_IN not in sys.path:
        sys.path.insert(0, _STAND_IN)
    registration.register_envs(package="ale_py")


def _module(name: str, contents: dict[str, Any]) -> ModuleType:
    """Returns a new module, which ``import`` finds."""
    module = ModuleType(name, f"{name}, provided by ale_train")
    # For importlib.util.find_spec, by which programs find out whether ale-py is installed.
    module.__spec__ = ModuleSpec(name, None, is_package=name == "ale_py")
    vars(module).update(contents)
    sys.modules[name] = module
    return module


def _missing(name: str) -> Any:
    """Raises an error that says whose ``ale_py`` this is."""
    raise AttributeError(
        f"ale_py.{name} is not available in ale_train, which install_as_ale_py() put in the place of ale-py"
    )
