"""What to choose: oracles, minimum-Bayes-risk decisions, and training, alone and over a corpus.

Names are listed in ``__init__.pyi`` and loaded when they are first used: the import costs nothing.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
__all__.remove("__version__")  # to be had, but not by a star import
