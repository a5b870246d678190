"""Bllip: how many dependencies a translation shares with a reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fstmetrics.dependency.parses import Bag, Parse, Parser, ParseTable, load_parser, load_parses
from fstmetrics.references import Reference, check_references, split_tokens
from fstmetrics.signature import Signature, option
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import Lattice

if TYPE_CHECKING:
    from fstmetrics.similarity.affix import Similarity

MEANS = ("geometric", "f1")
CHOICES = ("best", "mean", "worst", "any")


def bllip_score(
    bag: Bag,
    references: Sequence[Bag],
    *,
    mean: str = "geometric",
    reference: str = "best",
    similarity: Similarity | None = None,
) -> float:
    """Return the score of a bag of dependencies against those of the references.

    See :class:`Bllip`.

    Examples
    --------
    >>> candidate = Parse(("it", "rains", "again"), (2, 0, 2)).bag()
    >>> bllip_score(candidate, [Parse(("it", "rains"), (2, 0)).bag()]) == 2 / (3 * 2) ** 0.5
    True
    """
    if not references:
        raise OptionError("a segment needs at least one reference")
    return float(_row(bag, references, mean, reference, similarity)[3])


def _score(matches: float, possible: float, reference: float, mean: str) -> float:
    """Return the mean of precision and recall; two empty sentences are right."""
    if possible == 0 or reference == 0:
        return float(possible == reference)
    if mean == "f1":
        return 2.0 * matches / (possible + reference)
    return matches / math.sqrt(possible * reference)


def _precision(matches: float, possible: float, reference: float) -> float:
    """Return the precision with BLEU's brevity penalty; two empty sentences are right."""
    if possible == 0:
        return float(reference == 0)
    return matches / possible * min(1.0, math.exp(1.0 - reference / possible))


def _count_matches(bag: Bag, other: Bag, similarity: Similarity | None) -> float:
    """Return the size of what two bags share, or the weight of their best one-to-one matching."""
    if similarity is None or not (bag and other):
        return sum(min(count, other[pair]) for pair, count in bag.items())
    from scipy.optimize import linear_sum_assignment

    from fstmetrics.similarity.affix import check_matrix

    own, others = [*bag.elements()], [*other.elements()]
    weight = np.ones((len(own), len(others)))
    for side in (0, 1):
        # the head of a root is like that of another root alone
        words, known = ([pair[side] or "" for pair in some] for some in (own, others))
        alike = check_matrix(similarity, tuple(words), tuple(known)).copy()
        equal = np.equal.outer(np.array(words), np.array(known))
        blank = np.logical_or.outer(np.array(words) == "", np.array(known) == "")
        weight *= np.where(equal, 1.0, np.where(blank, 0.0, alike))
    places = linear_sum_assignment(weight, maximize=True)
    return float(weight[places].sum())


def _row(
    bag: Bag,
    references: Sequence[Bag],
    mean: str,
    reference: str,
    similarity: Similarity | None,
) -> FloatColumn:
    if reference == "any":
        # as often as the reference that has it most often
        union: Bag = reduce(or_, references)
        size, matches = bag.total(), _count_matches(bag, union, similarity)
        closest = min((other.total() for other in references), key=lambda n: (abs(n - size), n))
        return floats([matches, size, closest, _precision(matches, size, closest), 1.0])
    rows = []
    for other in references:
        matches = _count_matches(bag, other, similarity)
        sizes = bag.total(), other.total()
        rows.append([matches, *sizes, _score(matches, *sizes, mean), 1.0])
    if reference == "mean":
        total = np.sum(rows, axis=0)
        return floats([*total[:3], total[3] / len(rows), 1.0])
    # max() and min() keep the first of equals
    return floats((max if reference == "best" else min)(rows, key=lambda row: row[3]))


@dataclass(frozen=True, kw_only=True)
class Bllip(Signature):
    """Bllip: precision and recall of dependencies.

    ``m / sqrt(|D_c| |D_r|)``, where D_c and D_r are the bags of (head word, dependent word)
    of candidate and reference, that of the root included, and m is the size of what they
    share. The text of the paper says matches over possible matches; its twenty listed
    scores all are this geometric mean of precision and recall, with as many dependencies as
    tokens. Its example needs a match of `In` and `in`, so words are compared in lower case.

    The dependencies come from a file of parses, in which every hypothesis and every reference
    must be found, or from a parser that is asked for each of them. Costs O(words) once a
    sentence is parsed. No machine: the parse depends on the whole sentence.

    The score of a corpus is the mean of the segments' scores, which is what the paper
    reports; ``pooled`` makes it the score of the summed counts.

    Parameters
    ----------
    parses : str or ParseTable
        Files that :func:`fstmetrics.dependency.parses.load_parses` reads, or the table itself.
    parser : str or callable
        ``NAME`` or ``NAME:MODEL`` of a registered parser, as in ``spacy:en_core_web_sm``, or a
        function from tokens to heads.
    mean : {"geometric", "f1"}
        Of precision and recall; ``f1`` is the harmonic one, ``2m / (|D_c| + |D_r|)``.
    reference : {"best", "mean", "worst", "any"}
        What several references give. Pooled, ``mean`` counts all of them. With ``any``, which the
        paper names and does not try, a dependency matches if any reference has it, as often as the
        reference that has it most often. That leaves no recall, so the score is precision
        times BLEU's brevity penalty, with the closest number of dependencies; ``mean`` has no say.
    similarity : Similarity, optional
        By which words may match in part, as in ``bllip:similarity=affix(epsilon=0.5)``; the paper
        proposes it for words that are chosen otherwise. Dependencies are matched one to one so that
        the sum of similarities, head times dependent, is largest. Equal words have 1.
    pooled : bool
    lowercase : bool

    References
    ----------
    Pozar and Charniak. Bllip: an improved evaluation metric for machine translation. Brown
    University 2006.

    Examples
    --------
    >>> table = ParseTable([
    ...     Parse(("he", "has", "a", "ball"), (2, 0, 4, 2)),
    ...     Parse(("he", "has", "two", "balls"), (2, 0, 4, 2)),
    ... ])
    >>> evaluator = Bllip(parses=table).against(["he has a ball"])
    >>> evaluator.score("he has two balls")
    0.5
    """

    name: ClassVar[str] = "bllip"
    heading: ClassVar[str] = "Bllip"
    higher_is_better: ClassVar[bool] = True
    stat_names: ClassVar[tuple[str, ...]] = (
        "matches", "dependencies", "reference dependencies", "score", "segments"
    )  # fmt: skip
    parses: str | ParseTable = field(default="")
    parser: str | Parser = field(default="")
    mean: str = option("geometric", always=True)
    reference: str = option("best", always=True)
    pooled: bool = option(False)
    lowercase: bool = option(True)
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if (self.parses == "") == (self.parser == ""):
            raise OptionError("bllip needs dependencies: either parses=FILE or parser=NAME:MODEL")
        for name, known in (("mean", MEANS), ("reference", CHOICES)):
            if getattr(self, name) not in known:
                raise OptionError(
                    f"{name}={getattr(self, name)}: expected one of {', '.join(known)}"
                )

    def stats(
        self, hypothesis: str | Sequence[str], references: Iterable[Reference]
    ) -> FloatColumn:
        """Return the statistics of one segment, additive over segments."""
        return self.against(references).stats(hypothesis)

    def score(self, stats: FloatColumn) -> float:
        """Return the score from one row of statistics or a sum of rows."""
        matches, possible, reference, total, segments = (float(value) for value in stats)
        if self.pooled:
            if self.reference == "any":
                return _precision(matches, possible, reference)
            return _score(matches, possible, reference, self.mean)
        return total / segments if segments else 0.0

    def against(self, references: Iterable[Reference]) -> BllipEvaluator:
        """Return an evaluator for the references of one segment, which are parsed here."""
        return BllipEvaluator(self, check_references(references))

    def bag(self, sentence: str | Sequence[str]) -> Bag:
        """Return the dependencies of a sentence."""
        return self._parse(split_tokens(sentence)).bag(self.lowercase)

    def require(self) -> None:
        """Load the parses or the parser, or raise what says why they cannot be."""
        _ = self._parse

    @cached_property
    def _parse(self) -> Callable[[tuple[str, ...]], Parse]:
        if self.parses != "":
            table = load_parses(self.parses) if isinstance(self.parses, str) else self.parses
            return table.parse
        parser = load_parser(self.parser) if isinstance(self.parser, str) else self.parser
        return lambda tokens: Parse(tokens, tuple(map(int, parser(tokens))) if tokens else ())

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is loaded: another process loads it again."""
        return {key: value for key, value in self.__dict__.items() if key != "_parse"}


class BllipEvaluator:
    """Bllip made ready for the references of one segment."""

    def __init__(self, metric: Bllip, references: tuple[Reference, ...]) -> None:
        self.metric = metric
        self.references = references
        self._bags: list[Bag] = []
        for reference in references:
            if isinstance(reference, Lattice):
                raise OptionError("bllip takes references as sentences, not as a lattice")
            self._bags.append(metric.bag(reference))

    def stats(self, hypothesis: str | Sequence[str]) -> FloatColumn:
        """Return the statistics of one hypothesis."""
        metric = self.metric
        bag = metric.bag(hypothesis)
        return _row(bag, self._bags, metric.mean, metric.reference, metric.similarity)

    def score(self, hypothesis: str | Sequence[str]) -> float:
        """Return the score of one hypothesis."""
        return self.metric.score(self.stats(hypothesis))
