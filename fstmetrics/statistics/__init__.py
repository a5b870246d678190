"""Statistics over scores: significance, correlation, calibration, studies of options.

Names are listed in ``__init__.pyi`` and loaded when they are first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
