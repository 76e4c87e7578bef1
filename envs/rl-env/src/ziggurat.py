"""Writes ziggurat.rs: the tables of NumPy's standard_normal, read from the compiled module of the installed NumPy.

Needs numpy 2.4.6:  python ziggurat.py
"""

import math
import struct
from pathlib import Path

import numpy.random._generator as generator

LAYERS = 256
# The base layer: the start of the tail divided by the width of a rectangle of equal area, of 2^52.
FIRST_LIMIT = 0x000EF33D8025EF6A
MODULE = Path(generator.__file__).read_bytes()


def table(kind, is_start):
    for offset in range(0, len(MODULE) - 8 * LAYERS, 8):
        if is_start(*struct.unpack_from(f"<{kind}{kind}", MODULE, offset)):
            return struct.unpack_from(f"<{LAYERS}Q", MODULE, offset)
    raise SystemExit("the table is not in the module")


def rows(values):
    for start in range(0, LAYERS, 5):
        yield "    " + " ".join(f"{value:#018x}," for value in values[start : start + 5])


def main():
    limits = table("Q", lambda first, _: first == FIRST_LIMIT)
    widths = table("d", lambda first, _: math.isclose(first, 8.683627060801306e-16, rel_tol=1e-13))
    heights = table("d", lambda first, second: first == 1 and math.isclose(second, 0.97710170126767, rel_tol=1e-13))
    lines = ["//! The layers of the normal distribution, as NumPy has them. Written by `ziggurat.py`."]
    for name, comment, values in [
        ("LIMITS", "Below this limit, a draw of 52 bits lies in the part of its layer that is entirely below the curve.", limits),
        ("WIDTHS", "Bits of the width of each layer, divided by 2^52.", widths),
        ("HEIGHTS", "Bits of the density at the end of each layer.", heights),
    ]:
        lines += ["", f"/// {comment}", "#[rustfmt::skip]", f"pub(crate) const {name}: [u64; {LAYERS}] = [", *rows(values), "];"]
    Path(__file__).with_suffix(".rs").write_text("\n".join(lines) + "\n")


main()
