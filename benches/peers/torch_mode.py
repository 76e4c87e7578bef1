"""The ways of running a network in PyTorch."""

import enum

import torch


class Mode(enum.Enum):
    EAGER = "eager"
    CHANNELS_LAST = "channels last"
    COMPILED = "channels last, compiled"

    def place(self, network):
        """Returns the network with its weights in the layout of the mode."""
        return network if self is Mode.EAGER else network.to(memory_format=torch.channels_last)

    def images(self, images):
        """Returns images `[rows, channels, height, width]` in the layout of the mode."""
        return images if self is Mode.EAGER else images.contiguous(memory_format=torch.channels_last)

    def compile(self, function):
        return torch.compile(function) if self is Mode.COMPILED else function
