"""What the tests of formats share: comparing spaces part by part, and writing small files."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np

from lattices.errors import FormatError
from lattices.formats import read
from lattices.formats.base import Format, Unsupported
from lattices.spaces import Forest, Lattice, Space


def by_name(matrix: Any, names: tuple[str, ...], rows: int) -> list[dict[str, float]]:
    """Return the non-zero features of every row; None stands for no features at all."""
    if matrix is None:
        return [{} for _ in range(rows)]
    return [
        {names[column]: value for column, value in enumerate(row) if value}
        for row in matrix.toarray().tolist()
    ]


def parts(space: Space) -> dict[str, Any]:
    """Return everything a space holds, as plain objects that compare."""
    common = {
        "id": space.id,
        "source": space.source,
        "references": [parts(one) if isinstance(one, Lattice) else one for one in space.references],
        "metadata": dict(space.metadata),
        "names": space.feature_names,
        "score": space.score.tolist(),
    }
    rows = len(space.score)
    if isinstance(space, Forest):
        return {
            **common,
            **hypergraph(space),
            "features": by_name(space.features, space.feature_names, rows),
        }
    if not isinstance(space, Lattice):
        entries = [space.tokens(entry) for entry in range(rows)]
        features = by_name(space.features, space.feature_names, rows)
        return {**common, "entries": entries, "features": features}
    return {
        **common,
        **structure(space),
        "features": by_name(space.features, space.feature_names, rows),
        "final_features": by_name(space.final_features, space.feature_names, space.num_states),
        "times": None if space.times is None else space.times.tolist(),
    }


def hypergraph(forest: Forest) -> dict[str, Any]:
    """Return nodes, edges and target sides."""
    words = ["", *forest.vocabulary]
    return {
        "head": forest.head.tolist(),
        "tail": forest.tail.tolist(),
        "tail_offset": forest.tail_offset.tolist(),
        "symbols": [words[each] if each > 0 else each for each in forest.symbol.tolist()],
        "symbol_offset": forest.symbol_offset.tolist(),
        "nodes": forest.num_nodes,
        "root": forest.root,
        "categories": forest.categories,
        "spans": None if forest.spans is None else forest.spans.tolist(),
    }


def structure(lattice: Lattice) -> dict[str, Any]:
    """Return states, arcs, words and scores."""
    return {
        "src": lattice.src.tolist(),
        "dst": lattice.dst.tolist(),
        "words": [lattice.vocabulary.word(label) for label in lattice.label.tolist()],
        "score": lattice.score.tolist(),
        "final": lattice.final.tolist(),
        "start": lattice.start,
    }


def written(fmt: Format, *spaces: Space, lossy: bool = False) -> bytes:
    """Return the bytes of a file."""
    buffer = io.BytesIO()
    fmt.write(buffer, spaces, Unsupported(fmt.name, lossy))
    return buffer.getvalue()


def read_bytes(folder: Path, data: bytes, fmt: str | None, name: str = "f", **options: Any) -> Any:
    """Return what a file with these bytes holds."""
    path = folder / name
    path.write_bytes(data)
    return list(read(path, fmt, **options))


def problems(folder: Path, data: bytes, fmt: str, **options: Any) -> tuple[list[Space], list[str]]:
    """Return the good segments, and the messages of the bad ones without the folder."""
    path = folder / "f"
    path.write_bytes(data)
    found: list[FormatError] = []
    spaces = list(read(path, fmt, on_error=found.append, **options))
    return spaces, [str(one).replace(f"{path}:", "") for one in found]


def best_score(lattice: Lattice) -> float:
    """Return the score of the best path, by one pass in plain Python."""
    best = [-np.inf] * lattice.num_states
    best[lattice.start] = 0.0
    columns = lattice.src.tolist(), lattice.dst.tolist(), lattice.score.tolist()
    for src, dst, score in zip(*columns, strict=True):
        best[dst] = max(best[dst], best[src] + score)
    return float(max(np.array(best) + lattice.final))


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def words(lattice: Lattice) -> list[str]:
    """Return the word of every arc, empty for epsilon."""
    return [lattice.vocabulary.word(label) for label in lattice.label.tolist()]
