"""The places where ROMs are found without a download, and ROMs with unknown checksums."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ale_train

PONG = ale_train.roms.get_rom_path("pong").read_bytes()


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program without the user's directories and without a network."""
    inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    environment = {**inherited, "PIP_NO_INDEX": "1", **variables}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)


def changed(directory: Path, name: str = "pong.bin") -> Path:
    """Writes Pong with a changed byte."""
    image = bytearray(PONG)
    image[5] ^= 1
    path = directory / name
    path.write_bytes(image)
    return path


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def test_the_roms_of_an_installed_ale_py_are_used_in_place(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    found = run(
        "import ale_train; ale_train.AtariEnv('pong').reset(); ale_train.AtariVectorEnv('pong', 2).reset()\n"
        "print(ale_train.roms.get_rom_path('pong'))",
        ALE_TRAIN_ROMS=str(tmp_path / "none"),
    )
    assert (found.returncode, found.stderr) == (0, "")
    path = Path(found.stdout.strip())
    assert path.parts[-3:] == ("ale_py", "roms", "pong.bin")
    assert not (tmp_path / "none").exists()


#: Removes installed packages from the path.
ALONE = "import sys, ale_train; sys.path = []; sys.executable = '/bin/false'\n"


@pytest.mark.parametrize("place", ["ale_py/roms", "multi_agent_ale_py/roms", "AutoROM/roms"])
def test_packages_with_roms_are_found_in_the_path(place: str, tmp_path: Path) -> None:
    directory = tmp_path / place
    directory.mkdir(parents=True)
    (directory / "pong.bin").write_bytes(PONG)
    found = run(ALONE + f"sys.path = [{str(tmp_path)!r}]\nprint(ale_train.roms.get_rom_path('pong'))")
    assert found.stdout.strip() == str(directory / "pong.bin"), found.stderr


def test_ale_roms_dir_is_read_if_its_rom_is_intact(tmp_path: Path) -> None:
    (tmp_path / "pong.bin").write_bytes(PONG)
    program = ALONE + "ale_train.AtariEnv('pong').reset()"
    assert run(program, ALE_ROMS_DIR=str(tmp_path)).returncode == 0
    changed(tmp_path)
    assert "OSError" in run(program, ALE_ROMS_DIR=str(tmp_path)).stderr


def test_the_error_about_a_missing_rom_names_every_way_to_get_it(tmp_path: Path) -> None:
    error = run(ALONE + "ale_train.AtariEnv('pong')", ALE_TRAIN_ROMS=str(tmp_path)).stderr
    for way in ("ale-train roms import", "ALE_TRAIN_ROMS", "--rom-dir", "ALE_ROMS_DIR", "installed ale-py", "AutoROM"):
        assert way in error


def test_the_built_in_game_needs_no_directory() -> None:
    assert (
        run(ALONE + "ale_train.AtariEnv('harvest').reset(); ale_train.AtariVectorEnv('harvest', 2).reset()").stderr
        == ""
    )


#: Plays Pong with a changed byte, with either package.
PLAY = """
from {package} import ALEInterface, LoggerMode
ALEInterface.setLoggerMode(LoggerMode.{level})
ale = ALEInterface()
ale.setInt("random_seed", 1)
ale.loadROM({path!r})
print(ALEInterface.isSupportedROM({path!r}), ale.getAvailableModes())
print([(ale.act(index % 6), ale.getRAM().tobytes().hex()) for index in range(300)])
"""


@pytest.mark.parametrize("name", ["pong.bin", "PONG.a26"])
def test_a_rom_with_an_unknown_checksum_plays_as_the_game_that_its_file_names(name: str, tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    path = changed(tmp_path, name)
    sums = [md5(path), hashlib.md5(PONG).hexdigest()]
    of_ale_py, ours = (
        run(PLAY.format(package=package, level="Warning", path=str(path))) for package in ("ale_py", "ale_train")
    )
    assert ours.stdout == of_ale_py.stdout != ""
    for process in (of_ale_py, ours):
        assert all(digits in process.stderr for digits in sums)
    assert ours.stderr.count("\n") == 1
    assert run(PLAY.format(package="ale_train", level="Error", path=str(path))).stderr == ""


def test_a_changed_rom_of_another_name_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, "my_pong.bin")
    with pytest.raises(RuntimeError, match="only if the name of the file is that of the game"):
        ale_train.ALEInterface().loadROM(path)
    assert ale_train.ALEInterface.isSupportedROM(path) is None


def test_a_changed_rom_does_not_replace_the_known_one(tmp_path: Path) -> None:
    ale_train.ALEInterface().loadROM(changed(tmp_path))
    program = "import ale_train; print(ale_train.AtariEnv('pong').reset(seed=1)[0].sum())"
    alone = run(program, ALE_TRAIN_ROMS=str(ale_train.roms.get_rom_path("pong").parent))
    assert alone.stdout == f"{ale_train.AtariEnv('pong').reset(seed=1)[0].sum()}\n", alone.stderr
