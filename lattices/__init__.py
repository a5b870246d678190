"""What the decoder said: search spaces, their files, and exact algorithms over them.

Names are listed in ``__init__.pyi`` and loaded when they are first used: the import costs nothing.
"""

from lattices.registry import attach

#: where names are that were here before
_MOVED = {
    "COUNT": "lattices.algorithms.semirings",
    "LOG": "lattices.algorithms.semirings",
    "VITERBI": "lattices.algorithms.semirings",
    "inside": "lattices.algorithms",
    "log_path_count": "lattices.algorithms",
    "outside": "lattices.algorithms",
}
__getattr__, __dir__, __all__ = attach(__name__, __file__, _MOVED)
