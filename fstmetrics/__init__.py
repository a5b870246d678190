"""What is good: metrics as direct scorers and as weighted automata over lattices.

Metrics, their contract and :func:`parse_metric`; what is computed from scores, intervals, tests and
correlations, is in :mod:`fstmetrics.statistics`.
Names are listed in ``__init__.pyi`` and loaded when they are first used.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
