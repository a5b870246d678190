"""What the tests of forest formats share: random forests, and what two forests have in common."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from lattices.formats import FORMATS, parse_record, read
from lattices.formats.base import Format, Unsupported
from lattices.formats.forests.cdec import FORMAT as CDEC
from lattices.formats.forests.hypergraph import FORMAT as HYPERGRAPH
from lattices.formats.forests.joshua import FORMAT as JOSHUA
from lattices.formats.forests.travatar import FORMAT as TRAVATAR
from lattices.formats.json.lines import FORMAT as JSON_LINES
from lattices.options import take_options
from lattices.spaces import Forest
from lattices.vocabulary import Vocabulary

FOREST_FORMATS = (CDEC, HYPERGRAPH, JOSHUA, TRAVATAR)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
#: words that every format can hold, and some that are near to what none can
WORDS = ["the", "cat's", "[x]", "日本語", "a\u00a0b", "1", "]", "||", "#", "{", '"', "a=1", "\\"]


@st.composite
def small_forests(draw: st.DrawFn, words: list[str] = WORDS, rich: bool = False) -> Forest:
    """Return a forest with a hundred derivations at most; a rich one has all that forests can."""
    nodes = draw(st.integers(1, 3))
    names = draw(st.lists(st.sampled_from(["lm", "tm=a", "p;q", "é"]), max_size=2, unique=True))
    rows: list[tuple[Any, ...]] = []
    for node in range(nodes):
        for _ in range(draw(st.integers(1, 2))):
            tails = draw(st.lists(st.integers(0, node - 1), max_size=2)) if node else []
            side: list[str | int] = draw(st.lists(st.sampled_from(words), max_size=2))
            side = draw(st.permutations([*side, *range(len(tails))]))
            row = {name: draw(NUMBERS) for name in names if draw(st.booleans())}
            rows.append((node, tails, side, draw(NUMBERS), row))
    about: dict[str, Any] = {"id": draw(st.sampled_from(["a", "x-1.2", "日"]))}
    if rich:
        spans = [[draw(st.integers(0, 5)), draw(st.integers(5, 9))] for _ in range(nodes)]
        about |= {
            "id": draw(TEXT.filter(bool)),
            "root": draw(st.integers(0, nodes - 1)),
            "nodes": nodes + draw(st.integers(0, 1)),
            "source": draw(TEXT),
            "references": tuple(draw(st.lists(TEXT, max_size=2))),
            "metadata": draw(st.dictionaries(st.sampled_from(["hyp", "é"]), TEXT | NUMBERS)),
            "feature_names": draw(st.permutations(names)),
        }
        if about["nodes"] == nodes:
            about["categories"] = draw(st.just(()) | st.lists(TEXT, min_size=nodes, max_size=nodes))
            about["spans"] = draw(st.none() | st.just(spans))
    return Forest.from_edges(rows, **about)


def derived(forest: Forest) -> Counter[tuple[tuple[str, ...], float, frozenset[Any]]]:
    """Return words, score and features of every derivation, to some digits."""
    return Counter(
        (
            found.tokens,
            float(f"{found.score:.5g}"),
            frozenset((name, float(f"{value:.5g}")) for name, value in found.features.items()),
        )
        for found in forest.derivations()
    )


def parsed(fmt: Format, data: bytes | str, **options: Any) -> Forest:
    """Return the only forest of these bytes."""
    payload = data.encode() if isinstance(data, str) else data
    (record,) = fmt.records(io.BytesIO(payload), "f")
    found = parse_record(fmt, record, Vocabulary(), **options)
    assert isinstance(found, Forest)
    return found


def written(fmt: Format, forest: Forest, lossy: bool = False, **options: Any) -> bytes:
    """Return the bytes of a file."""
    buffer = io.BytesIO()
    fmt.write(
        buffer,
        [forest],
        Unsupported(fmt.name, lossy),
        **take_options(fmt.write_options, options, fmt.name),
    )
    return buffer.getvalue()


def again(fmt: Format, forest: Forest, lossy: bool = False, **options: Any) -> Forest:
    """Return what is read of what is written."""
    return parsed(fmt, written(fmt, forest, lossy), **options)


def chain(depth: int) -> Forest:
    """Return a forest so deep that no recursion would get through it."""
    edges: list[tuple[Any, ...]] = [(0, [], ["a"], -0.5)]
    edges += [(node, [node - 1], [0, "b"], -0.25) for node in range(1, depth)]
    return Forest.from_edges(edges, id="deep")


def claims(data: bytes) -> set[str]:
    """Return the formats that take a file that begins so for their own."""
    known = {name: FORMATS.get(name) for name in FORMATS.names()}
    known |= {fmt.name: fmt for fmt in FOREST_FORMATS}
    return {name for name, fmt in known.items() if fmt.sniff(data)}


def real_forests(folder: Path, name: str) -> list[Forest]:
    """Return forests of real decoders: ``d10``, ``d50``, or one of cdec's by its name."""
    if name in ("d10", "d50"):
        found = list(
            read(folder / "multi30k-deen" / f"hiero150.de-en.forest.{name}.jsonl.gz", JSON_LINES)
        )
    else:
        found = list(read(folder / "cdec-forests" / f"{name}.json.gz", CDEC))
    return [forest for forest in found if isinstance(forest, Forest)]
