"""Ids of references: tables by them, and what they are in trn, ctm and stm files.

The latter come of a template such as ``{file}-{channel}_{begin_cs:06}-{end_cs:06}``. Fields are

- trn: ``id``, and ``utterance``, which is an id ``speaker-utterance`` without the speaker, where
  utterances begin with their speaker, as in ESPnet (``spk1-utt1`` of ``spk1-spk1-utt1``);
- ctm: ``file`` and ``channel``;
- stm: these, ``speaker``, ``begin`` and ``end`` as they stand, and ``begin_cs``, ``end_cs``,
  ``begin_ms``, ``end_ms`` in whole hundredths or thousandths of a second, perhaps with a width.

By default they are ``{id}`` for a trn; for the others ``{file}`` where the file has one channel,
and ``{file}-{channel}`` where it has several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lattices.errors import OptionError
from lattices.registry import Registry, name_plugin

if TYPE_CHECKING:
    from collections.abc import Callable

    from lattices.formats.references.nist import Transcript, TranscriptLines

#: what makes a table by ids of the lines of a file, and perhaps of a template of ids
READERS: Registry[
    Callable[[TranscriptLines, IdTemplate | None], ReferenceTable | Mapping[str, str]]
]
READERS = Registry(
    "lattices.references",
    "reference layout",
    own={
        "trn": "lattices.formats.references.nist:read_trn",
        "ctm": "lattices.formats.references.nist:read_ctm",
        "stm": "lattices.formats.references.nist:read_stm",
    },
    check=lambda plugin: "" if callable(plugin) else f"it is {plugin!r:.60}, expected a function",
)

FIELDS: dict[str, tuple[str, ...]] = {
    "trn": ("id", "utterance"),
    "ctm": ("file", "channel"),
    "stm": (
        "file", "channel", "speaker", "begin", "end", "begin_cs", "end_cs", "begin_ms", "end_ms",
    ),
}  # fmt: skip


class ReferenceTable:
    """The references of one file by id, and the lines that exclude ids from scoring."""

    def __init__(self, entries: Mapping[str, Transcript] | None = None) -> None:
        self.entries: dict[str, Transcript] = dict(entries or {})
        self.excluded: dict[str, int] = {}
        #: how long each segment is, in layouts that say so
        self.seconds: dict[str, float] = {}

    def __contains__(self, id: object) -> bool:
        """Tell whether the file has the id."""
        return id in self.entries or id in self.excluded


def read_table(
    layout: str, file: TranscriptLines, template: IdTemplate | None = None
) -> ReferenceTable:
    """Return the references of a file by id, as the reader of a layout finds them."""
    read = READERS.get(layout)
    found: object = read(file, template)
    if isinstance(found, ReferenceTable):
        return found
    if isinstance(found, Mapping):
        wrong = next((each for each in found.items() if set(map(type, each)) != {str}), None)
        if wrong is None:
            return ReferenceTable(found)
        found = wrong
    what = name_plugin(read, f"layout {layout}")
    raise OptionError(f"{what} returns {found!r:.80}, expected a text for each id")


def second_line(id: str, path: str, first: int) -> str:
    """Return what is wrong with a line whose id another line of the file has."""
    return f"a second line for the id {id!r}, which {path}:{first} has already"


_WIDTH = re.compile(r"0?[1-9][0-9]?d?")


class IdTemplate:
    """How an id is made of the fields of a line."""

    def __init__(self, template: str) -> None:
        def wrong(problem: str) -> OptionError:
            return OptionError(f"id template {template!r}: {problem}")

        from string import Formatter

        self.parts: list[tuple[str, str, str]] = []
        try:
            pieces = list(Formatter().parse(template))
        except ValueError as problem:
            raise wrong(str(problem)) from problem
        known = list(dict.fromkeys(name for names in FIELDS.values() for name in names))
        for literal, name, spec, conversion in pieces:
            if name is not None and name not in known:
                raise wrong(f"no field {name!r}, expected one of {', '.join(known)}")
            whole = name is not None and name.endswith(("_cs", "_ms"))
            if conversion or (spec and not (whole and _WIDTH.fullmatch(spec))):
                raise wrong(
                    "only a width, as in {begin_cs:06}, may follow a field of whole numbers"
                )
            self.parts.append((literal, name or "", spec or ""))
        self.names = {name for _, name, _ in self.parts if name}
        if not self.names:
            raise wrong("no field in it, so that all ids would be the same")

    def suits(self, layout: str) -> bool:
        """Tell whether a layout has all of the fields."""
        return self.names <= set(FIELDS.get(layout, ()))

    def format(self, fields: Mapping[str, str | int]) -> str:
        """Return the id."""
        return "".join(
            literal + (format(fields[name], spec) if name else "")
            for literal, name, spec in self.parts
        )


def strip_speaker(id: str) -> str:
    """Return an id without the speaker in front, or nothing if there is none."""
    for place in range(len(id) // 2, 0, -1):
        if id[place] == "-" and id.startswith(id[:place], place + 1):
            return id[place + 1 :]
    return ""
