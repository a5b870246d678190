"""Segments made ready to be written, in whatever process."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from decoding.corpus.encoding import Target
from decoding.corpus.transforms import keep_unchanged
from decoding.tasks.spaces import EncodedTask
from lattices import Lattice, NBest, Space
from lattices.errors import FormatError
from lattices.formats import FORMATS, formats
from lattices.formats.base import Format, Unsupported
from lattices.testing import sample_forests, sample_nbests
from tests.decoding.corpus.test_transforms import LIST, segment


def test_ready_is_what_the_format_writes() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0)], [1], id="s1", references=["a"])
    task = EncodedTask(keep_unchanged, Target("plf", lossy=True, options={"ids": "none"}))
    (ready,) = pickle.loads(pickle.dumps(task)).process([segment(lattice)])
    assert ready.data == b"((('a',-1.0,1),),)\n"
    assert ready.losses == {"references": "segment 's1'"}


@pytest.mark.parametrize(
    ("name", "options"),
    [("arrow", {}), ("parquet", {}), ("csv", {}), ("plf", {}), ("kaldi-scp", {"ark": "lat.ark"})],
)
def test_segments_ready_one_by_one_are_put_together(
    name: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    format = FORMATS.get(name)
    spaces: list[Space] = [
        Lattice.from_arcs([(0, 1, "a", -0.25), (0, 1, word, -1.5)], [1], id=id)
        for word, id in (("the", "first"), ("it's", "1"), ("\u00fc", "x"))
    ]
    if format.kind == "nbest":
        spaces = [NBest.from_hypotheses(each.paths(), id=each.id) for each in spaces]
    target = Target(name, options=options, together=True)
    (once, *others) = pickle.loads(pickle.dumps([target.ready(space) for space in spaces]))
    found = io.BytesIO()
    target.put(found, [once, *others])
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    written = io.BytesIO()
    format.write(written, spaces, Unsupported(name), **options)
    assert found.getvalue() == written.getvalue()
    assert files == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


class _Others(Format):
    """A format of others, which says nothing of how its files are put together."""

    name = "others"
    description = "ids, numbered"
    kind = "lattice"
    suffixes = (".ids",)

    def sniff(self, head: bytes) -> bool:
        return False

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        for number, space in enumerate(spaces):
            if not space.id:
                raise FormatError("no id")
            stream.write(f"{number} {space.id}\n".encode())


def test_formats_of_others_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORMATS, "get", lambda name: _Others())
    target = Target("others", together=True)
    lattice = Lattice.from_arcs([(0, 1, "a")], [1], id="s1")
    with pytest.raises(FormatError, match="no id"):
        target.ready(lattice.replaced(id=""))
    target.put(found := io.BytesIO(), [target.ready(lattice)] * 2)
    assert found.getvalue() == b"0 s1\n1 s1\n"


@pytest.mark.parametrize(
    ("format", "space", "problem"),
    [
        ("plf", Lattice.from_arcs([(0, 1, "a")], [1], id="s1", source="x"),
         "plf cannot hold its source texts; lossy=True leaves such things out"),
        ("plf", LIST, "plf holds no n-best lists"),
        ("moses-nbest", Lattice.from_arcs([(0, 1, "a")], [1]), "fstmetrics nbest makes n-best"),
        ("nbest-tsv", NBest.from_hypotheses([], id="a\tb"), "the id 'a\\\\tb' cannot stand"),
    ],
)  # fmt: skip
def test_what_a_format_cannot_hold(format: str, space: Space, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        Target(format).ready(space)


@pytest.mark.parametrize(
    "name",
    [info.name for info in formats() if info.access and FORMATS.get(info.name).appendable],
)
def test_files_that_may_be_put_one_after_the_other(name: str) -> None:
    format = FORMATS.get(name)
    # any format of lattices holds these, and the id of the third is its place
    slots = [(0, 1, "a", -0.25), (0, 1, "the", -1.5), (1, 2, "cat", 0.0)]
    spaces: list[Space] = [Lattice.from_arcs(slots, [2], id=id) for id in ("first", "0", "2")]
    if format.kind == "forest":
        spaces = list(sample_forests())
    elif format.kind != "lattice":
        spaces = [*(spaces if format.kind == "any" else []), *sample_nbests()]
        spaces[-1] = spaces[-1].replaced(id="last")
    together = io.BytesIO()
    format.write(together, spaces, Unsupported(name))
    assert b"".join(Target(name).ready(space).data for space in spaces) == together.getvalue()
