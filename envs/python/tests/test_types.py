"""The types of the package and of the examples, checked as in the editors and projects of users, and its style."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "checker",
    [
        ["mypy", "--no-incremental", "python/ale_train", "examples"],
        ["pyright", "--pythonpath", sys.executable],
        ["ruff", "check", "--no-cache"],
    ],
    ids=["mypy", "pyright", "ruff"],
)
def test_checkers_have_no_complaints(checker):
    pytest.importorskip(checker[0])
    done = subprocess.run([sys.executable, "-m", *checker], cwd=PACKAGE, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
