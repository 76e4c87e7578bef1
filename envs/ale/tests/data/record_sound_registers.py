#!/usr/bin/env python3
"""Records the sound of a program that changes all sound registers in every frame.

    pip install ale-py==0.12.1
    python record_sound_registers.py > sound_registers.txt

The first line is the program, in hexadecimal digits. The others hold a number of acts and a running CRC-32 of getAudio.
"""

import pathlib
import tempfile
import zlib

import ale_py

assert ale_py.__version__ == "0.12.1", f"the sound requires ale-py 0.12.1, found {ale_py.__version__}"
ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)

PROGRAM = bytes.fromhex(
    "A901 85F0"  # LDA #1, STA $F0: the lower byte of a shift register of 16 bits
    "A902 8500 8502 8502 8502 A900 8500"  # frame: LDA #2, STA VSYNC, three times STA WSYNC, LDA #0, STA VSYNC
    "A205"  # LDX #5
    "A008"  # value: LDY #8
    "46F1 66F0 9006 A5F1 49B4 85F1"  # step: LSR $F1, ROR $F0, BCC next, LDA $F1, EOR #$B4, STA $F1
    "88 D0F1"  # next: DEY, BNE step
    "A5F0 9515 CA 10E8"  # LDA $F0, STA AUDC0,X, DEX, BPL value
    "8502 CA D0FB"  # line: STA WSYNC, DEX, BNE line
    "4C04F0"  # JMP frame
)
CHECKS = [10, 100, 1000, 3000]

with tempfile.TemporaryDirectory() as directory:
    # ale-py runs any image whose file has the name of a game.
    path = pathlib.Path(directory) / "venture.bin"
    path.write_bytes(PROGRAM.ljust(4092, b"\0") + b"\0\xf0\0\xf0")
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", 1)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setBool("sound_obs", True)
    ale.loadROM(path)

print(PROGRAM.hex())
crc = 0
for act in range(1, CHECKS[-1] + 1):
    ale.act(0)
    crc = zlib.crc32(ale.getAudio().tobytes(), crc)
    if act in CHECKS:
        print(act, f"{crc:08x}")
