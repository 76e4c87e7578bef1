"""``python -m ale_train`` and the program ``ale-train``."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import ale_train

PROGRAM = Path(sysconfig.get_path("scripts"), "ale-train")


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "ale_train", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_it_prints_versions_processor_roms_and_mujoco(tmp_path):
    done = run(ALE_TRAIN_ROMS=str(tmp_path), ALE_TRAIN_MUJOCO=str(tmp_path))
    versions, processor, roms, mujoco = done.stdout.splitlines()
    assert versions.startswith(f"ale_train {ale_train.__version__}, python ") and "numpy " in versions
    assert processor.startswith("processor: ")
    assert re.match(
        rf"ROMs: \d+ of {len(ale_train.games())} games in {tmp_path} and installed packages(; missing: |$)", roms
    )
    assert "harvest" not in roms
    assert mujoco.startswith("MuJoCo: MuJoCo is missing: ")
    assert done.returncode == 0 and not done.stderr


def test_it_prints_json():
    info = json.loads(run("info", "--json").stdout)
    assert info["versions"]["ale_train"] == ale_train.__version__
    assert sorted(info["roms"]["found"] + info["roms"]["missing"]) == sorted(ale_train.games())


def test_the_built_in_game_needs_no_directory_for_roms():
    alone = {"PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-m", "ale_train", "--json"], capture_output=True, env=alone, check=True)
    roms = json.loads(done.stdout)["roms"]
    assert roms["directory"] is None and "harvest" in roms["found"]
    assert roms["problem"].startswith("there is no directory for ROMs")
    program = (
        "import ale_train\n"
        "from ale_train.vector_env import AtariVectorEnv\n"
        "AtariVectorEnv('harvest', 1).reset()\n"
        "ale_train.AtariEnv('harvest').reset()\n"
    )
    subprocess.run([sys.executable, "-c", program], env=alone, check=True)


def test_unknown_commands_are_errors():
    done = run("train")
    assert done.returncode == 2 and "invalid choice: 'train'" in done.stderr


def test_a_closed_pipe_prints_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        done = subprocess.run([sys.executable, "-m", "ale_train"], stdout=pipe, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and not done.stderr


@pytest.mark.skipif(not PROGRAM.exists(), reason="the package was installed without the program")
def test_the_program_plays():
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.splitlines()[0] == f"ale-train {ale_train.__version__}"
    subprocess.run([PROGRAM, "eval", "zoo:harvest", "--episodes", "1"], capture_output=True, check=True)
