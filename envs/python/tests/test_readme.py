"""The examples of each document, run in order as one program."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gymnasium
import pytest

import ale_train  # noqa: F401 - registers its environments before a test saves the registry

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    ("README.md", 2),
    ("envs/python/README.md", 1),
    ("docs/src/python/index.md", 8),
    ("docs/src/python/migrate.md", 1),
    ("docs/src/python/environments.md", 4),
    ("docs/src/python/loops.md", 12),
    ("docs/src/python/players.md", 2),
    ("docs/src/python/learners.md", 6),
    ("docs/src/python/from-sb3.md", 1),
]


@pytest.mark.parametrize("document, count", DOCUMENTS)
def test_the_examples_run(document: str, count: int) -> None:
    registry, modules = dict(gymnasium.registry), dict(sys.modules)
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= count
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"example {number} of {document}", "exec"), names)
    # The examples register environments and install the package as ale_py.
    gymnasium.registry.clear()
    gymnasium.registry.update(registry)
    for name in [name for name in sys.modules if name.partition(".")[0] == "ale_py"]:
        del sys.modules[name]
    sys.modules.update((name, module) for name, module in modules.items() if name.partition(".")[0] == "ale_py")
