"""Encoding of segments for writing: one by one, by the process that transformed them.

A worker that encodes each segment in the format of the target leaves the parent only to put
the bytes together, and a segment that the format cannot hold is a failure of its own.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding.corpus.runner import Segment
from decoding.corpus.transforms import Transform
from lattices.errors import FormatError, argument
from lattices.formats import FORMATS
from lattices.formats.base import Losses
from lattices.spaces import Space

#: options of writers that name a file: one that is extended, and one that is written beside
SYMBOLS, ARCHIVE = "symbols", "ark"


class _Noted(Losses):
    """The losses of one segment, in the words of the command line."""

    def __init__(self, format_name: str, allowed: bool, segment: str) -> None:
        super().__init__(format_name, allowed)
        self._segment = f"segment {segment!r}"
        self.noted: dict[str, str] = {}

    def add(self, what: str, where: str) -> None:
        if not self.allowed:
            whose = f"its {what}" if where == self._segment else f"the {what} of {where}"
            raise FormatError(
                f"{self.format_name} cannot hold {whose}; "
                f"{argument('write.lossy', True)} leaves such things out"
            )
        self.noted.setdefault(what, where)


@dataclass(frozen=True)
class Ready:
    """One segment, ready to be written.

    Attributes
    ----------
    data : bytes
        The segment as a file of its own.
    space : Lattice, NBest, Forest or None
        The segment itself, where bytes do not add up to a file.
    losses : mapping of str to str
        What the format cannot hold, and where it was.
    """

    data: bytes
    space: Space | None
    losses: Mapping[str, str]


@dataclass(frozen=True)
class Target:
    """A format to write, and how.

    Attributes
    ----------
    format : str
        Its name.
    lossy : bool
        Whether what it cannot hold may be left out.
    options : mapping
        Options of its writer.
    together : bool
        Whether the segments must be written by one call; then :meth:`ready` encodes only to
        see whether it can be done.

    Examples
    --------
    >>> from lattices import Lattice
    >>> space = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1], id="s1")
    >>> Target("plf", options={"ids": "none"}).ready(space).data
    b"((('a',-1.0,1),),)\\n"
    """

    format: str
    lossy: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    together: bool = False

    def ready(self, space: Space) -> Ready:
        """Return the segment as it is to be written.

        Raises
        ------
        FormatError
            If the format cannot hold it.
        """
        format = FORMATS.get(self.format)
        if format.kind not in (space.kind, "any"):
            raise FormatError(_WRONG_KIND[space.kind].format(self.format))
        losses = _Noted(format.name, self.lossy, space.id)
        stream = io.BytesIO()
        if not self.together:
            format.write(stream, [space], losses, **self.options)
            return Ready(stream.getvalue(), None, losses.noted)
        with tempfile.TemporaryDirectory() as folder:
            # this is but a trial, which must not touch the archive
            beside = {ARCHIVE: os.path.join(folder, ARCHIVE)} if ARCHIVE in self.options else {}
            format.write(stream, [space], losses, **{**self.options, **beside})
        return Ready(b"", space, losses.noted)


_WRONG_KIND = {
    "lattice": "{} holds no lattices; fstmetrics nbest makes n-best lists of them",
    "nbest": "{} holds no n-best lists",
    "forest": "{} holds no forests",
}


@dataclass(frozen=True)
class SpacesJob:
    """Transform every segment."""

    transform: Transform

    def __call__(self, segments: Sequence[Segment]) -> list[Space]:
        """Return the space of each segment."""
        return [self.transform(segment) for segment in segments]


@dataclass(frozen=True)
class ReadyJob:
    """Transform every segment, and make it ready to be written."""

    transform: Transform
    target: Target

    def __call__(self, segments: Sequence[Segment]) -> list[Ready]:
        """Return each segment as it is to be written."""
        return [self.target.ready(self.transform(segment)) for segment in segments]
