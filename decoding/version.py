"""The version: the metadata of the distribution has it from here."""

__version__ = "0.2.0"
