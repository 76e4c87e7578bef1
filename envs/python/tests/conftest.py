"""The MuJoCo and the arithmetic that the tests run with. Nothing is downloaded."""

import importlib.util
import os
from pathlib import Path

import pytest

# The last bit of numpy.linalg.norm depends on the processor, unless OpenBLAS is told which kernels to use.
os.environ["OPENBLAS_CORETYPE"] = "Haswell"
if "ALE_TRAIN_MUJOCO" not in os.environ and (found := importlib.util.find_spec("mujoco")) and found.origin:
    os.environ["ALE_TRAIN_MUJOCO"] = str(Path(found.origin).parents[1])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Runs tests in an empty directory, where MuJoCo leaves its log."""
    monkeypatch.chdir(tmp_path)
