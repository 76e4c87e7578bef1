"""``python -m ale_train``: what is installed and found on this machine."""

from __future__ import annotations

import sys

from ale_train.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
