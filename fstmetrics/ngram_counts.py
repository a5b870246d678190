"""The constant of Fibonacci hashing that kernels of evidence share."""

from __future__ import annotations

import numpy as np

#: the golden ratio in 64 bits; the high bits of the product are the hash
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
