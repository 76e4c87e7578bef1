"""The build backend (PEP 517): maturin, with the licences in the wheel.

If ``ALE_TRAIN_WITHOUT_PROGRAM`` is set, the module lacks the program and the learners, which are most of what there is
to compile. There are no source distributions: they would lack the crates of the workspace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Otherwise maturin would download Rust, which only its own hooks could then use.
os.environ["MATURIN_NO_INSTALL_RUST"] = "1"

import maturin  # noqa: E402
from maturin import (  # noqa: E402, F401 - hooks of the backend
    get_requires_for_build_editable,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]


def licenses() -> dict[str, Path]:
    """Returns the licences by their names in the wheel. ``.ci/licenses`` adds those of other crates."""
    ours = {path.name: path for path in ROOT.glob("LICENSE-*")}
    return ours | {"LICENSE-DejaVuSans": ROOT / "src/font/DejaVuSans.LICENSE"}


def with_features(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the settings of a build, which leave out features if the environment says so."""
    options = maturin.get_maturin_pep517_args(settings)
    if os.environ.get("ALE_TRAIN_WITHOUT_PROGRAM"):
        options = [*options, "--no-default-features"]
    return {**(settings or {}), "build-args": options}


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds an editable wheel and returns its name."""
    name: str = maturin.build_editable(wheel_directory, with_features(config_settings), metadata_directory)
    return name


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds the wheel and returns its name."""
    with tempfile.TemporaryDirectory() as temporary:
        built = Path(temporary)
        name: str = maturin.build_wheel(temporary, with_features(config_settings), metadata_directory)
        run(sys.executable, "-m", "wheel", "unpack", "--dest", built, built / name)
        (contents,) = built.glob("ale_train-*/")
        (directory,) = (path / "licenses" for path in contents.glob("*.dist-info"))
        directory.mkdir(exist_ok=True)
        for license_name, path in licenses().items():
            shutil.copy(path, directory / license_name)
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", wheel_directory, contents)
    return name


def run(*command: str | Path) -> None:
    """Runs a command. If it fails, the build ends; the output of the command says why."""
    status = subprocess.run(command).returncode
    if status != 0:
        sys.exit(status)
