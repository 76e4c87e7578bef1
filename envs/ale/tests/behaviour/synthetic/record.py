#!/usr/bin/env python3
"""Records how ale-py runs generated programs.

    pip install ale-py==0.12.1
    python record.py [--programs N] [--first SEED] [--acts N] [--output FILE]

ale-py runs any image whose file has the name of a game, with the rules of that game. The programs come from
grammar.txt. The trace is one line of JSON that lists the runs, then four bytes for every act. These are the low 16 bits
of a running CRC-32 over RAM and of one over the screen, little-endian. A run ends when the game is over by its rules.

With SYNTHETIC_TRACE=FILE the test `synthetic` reads that file instead of programs.trace.
"""

import argparse
import json
import os
import pathlib
import struct
import tempfile
import zlib

import ale_py

assert ale_py.__version__ == "0.12.1", f"the trace requires ale-py 0.12.1, found {ale_py.__version__}"
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

DIRECTORY = pathlib.Path(__file__).parent

# The games whose names and rules are used, with the size of the image. ale-py looks up the properties of a game by the
# MD5 of its image, so these programs have the default ones. The games are reset without pressing SELECT.
GAMES = [("venture", 4096), ("superman", 4096), ("boxing", 2048), ("phoenix", 8192)]
THEMES = ["picture", "short", "regular", "pal", "processor", "stuck", "quiet", "ends", "motion", "noise"]


class Random:
    """A linear congruential generator modulo 2**32."""

    def __init__(self, seed):
        self.state = (seed * 2654435761) & 0xFFFFFFFF | 1

    def below(self, bound):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (self.state >> 16) % bound


def read_grammar():
    grammar = {}
    for line in (DIRECTORY / "grammar.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            head, tokens = line.split(":")
            name, weight = head.split()
            grammar.setdefault(name, []).extend([tokens.split()] * int(weight))
    return grammar


class Program:
    """A program under construction. grammar.rs does the same steps."""

    LONGEST_PART = 300
    DATA = 0x200

    def __init__(self, grammar, theme, seed, size):
        self.grammar = grammar
        self.random = Random(seed)
        self.bank = min(size, 4096)
        self.code = bytearray()
        self.marks = []
        if theme == "noise":
            while len(self.code) < size:
                self.expand("noise")
        else:
            self.expand("begin")
            parts = 1 + self.random.below(60)
            while parts > 0 and len(self.code) < self.bank - self.DATA - 2 * self.LONGEST_PART:
                self.expand(theme)
                parts -= 1
            self.expand("end")
            # Every bank holds the same program and different data.
            program = bytes(self.code)
            while len(self.code) < size:
                if len(self.code) % self.bank == 0:
                    self.code += program
                self.code.append(self.random.below(256))
        # The reset vector is the start of the window, the BRK vector a routine that counts and returns.
        for end in range(self.bank, size + 1, self.bank):
            self.code[end - 16 : end - 13] = bytes([0xE6, 0xBE, 0x40])
            self.code[end - 4 : end] = struct.pack("<HH", self.origin(), 0xFFF0)

    def origin(self):
        return 0x10000 - self.bank

    def expand(self, name):
        ways = self.grammar[name]
        for token in ways[self.random.below(len(ways))]:
            if token == "<":
                self.marks.append(self.origin() + len(self.code))
            elif token == ">":
                self.code += struct.pack("<H", self.marks.pop())
            elif token.startswith("@"):
                self.expand(token[1:])
            else:
                first, _, last = token.partition("-")
                first = int(first, 16)
                last = int(last, 16) if last else first
                self.code.append(first + self.random.below(last - first + 1) if last > first else first)


def record(image, game, seed, acts):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, f"{game}.bin")
        pathlib.Path(path).write_bytes(image)
        ale = ale_py.ALEInterface()
        ale.setInt("random_seed", seed)
        ale.setFloat("repeat_action_probability", 0.0)
        ale.loadROM(path)
    random = Random(seed)
    ram_crc = screen_crc = 0
    data = bytearray()
    for _ in range(acts):
        ale.act(random.below(18))
        ram_crc = zlib.crc32(ale.getRAM().tobytes(), ram_crc)
        screen_crc = zlib.crc32(ale.getScreen().tobytes(), screen_crc)
        data += struct.pack("<HH", ram_crc & 0xFFFF, screen_crc & 0xFFFF)
        if ale.game_over():
            break
    return data


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=160)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--acts", type=int, default=100)
    parser.add_argument("--output", type=pathlib.Path, default=DIRECTORY / "programs.trace")
    options = parser.parse_args()
    grammar = read_grammar()
    runs, data = [], bytearray()
    for seed in range(options.first, options.first + options.programs):
        theme = THEMES[seed % len(THEMES)]
        game, size = GAMES[seed // len(THEMES) % len(GAMES)]
        image = Program(grammar, theme, seed, size).code
        checks = record(image, game, seed, options.acts)
        runs.append([game, theme, seed, len(checks) // 4, f"{zlib.crc32(image):08x}"])
        data += checks
    options.output.write_bytes(json.dumps(runs).encode() + b"\n" + data)
    print(f"{len(runs)} programs, {len(data) // 4} acts")


if __name__ == "__main__":
    main()
