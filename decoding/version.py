"""The version of the distribution."""

from importlib.metadata import version

__version__ = version("fstmetrics")
