"""Small random search spaces, and all of their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from random import Random
from typing import NamedTuple

Features = Mapping[str, float]
Sentence = tuple[str, ...]

#: enumeration stays fast, and k best can ask for all
MOST_PATHS = 40
FEATURES = ("lm", "tm", "wp_0")


class Path(NamedTuple):
    """A path, derivation or entry: what it says, and what it is made of.

    ``parts`` are the arcs, edges or entries; ``end`` is the final state of a lattice.
    """

    words: Sentence
    score: float
    features: dict[str, float]
    parts: tuple[int, ...]
    end: int


class Part(NamedTuple):
    """An arc, an edge or an entry.

    An arc goes from ``at`` to ``tails[0]``, with one word or none. An edge makes the node ``at``
    of ``tails``, whose places among the words are numbers. An entry is a sentence.
    """

    at: int
    tails: tuple[int, ...]
    words: tuple[str | int, ...]
    score: float
    features: Features


@dataclass(frozen=True)
class Segment:
    """A lattice, forest or list with its references; or one that cannot be used.

    Attributes
    ----------
    kind : {"lattice", "forest", "nbest", "broken"}
        What is broken is no record of its format.
    size, start : int
        States and the start of a lattice, nodes and the root of a forest. Arcs lead to higher
        states, and edges to higher nodes.
    finals : mapping
        From each final state to its score and features.
    """

    id: str
    kind: str
    parts: tuple[Part, ...] = ()
    size: int = 1
    start: int = 0
    finals: Mapping[int, tuple[float, Features]] = field(default_factory=dict)
    references: tuple[Sentence, ...] = ()

    def paths(self) -> list[Path]:
        """Return all paths, derivations or entries."""
        if self.kind == "lattice":
            return list(self._from(self.start, (), 0.0, {}, ()))
        if self.kind == "forest":
            return self._derivations()
        if self.kind == "broken":
            return []
        return [
            Path(words_of(part), part.score, dict(part.features), (place,), 0)
            for place, part in enumerate(self.parts)
        ]

    def _from(
        self, state: int, words: Sentence, score: float, features: Features, arcs: tuple[int, ...]
    ) -> Iterator[Path]:
        if state in self.finals:
            last, more = self.finals[state]
            yield Path(words, score + last, added(features, more), arcs, state)
        for place, part in enumerate(self.parts):
            if part.at == state:
                yield from self._from(
                    part.tails[0],
                    words + words_of(part),
                    score + part.score,
                    added(features, part.features),
                    (*arcs, place),
                )

    def _derivations(self) -> list[Path]:
        of_node: dict[int, list[Path]] = {}
        for node in range(self.size):
            of_node[node] = []
            for place, part in enumerate(self.parts):
                if part.at != node:
                    continue
                for below in product(*(of_node[tail] for tail in part.tails)):
                    words: list[str] = []
                    for each in part.words:
                        words += (each,) if isinstance(each, str) else below[each].words
                    features: Features = part.features
                    for one in below:
                        features = added(features, one.features)
                    of_node[node].append(
                        Path(
                            tuple(words),
                            part.score + sum(one.score for one in below),
                            dict(features),
                            (place, *(edge for one in below for edge in one.parts)),
                            0,
                        )
                    )
        return of_node[self.start]

    def rescored(self, weights: Features) -> Segment:
        """Return the segment whose scores are the weighted sums of its features."""
        return replace(
            self,
            parts=tuple(
                part._replace(score=weighted(part.features, weights)) for part in self.parts
            ),
            finals={
                state: (weighted(features, weights), features)
                for state, (_, features) in self.finals.items()
            },
        )

    def feature_names(self) -> set[str]:
        """Return the features that occur somewhere."""
        rows = [part.features for part in self.parts]
        rows += [features for _, features in self.finals.values()]
        return {name for row in rows for name in row}

    def smaller(self) -> Iterator[Segment]:
        """Iterate over what is left without a part, a reference or features, if it is usable."""
        for place in range(len(self.parts)):
            less = replace(self, parts=self.parts[:place] + self.parts[place + 1 :])
            if less.paths():
                yield less
        if len(self.references) > 1:
            for place in range(len(self.references)):
                rest = self.references[:place] + self.references[place + 1 :]
                yield replace(self, references=rest)


def words_of(part: Part) -> Sentence:
    """Return the words of an arc or entry."""
    return tuple(word for word in part.words if isinstance(word, str))


def added(features: Features, others: Features) -> dict[str, float]:
    """Return the sum of two rows of features."""
    total = dict(features)
    for name, value in others.items():
        total[name] = total.get(name, 0.0) + value
    return total


def weighted(features: Features, weights: Features) -> float:
    """Return features @ weights; what has no weight counts nothing."""
    return sum(weights.get(name, 0.0) * value for name, value in features.items())


class Drawing:
    """Draws segments of one command: the same words, the same kind of scores.

    Parameters
    ----------
    rng : Random
    words : sequence of str
    features : bool
        Whether parts have features; some of them have none even then.
    """

    def __init__(self, rng: Random, words: Sequence[str], features: bool) -> None:
        self.rng = rng
        self.words = words
        self.features = features
        # quarters make ties, sums without rounding; zeros make nothing but ties
        self.scale = rng.choice(("quarters", "quarters", "any", "any", "zero", "large"))

    def score(self) -> float:
        """Draw a score."""
        if self.scale == "zero":
            return 0.0
        if self.scale == "quarters":
            return self.rng.randint(-8, 4) / 4
        if self.scale == "large":
            return self.rng.uniform(-1500.0, -1000.0)
        return self.rng.uniform(-4.0, 2.0)

    def row(self) -> Features:
        """Draw the features of a part."""
        if not self.features:
            return {}
        some = self.rng.sample(FEATURES, self.rng.randint(0, len(FEATURES)))
        return {name: self.rng.randint(-8, 4) / 4 for name in some}

    def sentence(self, longest: int = 5, unknown: bool = True) -> Sentence:
        """Draw a reference, or an entry of a list."""
        words = [*self.words, "xyz"] if unknown else self.words
        length = self.rng.randint(0, longest) if self.rng.random() < 0.9 else 0
        return tuple(self.rng.choice(words) for _ in range(length))

    def references(self, count: int, path: Sentence) -> tuple[Sentence, ...]:
        """Draw references, some of them near to a sentence of the space."""
        found = []
        for _ in range(count):
            if self.rng.random() < 0.5:
                found.append(self.sentence(self.rng.choice((5, 5, 12))))
                continue
            near = list(path)
            for _ in range(self.rng.randint(0, 2)):
                place = self.rng.randint(0, len(near))
                near[place : place + self.rng.randint(0, 1)] = self.sentence(1)
            found.append(tuple(near))
        return tuple(found)

    def segment(self, id: str, kind: str, references: int) -> Segment:
        """Draw a segment of a kind."""
        while True:
            made: Segment = getattr(self, f"_{kind}")(id)
            paths = made.paths()
            if 0 < len(paths) <= MOST_PATHS:
                near = self.rng.choice(paths).words
                return replace(made, references=self.references(references, near))

    def _lattice(self, id: str) -> Segment:
        rng = self.rng
        states = rng.randint(1, rng.choice((6, 6, 10)))
        spine = sorted(rng.sample(range(1, states), rng.randint(0, states - 1)))
        ends = list(pairwise([0, *spine]))
        if states > 1:
            for _ in range(rng.randint(0, 7)):
                source = rng.randint(0, states - 2)
                ends.append((source, rng.randint(source + 1, states - 1)))
        rng.shuffle(ends)
        parts = []
        for source, target in ends:
            words = (rng.choice(self.words),) if rng.random() < 0.85 else ()
            parts.append(Part(source, (target,), words, self.score(), self.row()))
        if parts and rng.random() < 0.3:
            parts.append(rng.choice(parts))
        finals = {(spine or [0])[-1]: (self.score(), self.row())}
        if rng.random() < 0.3:
            finals[rng.randrange(states)] = (self.score(), self.row())
        return Segment(id, "lattice", tuple(parts), states, 0, finals)

    def _forest(self, id: str) -> Segment:
        rng = self.rng
        nodes = rng.randint(1, 4)
        parts = []
        for node in range(nodes):
            for _ in range(rng.randint(1, 3)):
                tails = [rng.randrange(node) for _ in range(rng.randint(0, 2))] if node else []
                side: list[str | int] = [*range(len(tails))]
                side += [rng.choice(self.words) for _ in range(rng.randint(0, 2))]
                rng.shuffle(side)
                parts.append(Part(node, tuple(tails), tuple(side), self.score(), self.row()))
        if rng.random() < 0.3:
            parts.append(rng.choice(parts))
        return Segment(id, "forest", tuple(parts), nodes, nodes - 1)

    def _nbest(self, id: str) -> Segment:
        rng = self.rng
        parts: list[Part] = []
        for _ in range(rng.randint(1, 8)):
            words = self.sentence(7, unknown=False)
            if parts and rng.random() < 0.2:
                words = words_of(rng.choice(parts))
            parts.append(Part(0, (), words, self.score(), self.row()))
        return Segment(id, "nbest", tuple(parts))
