"""METEOR: words matched in stages, and a penalty for matches that are out of order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, NamedTuple

from fstmetrics.matching.matching_metric import MatchingMetric
from fstmetrics.matching.words import stemmer, synonyms
from fstmetrics.references import Tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, floats
from lattices.caching import cached_property
from lattices.errors import OptionError

STAGES = ("exact", "stem", "synonym")
#: partial alignments that are kept at each word; METEOR's own search keeps 40
_BEAM = 500

Alike = Callable[[str, str], bool]


class _Partial(NamedTuple):
    """An alignment of the first words; less is better."""

    unmatched: int
    crossings: int
    chunks: int
    pairs: tuple[int, ...]


def align(words: Sequence[str], others: Sequence[str], stages: Sequence[Alike]) -> tuple[int, ...]:
    """Return the place in ``others`` that each word is matched with, -1 for none.

    Each stage matches as many of the words that are left as it can, of the ways to do so one with
    the fewest crossings: pairs of matches that are in another order in ``others``.
    """
    chosen = (-1,) * len(words)
    for alike in stages:
        taken = set(chosen)
        free = [place for place in range(len(others)) if place not in taken]
        known: dict[str, tuple[int, ...]] = {}
        options: list[tuple[int, ...]] = []
        for word, place in zip(words, chosen, strict=True):
            if place >= 0:
                options.append(())
                continue
            if word not in known:
                known[word] = tuple(other for other in free if alike(word, others[other]))
            options.append(known[word])
        if any(options):
            chosen = _stage(chosen, options)
    return chosen


def _stage(fixed: tuple[int, ...], options: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return an alignment that keeps what is fixed and adds as many of the options as it can."""
    states: dict[tuple[int, int], _Partial] = {(0, -1): _Partial(0, 0, 0, ())}
    for kept, group in zip(fixed, _groups(options), strict=True):
        after: dict[tuple[int, int], _Partial] = {}
        for (mask, last), partial in states.items():
            for choice in (kept,) if group is None else group.choices(mask):
                if choice < 0:
                    state = mask, -1
                    longer = partial._replace(
                        unmatched=partial.unmatched + 1, pairs=(*partial.pairs, -1)
                    )
                else:
                    state = mask | 1 << choice, choice
                    longer = _Partial(
                        partial.unmatched,
                        partial.crossings + (mask >> choice).bit_count(),
                        partial.chunks + (last < 0 or choice != last + 1),
                        (*partial.pairs, choice),
                    )
                if state not in after or longer < after[state]:
                    after[state] = longer
        if len(after) > _BEAM:
            best = sorted(after, key=lambda state: after[state])[:_BEAM]
            after = {state: after[state] for state in best}
        states = after
    return min(states.values()).pairs


class _Group(NamedTuple):
    """A word, and the group of words that compete with it for places.

    Attributes
    ----------
    wanted : tuple of int
        The places that the word can be matched with, ascending.
    places : int
        All places that words of the group want, as bits.
    alike : bool
        Whether all its words want the same places.
    later : int
        How many of its words come after this one.
    matches : int
        How many of them can be matched at once.
    size : int
        How many there are.
    """

    wanted: tuple[int, ...]
    places: int
    alike: bool
    later: int
    matches: int
    size: int

    def choices(self, mask: int) -> list[int]:
        """Return where the word can be matched if these places are taken, -1 for not at all."""
        if not self.alike:
            free = [each for each in self.wanted if not mask >> each & 1]
            return free if free and self.matches == self.size else [*free, -1]
        taken = mask & self.places
        missing = self.matches - taken.bit_count()
        if not missing:
            return [-1]
        # after the places of earlier words, before those that the later ones need
        begin, end = taken.bit_length(), self.wanted[-missing]
        free = [each for each in self.wanted if begin <= each <= end]
        return [*free, -1] if self.later >= missing else free


def _groups(options: Sequence[tuple[int, ...]]) -> list[_Group | None]:
    """Return the group of each word that has options."""
    groups: list[tuple[int, list[int]]] = []
    for word, some in enumerate(options):
        if not some:
            continue
        places, members = sum(1 << each for each in some), [word]
        apart = []
        for other, others in groups:
            if other & places:
                places, members = other | places, [*others, *members]
            else:
                apart.append((other, others))
        groups = [*apart, (places, sorted(members))]
    found: list[_Group | None] = [None] * len(options)
    for places, members in groups:
        wanted = [options[word] for word in members]
        matches = _match(wanted)
        for place, word in enumerate(members):
            found[word] = _Group(
                options[word],
                places,
                len(set(wanted)) == 1,
                len(members) - place - 1,
                matches,
                len(members),
            )
    return found


def _match(options: Sequence[tuple[int, ...]]) -> int:
    """Return the size of a largest matching, by augmenting paths."""
    owner: dict[int, int] = {}

    def place(word: int, seen: set[int]) -> bool:
        for each in options[word]:
            if each not in seen:
                seen.add(each)
                if each not in owner or place(owner[each], seen):
                    owner[each] = word
                    return True
        return False

    return sum(place(word, set()) for word in range(len(options)))


@dataclass(frozen=True, kw_only=True)
class METEOR(MatchingMetric):
    """METEOR: a mean of unigram precision and recall, less a penalty for fragments.

    ``(1 - gamma (ch / m)^beta) * P R / (alpha P + (1 - alpha) R)``, for m words that are matched
    one to one, ``P = m / |h|``, ``R = m / |r|``, and ch the number of chunks: matches that follow
    each other in both sentences. Without a match the score is 0. Over a corpus matches, chunks
    and lengths are summed, each segment's against the reference that gives it the best score.

    Words are matched in stages (:func:`align`): equal words first, then of those that are left
    such with equal stems, then such that share a synset of WordNet, if its data is installed.

    The parameters are those of Lavie and Agarwal (2007) for English, which Chiang et al. (2008)
    use, too; the first METEOR (Banerjee and Lavie 2005) is ``alpha=0.9,beta=3,gamma=0.5``. Even a
    perfect match is one chunk and has a penalty, as the papers have it; later versions of the
    program leave it out there.

    Costs O(|h| x partial alignments), which is how many ways there are to match the words that
    come more than once, at most 500. No machine: a match depends on all the others.

    Parameters
    ----------
    alpha : float
        The weight of recall in the harmonic mean, against that of precision, in [0, 1].
    beta, gamma : float
        The form and the largest value of the penalty.
    stages : str
        ``exact``, ``exact/stem``, ``exact/stem/synonym`` or ``exact/synonym``.
    stemmer : str
        ``porter``, or one of the languages of NLTK's Snowball stemmers.
    lowercase : bool

    References
    ----------
    Banerjee and Lavie. METEOR: an automatic metric for MT evaluation with improved correlation
    with human judgments. ACL workshop on evaluation measures 2005.

    Lavie and Agarwal. METEOR: an automatic metric for MT evaluation with high levels of
    correlation with human judgments. WMT 2007.

    Examples
    --------
    >>> evaluator = METEOR(stages="exact").against(["the cat sat on a mat"])
    >>> evaluator.stats("on a mat sat the cat").tolist()
    [6.0, 3.0, 6.0, 6.0]
    >>> evaluator.score("on a mat sat the cat") == 1 - 0.28 * (3 / 6) ** 0.83
    True
    """

    name: ClassVar[str] = "meteor"
    stat_names: ClassVar[tuple[str, ...]] = ("matches", "chunks", "length", "reference length")
    alpha: float = option(0.81, always=True)
    beta: float = option(0.83, always=True)
    gamma: float = option(0.28, always=True)
    stages: str = option("exact/stem", always=True)
    stemmer: str = option("porter")
    lowercase: bool = option(True)

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        for name in ("alpha", "gamma"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name} is a number from 0 to 1, not {getattr(self, name)}")
        if not (isfinite(self.beta) and self.beta > 0):
            raise OptionError(f"beta is a number above 0, not {self.beta}")
        names = self.stages.split("/")
        if names[0] != "exact" or names != [each for each in STAGES if each in names]:
            raise OptionError(
                f"stages={self.stages}: expected exact, and after it stem, synonym or both, "
                f"as in {'/'.join(STAGES)}"
            )

    def require(self) -> None:
        """Load stemmer and synonyms, or raise MissingDependencyError."""
        _ = self._alike

    @cached_property
    def _alike(self) -> tuple[Alike, ...]:
        """What tells whether two words match, for each stage."""
        found: list[Alike] = [str.__eq__]
        names = self.stages.split("/")
        if "stem" in names:
            stem = stemmer(self.stemmer)
            found.append(lambda word, other: stem(word) == stem(other))
        if "synonym" in names:
            synsets = synonyms()
            found.append(lambda word, other: not synsets(word).isdisjoint(synsets(other)))
        return tuple(found)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is loaded: another process loads it again."""
        return {key: value for key, value in self.__dict__.items() if key != "_alike"}

    def row(self, words: Tokens, references: Sequence[Tokens]) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        return max((self._pair(words, each) for each in references), key=self.score)

    def _pair(self, words: Tokens, reference: Tokens) -> FloatColumn:
        """Return matches, chunks and both lengths."""
        places = align(words, reference, self._alike)
        matches, chunks, last = 0, 0, -1
        for place in places:
            if place >= 0:
                matches += 1
                chunks += last < 0 or place != last + 1
            last = place
        return floats([matches, chunks, len(words), len(reference)])

    def score(self, stats: FloatColumn) -> float:
        """Return METEOR from one row of statistics or a sum of rows."""
        matches, chunks, length, reference = (float(value) for value in stats)
        if not matches:
            return 0.0
        precision, recall = matches / length, matches / reference
        mean = precision * recall / (self.alpha * precision + (1.0 - self.alpha) * recall)
        return float((1.0 - self.gamma * (chunks / matches) ** self.beta) * mean)
