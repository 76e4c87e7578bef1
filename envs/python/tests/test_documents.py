"""The Python part of the book: the API chapters are complete, and each row of the tables is true."""

import enum
import json
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import ale_train
import ale_train.envpool
from same import assert_same

ale_py = pytest.importorskip("ale_py")
pytest.importorskip("ale_py.vector_env")

PACKAGE = Path(__file__).parents[1]
BOOK = PACKAGE.parents[1] / "docs" / "src"
MIGRATION = BOOK / "python" / "migrate.md"
ROWS = re.findall(r"^\| `(.+)` \| `(.+)` \| (.+) \|$", MIGRATION.read_text(encoding="utf-8"), re.MULTILINE)
#: The members of the compiled classes.
NATIVE = [(ale_train.ALEInterface, "ALEInterface"), (ale_train.ALEState, "ALEState")]


@pytest.fixture(scope="module")
def chapters():
    """The text of each API chapter of SUMMARY.md, as mdbook receives it."""
    names = re.findall(r"^- \[(API: .+)\]\(\)$", (BOOK / "SUMMARY.md").read_text(encoding="utf-8"), re.MULTILINE)
    book = {"items": [{"Chapter": {"name": name, "content": "", "path": None}} for name in names]}
    script = [sys.executable, str(PACKAGE / "document_api.py")]
    done = subprocess.run(script, input=json.dumps([{}, book]), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    filled = [item["Chapter"] for item in json.loads(done.stdout)["items"]]
    assert len(filled) == 6
    return {chapter["path"]: chapter["content"] for chapter in filled}


def test_every_api_chapter_of_the_book_has_text(chapters):
    assert all(text.startswith("# ") for text in chapters.values())
    assert "python/api/vector-environments.md" in chapters


def test_the_chapters_show_every_overload_with_public_types(chapters):
    page = chapters["python/api/single-environments.md"]
    for name in ("getScreen", "getScreenRGB", "getScreenGrayscale", "getRAM"):
        assert f"\n{name}() -> np.ndarray\n{name}(buffer: np.ndarray) -> None\n" in page
    for path, text in chapters.items():
        assert not re.search(r"\b_[A-Z]\w+", text), f"a private type in {path}"


@pytest.mark.parametrize(("native", "name"), NATIVE)
def test_the_stub_describes_the_compiled_classes(native, name):
    stub = (PACKAGE / "python" / "ale_train" / "_native.pyi").read_text(encoding="utf-8")
    documented = re.search(rf"^class {name}:.*?(?=^class |\Z)", stub, re.DOTALL | re.MULTILINE).group()
    for member in vars(native):
        if not member.startswith("_"):
            assert f"    def {member}(" in documented, member
            first = getattr(native, member).__doc__.split("\n")[0].replace("`", "``")
            assert first in documented, f"the stub of {member} does not say: {first}"


def test_there_are_rows():
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("theirs", "ours", "equal"), ROWS, ids=[row[1] for row in ROWS])
def test_rows_of_the_tables_are_true(theirs, ours, equal):
    modules = {"ale_py": ale_py, "ale_train": ale_train, "gymnasium": gymnasium}
    if "envpool." in theirs:
        modules["envpool"] = pytest.importorskip("envpool")
    registry = dict(gymnasium.registry)
    gymnasium.register_envs(ale_py)
    ale_train.register_envs("Ours")
    try:
        before, after = (eval(code, modules) for code in (theirs, ours))
        compare = {"every bit": compare_bits, "interface": compare_interfaces}
        compare[equal](before, after)
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(registry)


def compare_bits(theirs, ours):
    """Compares values, files, or the results of environments."""
    if isinstance(theirs, Path):
        assert ours.read_bytes() == theirs.read_bytes()
    elif isinstance(theirs, enum.Enum) or hasattr(theirs, "__members__") or type(theirs).__name__ == "Action":
        assert (ours.name, int(ours.value)) == (theirs.name, int(theirs.value))
    elif not hasattr(theirs, "reset"):
        assert ours == theirs
    else:
        # EnvPool's reset takes no seed.
        seed = {} if hasattr(theirs, "async_reset") else {"seed": 3}
        assert_same(arrays(ours.reset(**seed)), arrays(theirs.reset(**seed)))
        space = ours.action_space
        space.seed(5)
        for _ in range(20):
            action = space.sample()
            if seed == {}:
                action = np.array([space.sample(), space.sample()], np.int32)
            assert_same(arrays(ours.step(action)), arrays(theirs.step(action)))
        for env in (ours, theirs):
            env.close()


def compare_interfaces(theirs, ours):
    """Compares shapes, names and types of two pools."""
    assert len(ours) == len(theirs)
    if hasattr(theirs, "observation_space"):
        assert ours.observation_space.shape == theirs.observation_space.shape
        assert ours.action_space.shape == theirs.action_space.shape
        (observations, info), (their_observations, their_info) = ours.reset(), theirs.reset()
        assert observations.dtype == their_observations.dtype and observations.shape == their_observations.shape
        assert info.keys() == their_info.keys()
    else:
        step, their_step = ours.reset(), theirs.reset()
        assert step._fields == their_step._fields
        assert step.observation._fields == their_step.observation._fields
        assert step.observation.obs.shape == their_step.observation.obs.shape


def arrays(results):
    """Returns results with numbers as arrays, whose exact class may differ."""
    if isinstance(results, dict):
        return {key: arrays(value) for key, value in results.items()}
    if isinstance(results, tuple):
        return tuple(map(arrays, results))
    return results if isinstance(results, np.ndarray) else np.asarray(results)
