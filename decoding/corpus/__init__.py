"""Corpus runs: streamed, parallel, in order, resumable."""

# first of all, where the stack is short: from deep within other imports, many calls of its own
# would cross from one piece of the stack's memory to the next, which is made and freed each time
import numpy as np  # noqa: F401
