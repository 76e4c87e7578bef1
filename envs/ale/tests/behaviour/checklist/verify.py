#!/usr/bin/env python3
"""Runs the programs of the checklist in ale-py and compares RAM and screen.

    pip install ale-py==0.12.1
    mkdir images
    CHECKLIST_IMAGES=$PWD/images cargo test -p ale --test behaviour checklist
    python verify.py images

ale-py runs any image whose file has the name of a game, with the rules of that game. The exit status is 1 if a program
differs.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import zlib

import ale_py

assert ale_py.__version__ == "0.12.1", f"the reference is ale-py 0.12.1, found {ale_py.__version__}"
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

HOST = "venture"


def run(image, acts):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, f"{HOST}.bin")
        shutil.copy(image, path)
        ale = ale_py.ALEInterface()
        ale.setInt("random_seed", 0)
        ale.setFloat("repeat_action_probability", 0.0)
        ale.loadROM(path)
    for _ in range(acts):
        ale.act(0)
    return [f"{zlib.crc32(bytes.tobytes()):08x}" for bytes in (ale.getRAM(), ale.getScreen())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    images = sorted(parser.parse_args().directory.glob("*.bin"))
    differing = 0
    for image in images:
        acts, *expected = image.with_suffix(".txt").read_text().split()
        got = run(image, int(acts))
        if got != expected:
            differing += 1
            print(f"{image.stem}: RAM and screen {got} in ale-py, {expected} here")
    print(f"{len(images)} programs, {differing} differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
