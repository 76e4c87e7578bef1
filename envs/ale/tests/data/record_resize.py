"""Records the results of OpenCV's area resize for random images.

Usage: python record_resize.py > resize.txt
Needs numpy and opencv-python-headless.
"""

import zlib

import cv2
import numpy as np

# Source height, target height, target width; the source is always 160 wide.
SIZES = [
    # Weighted sums.
    (210, 84, 84), (214, 84, 84), (220, 84, 84), (230, 84, 84), (250, 84, 84),
    (210, 64, 64), (210, 96, 96), (250, 128, 128), (210, 84, 160), (210, 209, 159), (210, 50, 50), (210, 1, 1),
    (210, 13, 7), (210, 210, 84), (250, 84, 80),
    # Means of blocks.
    (210, 105, 80), (250, 125, 80), (210, 210, 80), (210, 70, 80), (210, 42, 40), (210, 105, 160), (210, 30, 10),
    # Two neighbours.
    (210, 250, 160), (210, 300, 200), (210, 100, 161), (210, 420, 320), (210, 211, 84), (210, 84, 161), (250, 256, 256),
    # Copies.
    (210, 210, 160), (250, 250, 160),
]


def image(seed, shape):
    """Returns the bytes of the generator SplitMix64, the least significant byte of each output first."""
    count = -(-int(np.prod(shape)) // 8)
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return z.astype("<u8").view(np.uint8)[: int(np.prod(shape))].reshape(shape)


print(f"# OpenCV {cv2.__version__}; made by record_resize.py.")
print("# source height, target height, target width, channels, seed, CRC-32 of the result")
for source_height, target_height, target_width in SIZES:
    for channels in (1, 3):
        for seed in (1, 2):
            source = image(seed, (source_height, 160, channels))
            target = cv2.resize(source, (target_width, target_height), interpolation=cv2.INTER_AREA)
            crc = zlib.crc32(np.ascontiguousarray(target).tobytes())
            print(source_height, target_height, target_width, channels, seed, f"{crc:08x}")
