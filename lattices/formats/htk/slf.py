"""HTK Standard Lattice Format (SLF), as HTK, SRILM, Kaldi, PocketSphinx and Moses write it.

The score of a link is the header's formula, in natural logarithms::

    acscale a + ngscale n + lmscale l + prscale r + duscale ds + sum of xkscale xk + wdpenalty

where ``wdpenalty`` counts for real words only, scales not given are 1 (0 for ``duscale`` and
``xkscale``), and all of it is converted from the file's ``base``: e if absent, plain
probabilities if 0 or less. The terms stay apart as features (``acoustic``, ``ngram``,
``language``, ``pronunciation``, ``duration``, ``x1`` to ``x9``, ``words``, ``posterior``), and
``metadata["weights"]`` holds the header's scales by those names, so that
``lattice.reweighted(lattice.metadata["weights"])`` is the formula again.

Words stand on links or on nodes; what a link does not say is taken from the node it enters
(``dir=f``) or leaves (``dir=b``). ``!NULL`` is epsilon, and so are the sentence tags unless
``tags=keep``, or the comment ``# tags=keep`` stands in the file: it is written where the tags
are words. A word that begins with an apostrophe and does not end in one is no quotation
(``W='em``, PocketSphinx); ``quotes=none`` takes quotes and backslashes as they stand.

A node of PocketSphinx, whose files begin with a comment that says so, has the time at which its
word begins, not the one at which it ends, and the links that leave it have the acoustic score
of its word. Such files are read as ``dir=b``, so that arcs have the times of their words.

PocketSphinx writes acoustic scores and link posteriors but no language scores, so the
header's formula would rank its paths by acoustics alone. ``score=posterior`` sets

    score(link) = log(p(link) / sum of p over the links out of the same node)

The posterior of a node is the sum over the links out of it, so each ratio is the probability of
the link given that the path has come to its node; and as a decoder's distribution over the paths
of a lattice is a product over links, the product of these ratios along a path is the
probability of the path: the decoder's own distribution comes back, up to the digits printed.
A ``p`` below 1e-300, which includes the zeros that stand for less than was printed, counts as
1e-300. ``score=auto`` does this if every link has ``p``, none has a language score, and the
header has no scales.

Lattices one after the other, as ``convert_slf.pl`` of Kaldi prints them, are segments of one
file. Moses' word graphs are refused; its search graphs are read as follows.

Moses' ``-output-search-graph-slf`` (``OutputSearchGraphAsSLF`` in ``moses/Manager.cpp``) numbers
the nodes without writing them, starts in node 0 and ends in the last one. It gives every hypothesis
a node of its own, also those that were recombined into others, from which nothing goes on: so the
lattice is a tree but for its end, with dead ends in it, and has far fewer sentences than the search
graph (``moses-graph``) has. ``x1``, ``x2`` and so on are totals since the start of the sentence, on
the first word of a phrase; its other words have zeros. What a phrase adds is its total less that of
the phrase before it, and that is what a link has here, so that the header's formula gives the score
of a path. A hypothesis without words has no link, and the node of another; there is no telling
where.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Literal

import numpy as np

from lattices.arrays import Array, FloatColumn, floats, ints
from lattices.formats.base import BYTE_ORDER_MARK, Format, Record, Unsupported, note_losses
from lattices.formats.htk.links import (
    KEEP_TAGS,
    NULL,
    SCALES,
    TAGS,
    LineColumns,
    Tables,
    is_header_key,
    quote,
)
from lattices.options import Option
from lattices.spaces import Lattice, Space
from lattices.spaces.features import FeatureRows, make_rows
from lattices.spaces.lattice import build_lattice
from lattices.vocabulary import EPSILON, Vocabulary

_NAME = "Sentence_"


def is_search_graph(tables: Tables) -> bool:
    """Tell whether Moses wrote it: nodes that are announced, but not there."""
    named = tables.header.get("UTTERANCE", "").startswith(_NAME)
    return named and "NODES" in tables.header and not len(tables.nodes)


def boundaries(tables: Tables, index: Mapping[int, int]) -> tuple[int, int]:
    """Return the start and the end, which are the first number and the last."""
    last = tables.header_number("NODES", 0.0) - 1
    if 0 not in index or last not in index:
        raise tables.error(f"no link at node 0 or none at node {last:g}, the start and the end")
    return index[0], index[int(last)]


def differences(
    tables: Tables,
    columns: Mapping[str, FloatColumn],
    src: Array,
    dst: Array,
    start: int,
    end: int,
) -> dict[str, FloatColumn]:
    """Return what each link adds, given totals; in time linear in the links."""
    if not columns:
        return {}
    totals = np.nan_to_num(np.stack(list(columns.values()), axis=1), nan=0.0)
    filled = np.count_nonzero(totals, axis=1) > 0
    # the link that has the total of a node, the one that comes before all links at the start
    holder = {start: len(totals)}
    before = []
    for link, (tail, head) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        if tail not in holder or (head in holder and head != end):
            raise tables.error(
                "not a tree whose links come in order, so totals say nothing of links: Moses has "
                "numbered a node twice, or the file is damaged",
                tables.links.lines[link],
            )
        before.append(holder[tail])
        if head != end:
            holder[head] = link if filled[link] else holder[tail]
    known = np.vstack([totals, np.zeros(len(columns))])
    added = np.where(filled[:, np.newaxis], totals - known[before], 0.0)
    return {name: floats(added[:, place]) for place, name in enumerate(columns)}


def write_slf(stream: BinaryIO, lattice: Lattice, losses: Unsupported) -> None:
    """Write one lattice.

    Where it has several ends, or a score of ending, ``!NULL`` links lead to an added end node.
    """
    where = f"segment {lattice.id!r}"
    note_losses(lattice, losses, "features", "times", metadata=("weights", "header"))
    ends, links = _add_end_node(lattice)
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


def _add_end_node(lattice: Lattice) -> tuple[Array, list[tuple[int, int]]]:
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


def _columns(lattice: Lattice, ends: Array, losses: Unsupported, where: str) -> dict[str, Array]:
    """Return the features that have a key in SLF, one entry for each link."""
    if make_rows(lattice) is None and make_rows(lattice, "final_features") is None:
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


def _header(
    lattice: Lattice, scales: Mapping[str, float], losses: Unsupported, where: str
) -> list[str]:
    lines = ["VERSION=1.1"]
    if lattice.id:
        lines.append(f"UTTERANCE={quote(lattice.id)}")
    used = map(lattice.vocabulary.word, np.unique(lattice.label).tolist())
    if not TAGS.isdisjoint(word.encode() for word in used):
        lines.append(KEEP_TAGS.decode())
    kept = lattice.metadata.get("header")
    if isinstance(kept, Mapping):
        if not all(map(is_header_key, kept)):
            losses.add("header entries that mean something else", where)
        lines += [f"{key}={quote(str(kept[key]))}" for key in kept if is_header_key(key)]
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
    losses: Unsupported,
    where: str,
) -> list[str]:
    spelled = {0: NULL.decode()}
    for label in np.unique(lattice.label).tolist():
        if label:
            word = lattice.vocabulary.word(label)
            if word == spelled[0]:
                losses.add(f"words {word}", where)
            spelled[label] = quote(word)
    labels = [*lattice.label.tolist(), *[0] * (len(links) - lattice.num_arcs)]
    keys = {name: key.decode() for name, key, _ in SCALES.values() if key} | {"posterior": "p"}
    terms = {keys[name]: columns[name].tolist() for name in columns if name in keys}
    lines = []
    for link, (tail, head) in enumerate(links):
        values = "".join([f" {key}={column[link]!r}" for key, column in terms.items()])
        lines.append(f"J={link} S={tail} E={head} W={spelled[labels[link]]}{values}")
    return lines


POSTERIOR_FLOOR = 1e-300

_FIRST_LINE = re.compile(
    rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*(?:VERSION|V|UTTERANCE|U|NODES|N|LINKS|L|base|start|end"
    rb"|dir|tscale|lmname|ngname|vocab|hmms|wdpenalty|[a-z]{2}scale|x[1-9]scale)="
)
_NAMED = re.compile(rb"(?:VERSION|V|UTTERANCE|U)=")


class HTK(Format):
    """See the module."""

    name = "htk"
    description = "HTK SLF word lattices (HTK, SRILM, Kaldi's converter, PocketSphinx, Moses)"
    kind = "lattice"
    suffixes = (".slf", ".lat", ".htk")
    options: Mapping[str, str] = {
        "tags": Option(
            "what becomes of <s>, </s>, !SENT_START and !SENT_END", Literal["drop", "keep"]
        ),
        "score": Option("where the scores of links come from", ("auto", "header", "posterior")),
        "quotes": Option("whether quotes and backslashes are syntax", ("htk", "none")),
    }
    single = True
    concatenated = True
    exact = True

    def sniff(self, head: bytes) -> bool:
        """Tell whether the first line that is no comment sets a key of the header."""
        return _FIRST_LINE.match(head) is not None

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut before a header that follows nodes or links."""
        lines: list[bytes] = []
        first, number, filled = 1, 0, False
        for place, line in enumerate(stream, start=1):
            if place == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            if filled and line[:1] in b"VU" and _NAMED.match(line):
                yield Record(b"".join(lines), path, first, number)
                lines, first, number, filled = [], place, number + 1, False
            filled = filled or line[:2] in (b"J=", b"I=")
            lines.append(line)
        payload = b"".join(lines)
        if payload.strip():
            yield Record(payload, path, first, number)

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> Space:
        """Return the lattice, in time linear in the file."""
        reader = _Reader(record, options.get("quotes") != "none")
        tags = options.get("tags", "keep" if reader.tags_are_words else "drop")
        return reader.lattice(vocabulary, tags == "keep", options.get("score", "auto"))

    def write(
        self, stream: BinaryIO, spaces: Iterable[Space], losses: Unsupported, **options: Any
    ) -> None:
        """Write version 1.1, words on links, natural logarithms, every digit of a score."""
        for space in spaces:
            if isinstance(space, Lattice):
                write_slf(stream, space, losses)


FORMAT = HTK()


class _Reader(Tables):
    """The tables of one file, and the lattice made of them."""

    def lattice(self, vocabulary: Vocabulary, keep_tags: bool, wanted: str) -> Lattice:
        """Return the lattice of the tables."""
        src, dst, index = self._ends()
        from_moses = is_search_graph(self)
        if from_moses:
            start, end = boundaries(self, index)
        else:
            start = self._boundary("start", index, dst, src)
            end = self._boundary("end", index, src, dst)
        times = self._times()
        codes = self._codes(vocabulary, keep_tags)
        direction = self.header.get("dir", "b" if self.words_begin_at_nodes else "f")
        if direction not in ("f", "b"):
            raise self.error(f"dir={direction}, expected f or b")
        forward = direction == "f"
        outer = start if forward else end
        at_node, real_at_node, _ = self._labels(self.nodes, codes)
        if b"W" not in self.links.list_used_keys() and len(self.nodes) and at_node[outer]:
            # no link takes its word from the first node (dir=f) or the last (dir=b)
            extra = len(index)
            src = np.append(src, extra if forward else end)
            dst = np.append(dst, start if forward else extra)
            start, end = (extra, end) if forward else (start, extra)
            times = None if times is None else np.append(times, times[outer])
            self.links.append(self.nodes.lines[outer])
        states = max(len(index), start + 1, end + 1)

        at = dst if forward else src
        label, real, own = self._labels(self.links, codes)
        if len(self.nodes):
            # what a link does not say its node does
            label, real = (
                np.where(own, mine, others[at])
                for mine, others in ((label, at_node), (real, real_at_node))
            )
        columns, weights = self._features(at, real)
        if from_moses:
            columns = differences(self, columns, src, dst, start, end)
        metadata: dict[str, Any] = {"header": self.other_keys()}
        if self._score_by_posterior(columns, wanted):
            score = _conditional(columns["posterior"], src, states)
        else:
            score = np.zeros(len(src))
            for name in columns:
                score += weights[name] * _fill_gaps(columns[name])
            metadata["weights"] = weights
        final = np.full(states, -np.inf)
        final[end] = 0.0
        return build_lattice(
            vocabulary=vocabulary,
            src=ints(src),
            dst=ints(dst),
            label=ints(label),
            score=floats(score),
            final=floats(final),
            start=start,
            features=dense_rows(columns, len(src)) if columns else None,
            feature_names=tuple(columns),
            times=times,
            id=self.header.get("UTTERANCE", ""),
            metadata=metadata,
        )

    def _ends(self) -> tuple[Array, Array, dict[int, int]]:
        """Return the ends of the links as indexes of nodes, and the index of every name."""
        tails, heads = self.links.names(b"S"), self.links.names(b"E")
        names = self.nodes.names(b"I")
        if not len(self.nodes):
            names = np.unique(np.concatenate((tails, heads)))
        index = {name: number for number, name in enumerate(names.tolist())}
        if len(index) < len(names):
            name = next(name for place, name in enumerate(names.tolist()) if index[name] != place)
            raise self.error(f"a second node {name}", self.nodes.lines[index[name]])
        order = np.argsort(names, kind="stable").astype(np.int32)
        found = []
        for ends in (tails, heads):
            among = np.searchsorted(names, ends, sorter=order)
            places = order[np.minimum(among, len(names) - 1)]
            if (odd := names[places] != ends).any():
                place = int(np.argmax(odd))
                raise self.error(f"no node {ends[place]}", self.links.lines[place])
            found.append(places)
        return found[0], found[1], index

    def _boundary(self, key: str, index: Mapping[int, int], into: Array, out: Array) -> int:
        """Return the start (or end) node: the header's, or the one that no link enters (leaves)."""
        if key in self.header:
            name = self.header_number(key, 0.0)
            if name not in index:
                raise self.error(f"{key}={self.header[key]} is not a node")
            return index[int(name)]
        if len(index) == 1:
            return 0
        # a node without any link is neither: it is simply not connected
        found = np.setdiff1d(out, into)
        if len(found) != 1:
            names = list(index)
            shown = ", ".join(str(names[node]) for node in found[:5].tolist()) or "none"
            raise self.error(f"no {key}= in the header, and not one node that could be it: {shown}")
        return int(found[0])

    def _times(self) -> FloatColumn | None:
        """Return the times of the nodes, if they all have one."""
        if b"t" not in self.nodes.list_used_keys():
            return None
        times = self.nodes.numbers(b"t") * self.header_number("tscale", 1.0)
        return None if np.isnan(times).any() else floats(times)

    def _codes(self, vocabulary: Vocabulary, keep_tags: bool) -> dict[bytes, int]:
        """Return the label of every word of the file, read once however often it occurs."""
        codes = {NULL: EPSILON}
        for rows in (self.nodes, self.links):
            words, which = rows.words()
            for number, word in enumerate(words):
                if word in codes:
                    continue
                if word in TAGS and not keep_tags:
                    codes[word] = EPSILON
                    continue
                line = 0 if word.isascii() else rows.lines[int(np.argmax(which == number))]
                codes[word] = vocabulary.add(self.text(word, line))
        return codes

    def _labels(self, rows: LineColumns, codes: Mapping[bytes, int]) -> tuple[Array, Array, Array]:
        """Return the label of every line, whether that is a real word, and if there is any."""
        words, which = rows.words()
        # the last entry: lines without a word
        label = np.array([*map(codes.__getitem__, words), EPSILON], np.int32)
        real = np.array([*(bool(codes[word]) and word not in TAGS for word in words), False])
        return label[which], real[which], which >= 0

    def _features(self, at: Array, real: Array) -> tuple[dict[str, FloatColumn], dict[str, float]]:
        """Return the terms of the score by name, in natural logarithms, and their weights."""
        base = self.header_number("base", math.e)
        if base == 1.0:
            raise self.error("base=1 is no base of logarithms")
        on_links, on_nodes = self.links.list_used_keys(), self.nodes.list_used_keys() - {b"n", b"l"}
        columns: dict[str, FloatColumn] = {}
        weights: dict[str, float] = {}
        for scale, (name, key, default) in self.scales().items():
            if key in on_nodes:
                column = self.nodes.numbers(key)[at]
                if key in on_links:
                    own = self.links.numbers(key)
                    column = np.where(np.isnan(own), column, own)
            elif key in on_links:
                column = self.links.numbers(key)
            else:
                continue
            columns[name] = self._to_natural_log(column, base)
            weights[name] = self.header_number(scale, default)
        penalty = self.header_number("wdpenalty", 0.0)
        # a penalty of 0 is a parameter that may be tuned; a probability of 0 is not
        if penalty or ("wdpenalty" in self.header and base > 0.0):
            columns["words"] = floats(real)
            weights["words"] = float(self._to_natural_log(np.array([penalty]), base)[0])
        if b"p" in on_links:
            columns["posterior"] = self.links.numbers(b"p")
            weights["posterior"] = 0.0
        return columns, weights

    def _to_natural_log(self, column: Array, base: float) -> FloatColumn:
        """Return natural logarithms of log-scores of any base, or of probabilities."""
        if base == math.e:
            return floats(column)
        if base > 0.0:
            return floats(column * math.log(base))
        if (column <= 0.0).any():
            raise self.error(f"base={base:g} makes scores probabilities, and one is not above 0")
        return floats(np.log(column))

    def _score_by_posterior(self, columns: Mapping[str, FloatColumn], wanted: str) -> bool:
        complete = "posterior" in columns and not np.isnan(columns["posterior"]).any()
        if wanted == "posterior" and not complete:
            raise self.error("score=posterior, but not every link has p=")
        silent = not ({"ngram", "language"} & columns.keys() or SCALES.keys() & self.header.keys())
        return wanted == "posterior" or (wanted == "auto" and complete and silent)


def _conditional(posterior: FloatColumn, src: Array, states: int) -> FloatColumn:
    """Return the log-probability of each link given its source node."""
    floored = np.maximum(posterior, POSTERIOR_FLOOR)
    total = np.bincount(src, weights=floored, minlength=states)
    return floats(np.log(floored) - np.log(total[src]))


def _fill_gaps(column: FloatColumn) -> FloatColumn:
    """Return the column with 0 for what a link does not say."""
    return floats(np.where(np.isnan(column), 0.0, column))


def dense_rows(columns: Mapping[str, FloatColumn], rows: int) -> FeatureRows:
    """Return the features of links, which all have the same few fields."""
    some = [_fill_gaps(column) for column in columns.values()]
    return FeatureRows.dense(np.stack(some, axis=1) if some else np.empty((rows, 0)))
