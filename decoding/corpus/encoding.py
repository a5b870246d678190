"""Encoding of segments for writing: one by one, by the process that transformed them.

A worker that encodes each segment in the format of the target leaves the parent only to put
the bytes together, and a segment that the format cannot hold is a failure of its own.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from decoding.corpus.outcomes import Done, Failure, Failures
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
            return Ready(data, losses.noted, self._list_unweighted(space))
        stream = io.BytesIO()
        format.write(stream, [space], losses, **self.options)
        # a format of others may not say how its files are put together: this was but a trial
        data = space if self.together else stream.getvalue()
        return Ready(data, losses.noted, self._list_unweighted(space))

    def _list_unweighted(self, space: Space) -> tuple[str, ...]:
        return () if self.weights is None else list_unweighted(space, self.weights)

    def put(self, stream: BinaryIO, ready: Iterable[Ready]) -> None:
        """Write a file of segments that must be written together."""
        format, data = FORMATS.get(self.format), (each.data for each in ready)
        if isinstance(format, AssembledFormat):
            format.assemble(stream, data, **self.options)
        else:
            format.write(stream, data, Unsupported(format.name, allowed=True), **self.options)


class ReadySpaces:
    """Collector of spaces that are ready: it writes them, and counts what is lost.

    Parameters
    ----------
    target : Target
    find_objection
        Why a segment of a name cannot be written; empty if it can.
    name : str
        What messages call the file.

    Attributes
    ----------
    records, written : int
        Segments of the input, and those that were written.
    losses : mapping of str to (str, int)
        What the format cannot hold, where it was first, and in how many segments.
    unweighted : mapping of str to None
        Features without weight.
    failures : Failures
    """

    def __init__(
        self,
        target: Target,
        find_objection: Callable[[str], str] | None = None,
        name: str = "",
    ) -> None:
        self.target, self._find_objection, self._name = target, find_objection, name
        self.records = self.written = 0
        self.losses: dict[str, tuple[str, int]] = {}
        self.unweighted: dict[str, None] = {}
        self.failures = Failures()

    def sift(self, outcomes: Iterable[Done[Ready] | Failure]) -> Iterator[Done[Ready]]:
        """Iterate over what can be written."""
        for outcome in outcomes:
            self.records += outcome.position >= 0
            if isinstance(outcome, Failure):
                self.failures.append(outcome)
                continue
            problem = self._find_objection(outcome.id) if self._find_objection else ""
            if problem:
                place = (outcome.position, outcome.path, outcome.line, outcome.id)
                self.failures.append(Failure(*place, problem))
                continue
            self.written += 1
            self.unweighted.update(dict.fromkeys(outcome.result.unweighted))
            self._lose({what: (where, 1) for what, where in outcome.result.losses.items()})
            yield outcome

    def write(self, outcomes: Iterable[Done[Ready] | Failure], stream: BinaryIO) -> None:
        """Write a file of all that can be written."""
        ready = (done.result for done in self.sift(outcomes))
        if self.target.together:
            self.target.put(stream, ready)
            return
        single = FORMATS.get(self.target.format).single
        for number, each in enumerate(ready):
            if single and number:
                raise FormatError(
                    f"{self.target.format} holds one segment a file; write to a directory",
                    self._name,
                )
            stream.write(each.data)

    def state(self) -> dict[str, Any]:
        """Return the counts."""
        return {
            "records": self.records,
            "written": self.written,
            "losses": self.losses,
            "unweighted": list(self.unweighted),
        }

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add the counts of others."""
        self.records += state["records"]
        self.written += state["written"]
        self.unweighted.update(dict.fromkeys(state["unweighted"]))
        self._lose(state["losses"])

    def _lose(self, losses: Mapping[str, Sequence[Any]]) -> None:
        for what, (where, more) in losses.items():
            first, count = self.losses.get(what, (where, 0))
            self.losses[what] = first, count + more


_WRONG_KIND = {
    "lattice": "{} holds no lattices; fstmetrics nbest makes n-best lists of them",
    "nbest": "{} holds no n-best lists",
    "forest": "{} holds no forests",
}
