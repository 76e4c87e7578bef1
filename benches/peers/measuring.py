"""Code shared by all measurements: the types of their options, and a warning on a busy machine."""

import argparse
import os
import sys


def listed(allowed):
    def parse(text):
        words = text.split(",")
        for word in words:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"unknown value {word}; expected any of {', '.join(allowed)}")
        return [word for word in allowed if word in words]

    return parse


def positive(kind):
    def parse(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError("must be greater than 0")
        return value

    return parse


def warn_if_busy():
    """Warns under load: a scheduler gives fifty threads a larger share of a core than two."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > 0.5:
        print(
            f"the machine is busy (load {load:.1f}): rates are too low, and ratios favour sides with many threads",
            file=sys.stderr,
        )
