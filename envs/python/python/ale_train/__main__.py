"""``python -m ale_train``: what is installed and found on this machine."""

from __future__ import annotations

import os
import sys

from ale_train.command import main

if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as ``head``, has closed the pipe. Python would flush it again at exit and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
