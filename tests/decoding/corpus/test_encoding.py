"""Segments made ready to be written, in whatever process."""

from __future__ import annotations

import io
import pickle

import pytest

from decoding.corpus.encoding import ReadyJob, Target
from decoding.corpus.transforms import (
    unchanged,
)
from lattices import Lattice, NBest, Space
from lattices.errors import FormatError
from lattices.formats import FORMATS, formats
from lattices.formats.base import Losses
from lattices.testing import sample_forests, sample_nbests
from tests.decoding.corpus.test_transforms import LIST, segment


def test_ready_is_what_the_format_writes() -> None:
    lattice = Lattice.from_arcs([(0, 1, "a", -1.0)], [1], id="s1", references=["a"])
    job = ReadyJob(unchanged, Target("plf", lossy=True, options={"ids": "none"}))
    (ready,) = pickle.loads(pickle.dumps(job))([segment(lattice)])
    assert ready.data == b"((('a',-1.0,1),),)\n"
    assert (ready.space, ready.losses) == (None, {"references": "segment 's1'"})
    ready = Target("plf", lossy=True, together=True).ready(lattice)
    assert (ready.data, ready.space) == (b"", lattice)


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
    format.write(together, spaces, Losses(name))
    assert b"".join(Target(name).ready(space).data for space in spaces) == together.getvalue()
