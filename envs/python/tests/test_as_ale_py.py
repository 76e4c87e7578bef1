"""Programs that were written for ale-py print the same output with ale_train in its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def run(code: str, *arguments: str) -> str:
    """Returns the output of a program."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_programs_print_the_same(program: Path) -> None:
    play = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    theirs = run(play, str(program))
    ours = run(
        "import ale_train; ale_train.install_as_ale_py();"
        + play
        + ";import ale_py; assert ale_py.AtariEnv is ale_train.AtariEnv",
        str(program),
    )
    assert theirs
    assert ours == theirs


def test_every_public_name_exists_or_raises_an_explanation() -> None:
    code = """
import ale_py
names = [name for name in dir(ale_py) if not name.startswith("_")]
modules = {
    "ale_py.env": ["AtariEnv", "AtariEnvStepMetadata"], "ale_py.vector_env": ["AtariVectorEnv"],
    "ale_py.roms": ["get_all_rom_ids", "get_rom_path"],
    "ale_py.registration": ["register_v0_v4_envs", "register_v5_envs", "rom_id_to_name"],
    "ale_py._ale_py": ["ALEInterface", "ALEState", "Action", "LoggerMode"],
}
import ale_train
ale_train.install_as_ale_py()
import importlib.util
import ale_py
assert ale_py.__version__ == "0.12.1" and not ale_py.SDL_SUPPORT
assert importlib.util.find_spec("ale_py") and importlib.util.find_spec("ale_py.roms")
print([name for name in ale_py.__all__ if not hasattr(ale_py, name)])
for name, contents in modules.items():
    module = importlib.import_module(name)
    assert getattr(ale_py, name.partition(".")[2]) is module
    assert all(hasattr(module, content) for content in contents)
from ale_py import *
print(AtariEnv, Action.FIRE, repr(LoggerMode.Error))
missing = []
for name in names:
    try:
        getattr(ale_py, name)
    except AttributeError as error:
        assert "not available in ale_train" in str(error)
        missing.append(name)
print(missing)
"""
    # The last ones are modules that ale-py's package imports for itself.
    assert run(code).splitlines() == [
        "[]",
        "<class 'ale_train.env.AtariEnv'> Action.FIRE LoggerMode.Error",
        "['ALEVectorInterface', 'metadata', 'os', 'packagedir', 'platform', 'warnings']",
    ]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_import_the_package_of_their_parent(method: str, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(
        "def work(queue):\n    import ale_py, ale_py.roms\n    queue.put(ale_py.ALEInterface.__module__)\n"
    )
    program = tmp_path / "program.py"
    program.write_text(
        "if __name__ == '__main__':\n"
        "    import multiprocessing, sys\n"
        "    import ale_train, work\n"
        "    ale_train.install_as_ale_py()\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    queue = context.Queue()\n"
        "    worker = context.Process(target=work.work, args=(queue,))\n"
        "    worker.start()\n"
        "    print(queue.get(timeout=60))\n"
        "    worker.join()\n"
    )
    done = subprocess.run([sys.executable, str(program), method], capture_output=True, text=True)
    assert done.stdout == "ale_train._native\n", done.stderr
