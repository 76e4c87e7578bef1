#!/usr/bin/env python3
"""Compresses a wheel again, with libdeflate, whose files are smaller than zlib's: ``recompress.py FROM TO``."""

from __future__ import annotations

import sys
import zipfile

import deflate

#: The highest of libdeflate.
LEVEL = 12


class Compressor:
    """An object as those of ``zlib.compressobj``."""

    def __init__(self, *_: object) -> None:
        self.parts: list[bytes] = []

    def compress(self, part: bytes) -> bytes:
        self.parts.append(part)
        return b""

    def flush(self) -> bytes:
        return bytes(deflate.deflate_compress(b"".join(self.parts), LEVEL))


def main(source: str, target: str) -> None:
    # zipfile has no public way to choose the compressor.
    zipfile._get_compressor = Compressor  # type: ignore[attr-defined]
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            # The info holds the name, the time and the permissions.
            new.writestr(info, old.read(info))


if __name__ == "__main__":
    main(*sys.argv[1:])
