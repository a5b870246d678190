"""Encoding of segments for writing: one by one, by the process that transformed them.

A worker that encodes each segment in the format of the target leaves the parent only to put
the bytes together, and a segment that the format cannot hold is a failure of its own.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from decoding.corpus.transforms import list_unweighted
from lattices.errors import FormatError, argument
from lattices.formats import FORMATS
from lattices.formats.base import AssembledFormat, Unsupported
from lattices.spaces import Space

#: options of writers that name a file: one that is extended, and one that is written beside
SYMBOLS, ARCHIVE = "symbols", "ark"


class _Noted(Unsupported):
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
    """One segment, ready to be written."""

    #: the segment as a file of its own; or, where bytes do not add up to a file, as
    #: :meth:`Target.put` takes it
    data: Any
    #: what the format cannot hold, and where it was
    losses: Mapping[str, str]
    #: features without weight, of the weights of the target
    unweighted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A format to write, and how.

    Examples
    --------
    >>> from lattices import Lattice
    >>> space = Lattice.from_arcs([(0, 1, "a", -1.0)], finals=[1], id="s1")
    >>> Target("plf", options={"ids": "none"}).ready(space).data
    b"((('a',-1.0,1),),)\\n"
    """

    #: its name
    format: str
    #: whether what it cannot hold may be left out
    lossy: bool = False
    #: options of its writer
    options: Mapping[str, Any] = field(default_factory=dict)
    #: whether the file is more than its segments one after the other: then :meth:`put` writes it
    together: bool = False
    #: those that spaces were scored by
    weights: Mapping[str, float] | None = None

    def ready(self, space: Space) -> Ready:
        """Return the segment as it is to be written."""
        format = FORMATS.get(self.format)
        if format.kind not in (space.kind, "any"):
            raise FormatError(_WRONG_KIND[space.kind].format(self.format))
        losses = _Noted(format.name, self.lossy, space.id)
        if self.together and isinstance(format, AssembledFormat):
            data = format.encode(space, losses, **self.options)
            return Ready(data, losses.noted, self._unweighted(space))
        stream = io.BytesIO()
        format.write(stream, [space], losses, **self.options)
        # a format of others may not say how its files are put together: this was but a trial
        data = space if self.together else stream.getvalue()
        return Ready(data, losses.noted, self._unweighted(space))

    def _unweighted(self, space: Space) -> tuple[str, ...]:
        return () if self.weights is None else list_unweighted(space, self.weights)

    def put(self, stream: BinaryIO, ready: Iterable[Ready]) -> None:
        """Write a file of segments that must be written together."""
        format, data = FORMATS.get(self.format), (each.data for each in ready)
        if isinstance(format, AssembledFormat):
            format.assemble(stream, data, **self.options)
        else:
            format.write(stream, data, Unsupported(format.name, allowed=True), **self.options)


_WRONG_KIND = {
    "lattice": "{} holds no lattices; fstmetrics nbest makes n-best lists of them",
    "nbest": "{} holds no n-best lists",
    "forest": "{} holds no forests",
}
