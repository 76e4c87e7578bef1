"""The MuJoCo, the arithmetic and the signals that the tests run with. Nothing is downloaded, and CI skips nothing."""

import importlib.util
import os
import platform
import signal
import sys
from pathlib import Path

import pytest

# The last bit of numpy.linalg.norm depends on the processor, unless OpenBLAS is told which kernels to use.
os.environ["OPENBLAS_CORETYPE"] = "Haswell"
if "ALE_TRAIN_MUJOCO" not in os.environ and (spec := importlib.util.find_spec("mujoco")) and spec.origin:
    os.environ["ALE_TRAIN_MUJOCO"] = str(Path(spec.origin).parents[1])
# A shell makes programs in the background ignore Ctrl-C, for whose effect some tests wait.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: True in CI (if ``CI`` is set) on the platform that has all packages of ``test`` in pyproject.toml.
SKIPS_NOTHING = bool(os.environ.get("CI")) and (sys.platform, platform.machine()) == ("linux", "x86_64")


def without_skip(report):
    """Turns the report of a skipped test or file into a failure where nothing may be skipped."""
    if SKIPS_NOTHING and report.skipped and not hasattr(report, "wasxfail"):
        _, _, reason = report.longrepr
        report.outcome, report.longrepr = "failed", f"{reason}, but CI skips nothing"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return without_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return without_skip((yield))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Runs tests in an empty directory, where MuJoCo leaves its log."""
    monkeypatch.chdir(tmp_path)
