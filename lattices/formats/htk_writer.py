"""The writing half of :mod:`lattices.formats.htk`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from lattices.arrays import Array
from lattices.formats.base import Losses
from lattices.formats.htk_lines import KEEP_TAGS, NULL, SCALES, TAGS, is_header_key, quoted
from lattices.spaces import Lattice


def write_slf(stream: BinaryIO, lattice: Lattice, losses: Losses) -> None:
    """Write one lattice.

    SLF has one end node and neither scores nor features of ending. If that is not how the
    lattice ends, a node is added, with ``!NULL`` links into it that carry them. Where the header's
    formula over the features does not give the scores, the scores are written as one term
    more, and the others get a scale of 0.
    """
    where = f"segment {lattice.id!r}"
    for what in ("source", "references"):
        if getattr(lattice, what):
            losses.add(what if what == "references" else "source texts", where)
    if set(lattice.metadata) - {"weights", "header"}:
        losses.add("metadata", where)

    ends, links = _with_one_end(lattice)
    columns = _columns(lattice, ends, losses, where)
    score = np.concatenate([lattice.score, lattice.final[ends]]) if len(ends) else lattice.score
    scales = _scales(lattice.metadata.get("weights"), columns, score)
    if scales is None:
        scales = dict.fromkeys(columns, 0.0)
        free = [name for name, key, _ in SCALES.values() if key and name not in columns]
        slot = next((name for name in ("acoustic", *free[::-1]) if name in free), "")
        if not slot:
            losses.add("features", where)
            columns, scales, slot = {}, {}, "acoustic"
        columns[slot], scales[slot] = score, 1.0
    header = _header(lattice, scales, losses, where)
    end = lattice.num_states if len(ends) else int(lattice.finals[0])
    nodes = lattice.num_states + bool(len(ends))
    lines = [*header, f"start={lattice.start} end={end}", f"N={nodes} L={len(links)}"]
    lines += _node_lines(lattice, nodes)
    lines += _link_lines(links, columns, lattice, losses, where)
    stream.write(("\n".join(lines) + "\n").encode("utf-8"))


def _with_one_end(lattice: Lattice) -> tuple[Array, list[tuple[int, int]]]:
    """Return the final states that need a link to an added end node, and all links."""
    finals = lattice.finals
    last = int(finals[0])
    leaves = int(lattice.out_offset[last + 1] - lattice.out_offset[last])
    links = list(zip(lattice.src.tolist(), lattice.dst.tolist(), strict=True))
    features = lattice.final_features
    bare = lattice.final[last] == 0.0 and (features is None or not features[[last]].data.any())
    if len(finals) == 1 and not leaves and bare:
        return finals[:0], links
    links += [(state, lattice.num_states) for state in finals.tolist()]
    return finals, links


def _columns(lattice: Lattice, ends: Array, losses: Losses, where: str) -> dict[str, Array]:
    """Return the features that have a key in SLF, one entry for each link."""
    if lattice.features is None and lattice.final_features is None:
        return {}
    known = {name for name, _, _ in SCALES.values()} | {"posterior"}
    unknown = [name for name in lattice.feature_names if name not in known]
    if unknown:
        losses.add(f"features {', '.join(unknown)}", where)
    dense = np.zeros((lattice.num_arcs, len(lattice.feature_names)))
    if lattice.features is not None:
        dense = lattice.features.toarray()
    if len(ends):
        last = np.zeros((len(ends), len(lattice.feature_names)))
        if lattice.final_features is not None:
            last = lattice.final_features[ends].toarray()
        dense = np.concatenate([dense, last])
    columns = {
        name: dense[:, place] for place, name in enumerate(lattice.feature_names) if name in known
    }
    if "words" in columns:
        # a penalty in the header counts real words, and that is all it can count
        words = ["", *lattice.vocabulary]
        real = [bool(label) and words[label].encode() not in TAGS for label in lattice.label]
        if not np.array_equal(columns["words"], [*map(float, real), *np.zeros(len(ends))]):
            losses.add("features words", where)
            del columns["words"]
    return columns


def _scales(weights: Any, columns: Mapping[str, Array], score: Array) -> dict[str, float] | None:
    """Return the weights the lattice was read with, if they still give its scores."""
    if not isinstance(weights, Mapping) or not columns.keys() <= weights.keys():
        return None
    scales = {name: float(weights[name]) for name in columns}
    if scales.get("posterior"):
        return None
    total = sum((scales[name] * columns[name] for name in columns), start=np.zeros(len(score)))
    return scales if np.array_equal(total, score) else None


def _header(lattice: Lattice, scales: Mapping[str, float], losses: Losses, where: str) -> list[str]:
    lines = ["VERSION=1.1"]
    if lattice.id:
        lines.append(f"UTTERANCE={quoted(lattice.id)}")
    used = map(lattice.vocabulary.word, np.unique(lattice.label).tolist())
    if not TAGS.isdisjoint(word.encode() for word in used):
        lines.append(KEEP_TAGS.decode())
    kept = lattice.metadata.get("header")
    if isinstance(kept, Mapping):
        if not all(map(is_header_key, kept)):
            losses.add("header entries that mean something else", where)
        lines += [f"{key}={quoted(str(kept[key]))}" for key in kept if is_header_key(key)]
    lines.append(f"base={math.e!r}")
    # every scale is given, also where it is the default: the header says how to score; but a
    # penalty, for what has no key, makes a feature of the words
    lines += [
        f"{scale}={scales.get(name, default)!r}"
        for scale, (name, key, default) in SCALES.items()
        if key or name in scales
    ]
    return lines


def _node_lines(lattice: Lattice, nodes: int) -> list[str]:
    if lattice.times is None:
        return [f"I={node}" for node in range(nodes)]
    times = lattice.times.tolist()
    if nodes > len(times):
        times.append(float(lattice.times[lattice.finals].max()))
    return [f"I={node} t={time!r}" for node, time in enumerate(times)]


def _link_lines(
    links: list[tuple[int, int]],
    columns: Mapping[str, Array],
    lattice: Lattice,
    losses: Losses,
    where: str,
) -> list[str]:
    spelled = {0: NULL.decode()}
    for label in np.unique(lattice.label).tolist():
        if label:
            word = lattice.vocabulary.word(label)
            if word == spelled[0]:
                losses.add(f"words {word}", where)
            spelled[label] = quoted(word)
    labels = [*lattice.label.tolist(), *[0] * (len(links) - lattice.num_arcs)]
    keys = {name: key.decode() for name, key, _ in SCALES.values() if key} | {"posterior": "p"}
    terms = {keys[name]: columns[name].tolist() for name in columns if name in keys}
    lines = []
    for link, (tail, head) in enumerate(links):
        values = "".join([f" {key}={column[link]!r}" for key, column in terms.items()])
        lines.append(f"J={link} S={tail} E={head} W={spelled[labels[link]]}{values}")
    return lines
