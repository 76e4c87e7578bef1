#!/usr/bin/env python3
"""Builds the page that plays games in a browser: one file without any other, also for a browser without a network.

    browser/build.py DIRECTORY      writes DIRECTORY/index.html

Without arguments it is a preprocessor of the book, which writes the page below docs/src and changes no chapter; mdbook
runs it, as docs/book.toml says. Needs the target wasm32-unknown-unknown of Rust (`rustup target add`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "browser" / "page"
#: The directory in the book.
BOOK = ROOT / "docs" / "src" / "browser"
TARGET = "wasm32-unknown-unknown"
#: The style that the page shares with those of `ale-train watch` and `ale-train report`.
STYLES = [ROOT / "src" / "page" / "style.css", PAGE / "style.css"]
SCRIPTS = [PAGE / f"{name}.js" for name in ("emulator", "joystick", "mind", "player", "main")]
#: Binary files by the id of their element.
FILES = {"zoo-agent": ROOT / "checkpoints" / "zoo" / "harvest.safetensors"}


def main() -> int:
    if sys.argv[1:2] == ["supports"]:
        return 0
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__, file=sys.stderr)
        return 2
    if len(sys.argv) == 2:
        write(Path(sys.argv[1]))
        return 0
    _, book = json.load(sys.stdin)
    write(BOOK)
    json.dump(book, sys.stdout)
    return 0


def write(directory: Path) -> None:
    """Writes the page at once, unless it is there already: mdbook watches the files of the book."""
    page = render(module())
    file = directory / "index.html"
    if not file.exists() or file.read_text() != page:
        directory.mkdir(parents=True, exist_ok=True)
        partial = directory / f".partial-{os.getpid()}"
        partial.write_text(page)
        partial.replace(file)


def module() -> bytes:
    """Compiles the WebAssembly module."""
    directory = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    cargo = [os.environ.get("CARGO", "cargo"), "build", "--locked", "--package", "browser", "--lib"]
    cargo += ["--profile", "browser", "--target", TARGET, "--target-dir", str(directory)]
    flags = {**os.environ, "RUSTFLAGS": "-C target-feature=+simd128"}
    if subprocess.run(cargo, cwd=ROOT, env=flags, stdout=sys.stderr, check=False).returncode != 0:
        raise SystemExit(
            f"cargo cannot compile the page; if only the target is missing, run `rustup target add {TARGET}`"
        )
    return (directory / TARGET / "browser" / "browser.wasm").read_bytes()


def render(module: bytes) -> str:
    """Returns the page with its style, its scripts and its files. The policy lets the page load nothing else."""
    style = "\n".join(path.read_text() for path in STYLES)
    script = "\n".join(path.read_text() for path in SCRIPTS)
    policy = [
        "default-src 'none'",
        "img-src data:",
        f"style-src {digest(style)}",
        f"script-src {digest(script)} 'wasm-unsafe-eval'",
        "form-action 'none'",
        "base-uri 'none'",
    ]
    files = {"module": module, **{name: path.read_bytes() for name, path in FILES.items()}}
    elements = [
        f'<script type="application/base64" id="{name}">{base64.b64encode(file).decode()}</script>'
        for name, file in files.items()
    ]
    parts = {
        "POLICY": "; ".join(policy),
        "STYLE": style,
        "SCRIPTS": "\n".join([*elements, f"<script>{script}</script>"]),
    }
    page = (PAGE / "index.html").read_text()
    for name, text in parts.items():
        before, after = page.split(name)
        page = before + text + after
    return page


def digest(text: str) -> str:
    """Returns the source of an inline element for a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


if __name__ == "__main__":
    sys.exit(main())
