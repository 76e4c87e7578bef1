"""The build backend (PEP 517): maturin, with the program ``ale-train`` in the wheel beside the module.

The program is a target of this package, so that cargo compiles the crates that it shares with the module once.
Arguments for maturin, such as ``--zig``, apply to both. If ``ALE_TRAIN_WITHOUT_PROGRAM`` is set, the wheel contains the
module only, like editable installations. There are no source distributions: they would lack the program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Otherwise maturin would download Rust, which only its own hooks could then use.
os.environ["MATURIN_NO_INSTALL_RUST"] = "1"

import maturin  # noqa: E402
from maturin import (  # noqa: E402, F401 - hooks of the backend
    build_editable,
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


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Builds the wheel and returns its name."""
    name: str
    if os.environ.get("ALE_TRAIN_WITHOUT_PROGRAM"):
        name = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
        return name
    options = [*maturin.get_maturin_pep517_args(config_settings), "--features", "program"]
    with tempfile.TemporaryDirectory() as temporary:
        built = Path(temporary)
        name = maturin.build_wheel(temporary, {"build-args": options}, metadata_directory)
        program = build_program(built / "program", options)
        run(sys.executable, "-m", "wheel", "unpack", "--dest", built, built / name)
        (contents,) = built.glob("ale_train-*/")
        (directory,) = (path / "licenses" for path in contents.glob("*.dist-info"))
        directory.mkdir(exist_ok=True)
        for license_name, path in licenses().items():
            shutil.copy(path, directory / license_name)
        scripts = contents / f"{contents.name}.data" / "scripts"
        scripts.mkdir(parents=True)
        shutil.move(program, scripts)
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", wheel_directory, contents)
    return name


def build_program(directory: Path, options: list[str]) -> Path:
    """Builds the program and returns its path."""
    if "--interpreter" not in options:
        # The same interpreter as for the module; otherwise PyO3 would be compiled again.
        options = ["--interpreter", sys.executable, *options]
    if "--profile" not in options:
        # The default of the hook that builds the module.
        options = ["--release", *options]
    run("maturin", "build", "--bindings", "bin", "--out", directory, *options)
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as contents:
        (name,) = (name for name in contents.namelist() if Path(name).parent.name == "scripts")
        program = Path(contents.extract(name, directory))
    # Extraction drops permissions, which pip takes from the wheel.
    program.chmod(0o755)
    return program


def run(*command: str | Path) -> None:
    """Runs a command. If it fails, the build ends; the output of the command says why."""
    status = subprocess.run(command).returncode
    if status != 0:
        sys.exit(status)
