"""Sample data: where the lattices are that come with the package."""

from __future__ import annotations

from pathlib import Path


def sample_data() -> Path:
    """Return the folder of the data that come with the package.

    They are the lattices of 19 utterances (``s032.slf.gz`` to ``s050.slf.gz``) that PocketSphinx
    recognised, and what was said (``refs.txt``).

    Examples
    --------
    >>> sorted(file.name for file in sample_data().iterdir())[1:3]
    ['refs.txt', 's032.slf.gz']
    """
    return Path(__file__).parent / "data" / "pocketsphinx"
