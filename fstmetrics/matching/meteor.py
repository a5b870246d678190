"""METEOR: words matched in stages, and a penalty for matches that are out of order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from fstmetrics._native import Corpus, meteor_rows, meteor_scores, pair_meteor
from fstmetrics.corpora import CorpusMetric, best_rows, count_workers
from fstmetrics.list_units import ListUnits
from fstmetrics.matching.words import stemmer, synonyms
from fstmetrics.pairs import JointUnits
from fstmetrics.references import Tokens, split_tokens
from fstmetrics.signature import option
from lattices.arrays import FloatColumn, IntColumn, floats, ints
from lattices.caching import cached_property
from lattices.errors import OptionError
from lattices.spaces import NBest

STAGES = ("exact", "stem", "synonym")

#: the keys of a word: words match that have one in common
Keys = Callable[[str], Iterable[Hashable]]
#: of one stage, keys as numbers: word ``n`` has ``key[offset[n]:offset[n + 1]]``
StageColumns = tuple[IntColumn, IntColumn]


def _number_keys(keys: Iterable[Iterable[Hashable]]) -> StageColumns:
    """Return the keys of words from 1 on; 0 is no word."""
    number: dict[Hashable, int] = {}
    key: list[int] = []
    ends = [0, 0]
    for some in keys:
        key += [number.setdefault(each, len(number)) for each in some]
        ends.append(len(key))
    return ints(key), ints(ends)


@dataclass(frozen=True, kw_only=True)
class METEOR(CorpusMetric):
    """METEOR: a mean of unigram precision and recall, less a penalty for fragments.

    ``(1 - gamma (ch / m)^beta) * P R / (alpha P + (1 - alpha) R)``, for m words that are matched
    one to one, ``P = m / |h|``, ``R = m / |r|``, and ch the number of chunks: matches that follow
    each other in both sentences. Without a match the score is 0. Over a corpus matches, chunks
    and lengths are summed, each segment's against the reference that gives it the best score.

    Words are matched in stages: equal words first, then of those that are left such with equal
    stems, then such that share a synset of WordNet, if its data is installed. Each stage matches as
    many as it can; of the ways to do so it takes one with the fewest crossings, pairs of matches
    that are in another order in the reference.

    The parameters are those of Lavie and Agarwal (2007) for English, which Chiang et al. (2008)
    use, too; the first METEOR (Banerjee and Lavie 2005) is ``alpha=0.9,beta=3,gamma=0.5``. Even a
    perfect match is one chunk and has a penalty, as the papers have it; later versions of the
    program leave it out there.

    Costs O(|h| x partial alignments), which is how many ways there are to match the words that
    come more than once, at most 500; METEOR's own search keeps 40. No machine: a match depends on
    all the others.

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
    higher_is_better: ClassVar[bool] = True
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
        _ = self._keys

    @cached_property
    def _keys(self) -> tuple[Keys, ...]:
        """The keys by which words match, for each stage."""
        found: list[Keys] = [lambda word: (word,)]
        names = self.stages.split("/")
        if "stem" in names:
            stem = stemmer(self.stemmer)
            found.append(lambda word: (stem(word),))
        if "synonym" in names:
            found.append(synonyms())
        return tuple(found)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is loaded: another process loads it again."""
        return {key: value for key, value in self.__dict__.items() if key != "_keys"}

    def prepare(self, sentence: str | Sequence[str]) -> str | Tokens:
        """Return a sentence as it is; its words are put in lower case one by one."""
        return sentence if isinstance(sentence, str) else split_tokens(sentence)

    def _stage_columns(self, symbols: Sequence[str]) -> list[StageColumns]:
        words = [word.lower() for word in symbols] if self.lowercase else symbols
        return [_number_keys(map(keys, words)) for keys in self._keys]

    def rows(self, corpus: Corpus) -> FloatColumn:
        """Return the statistics against the reference that scores best, the first of equals."""
        symbols, unit, offset, reference, reference_offset = corpus.words()
        segment = corpus.segment
        found = meteor_rows(
            unit, offset, reference, reference_offset, segment, self._stage_columns(symbols),
            count_workers(),
        )  # fmt: skip
        return best_rows(found, segment, self.scores)

    def pair_scores(self, candidates: NBest, evidence: NBest) -> FloatColumn:
        """Return the score of each candidate (columns) against each sentence of evidence (rows)."""
        joint = JointUnits(candidates, evidence, ListUnits.of_words)
        stages = self._stage_columns(joint.symbols)
        return floats(pair_meteor(joint.columns, stages, self.alpha, self.beta, self.gamma))

    def scores(self, rows: FloatColumn) -> FloatColumn:
        """Return METEOR of each row of statistics."""
        return floats(meteor_scores(floats(rows), self.alpha, self.beta, self.gamma))
