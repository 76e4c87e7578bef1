"""A window that shows the game, for ``render_mode="human"``."""

from __future__ import annotations

import os

import numpy as np
from gymnasium.error import DependencyNotInstalled

__all__ = ["Window"]

#: Frames of the console in a second.
FRAMES_PER_SECOND = 60

#: Pixels of the window for each pixel of the game, horizontally and vertically. The console's pixels are wide.
SCALE = (4, 2)


class Window:
    """A window on the screen, drawn by pygame. It opens with the first frame."""

    def __init__(self, title: str) -> None:
        """Prepares a window with this title.

        Raises:
            DependencyNotInstalled: pygame is not installed.
        """
        try:
            import pygame
        except ImportError:
            raise DependencyNotInstalled(
                'render_mode="human" shows the game in a window of pygame, which is not installed; '
                "run `pip install pygame`"
            ) from None
        self._pygame = pygame
        self._title = title
        self._window: pygame.Surface | None = None
        self._clock = pygame.time.Clock()

    def show(self, screen: np.ndarray) -> None:
        """Shows a screen of shape ``(height, width, 3)`` and waits for the time of the next frame.

        Raises:
            KeyboardInterrupt: The user has closed the window.
        """
        pygame = self._pygame
        if self._window is None:
            # Otherwise SDL turns SIGINT and SIGTERM into events, and Ctrl-C would not end the program.
            os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")
            pygame.display.init()
            height, width = screen.shape[:2]
            self._window = pygame.display.set_mode((width * SCALE[0], height * SCALE[1]))
            pygame.display.set_caption(self._title)
        image = pygame.surfarray.make_surface(screen.swapaxes(0, 1))
        pygame.transform.scale(image, self._window.get_size(), self._window)
        if pygame.event.get(pygame.QUIT):
            self.close()
            raise KeyboardInterrupt("the window was closed")
        # A program may read other events, such as keys. Nobody reads mouse motions, which would fill the queue until
        # new events are dropped.
        pygame.event.clear(pygame.MOUSEMOTION)
        pygame.display.flip()
        self._clock.tick(FRAMES_PER_SECOND)

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            self._window = None
            self._pygame.display.quit()
