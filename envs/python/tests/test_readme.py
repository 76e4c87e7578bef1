"""The examples of the README, run in order as one program."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_run() -> None:
    registry = dict(gymnasium.registry)
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"example {number} of {README.name}", "exec"), names)
    gymnasium.registry.clear()
    gymnasium.registry.update(registry)
