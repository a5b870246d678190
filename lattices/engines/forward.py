"""The width of vectors in the kernels over forests."""

from __future__ import annotations

#: Rows of an alignment are padded to whole vectors of this many gains. The compiler turns
#: an inner loop of a fixed length into one instruction, and leaves a short one of any other
#: length as it is.
LANES = 8
