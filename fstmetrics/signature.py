"""Names, options, sums and plug-ins: ``grr:n=4,alpha=1,beta=0`` written and read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from lattices.errors import OptionError
from lattices.options import (
    option_fields,
    read_options,
    split_items,
    split_named,
    split_option,
    write_value,
)
from lattices.registry import PREFIX, Registry, check_requirements, list_missing, load_python

if TYPE_CHECKING:
    from fstmetrics.combination import Combination
    from fstmetrics.contract import Metric

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_WEIGHTED = re.compile(rf"\s*({_NUMBER})\s*\*(.*)", re.DOTALL)
_SIGN = re.compile(r"\s([+-])\s")


class Summable:
    """Gives metrics operators: ``0.5 * BLEU() - WER()`` is a :class:`fstmetrics.Combination`."""

    def __mul__(self, weight: float) -> Combination:
        """Return the metric with a weight."""
        return _sum((weight, self))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Combination:
        """Return the sum with another metric."""
        return _sum((1.0, self), (1.0, other))

    def __sub__(self, other: Any) -> Combination:
        """Return the metric minus another."""
        return _sum((1.0, self), (-1.0, other))


def _sum(*terms: tuple[float, Any]) -> Combination:
    from fstmetrics.combination import Combination

    return Combination(terms)


def is_sum(specification: str) -> bool:
    """Tell whether a specification is that of a sum: it has a weight, or a sign between blanks.

    Examples
    --------
    >>> [is_sum(each) for each in ("grr", "2*grr", "bleu - ter", "wer:normalise=lower+nfkc")]
    [False, True, True, False]
    """
    return _SIGN.search(specification) is not None or _WEIGHTED.fullmatch(specification) is not None


def terms(specification: str) -> list[tuple[float, str]]:
    """Return the weights and metrics of a sum.

    Examples
    --------
    >>> terms("0.5*grr:n=2 - wer:similarity=affix(epsilon=0.5)")
    [(0.5, 'grr:n=2'), (-1.0, 'wer:similarity=affix(epsilon=0.5)')]
    """
    found, sign, begin = [], 1.0, 0
    cuts = [(match[1], *match.span()) for match in _SIGN.finditer(specification)]
    for following, end, after in [*cuts, ("", len(specification), 0)]:
        weighted = _WEIGHTED.fullmatch(specification[begin:end])
        weight, text = (
            (float(weighted[1]), weighted[2]) if weighted else (1.0, specification[begin:end])
        )
        if not text.strip():
            raise OptionError(f"{specification!r}: expected metrics between plus and minus")
        found.append((sign * weight, text.strip()))
        sign, begin = (-1.0 if following == "-" else 1.0), after
    return found


class Signature(Summable):
    """Gives a dataclass its signature: ``name:key=value,...``.

    Fields marked ``always`` in their metadata are always shown, the others only where they
    differ from the default.

    Examples
    --------
    >>> from fstmetrics import GRR, WER
    >>> str(GRR(n=3, alpha=0.5)), str(WER())
    ('grr:n=3,alpha=0.5,beta=0', 'wer')
    """

    name: ClassVar[str]
    #: the name in headings, where it is not the name in capitals
    heading: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """The name in headings of tables, as papers write it."""
        return self.heading or self.name.upper()

    def require(self) -> None:
        """Import and open what it needs, before any work; or raise what says what is missing."""
        check_requirements(*(getattr(self, name) for name in option_fields(type(self))))

    def __str__(self) -> str:
        """Return the signature."""
        shown = [
            f"{name}={_write(getattr(self, name))}"
            for name, field in option_fields(type(self)).items()
            if field.metadata.get("always") or getattr(self, name) != field.default
        ]
        return self.name + (":" + ",".join(shown) if shown else "")


def option(default: Any, *, always: bool = False) -> Any:
    """Return a dataclass field that a signature knows how to show."""
    return dataclasses.field(default=default, metadata={"always": always})


def _write(value: object) -> str:
    if not isinstance(value, Signature):
        return write_value(value)
    name, _, options = str(value).partition(":")
    return f"{name}({options})" if options else name


def _check(methods: tuple[str, ...]) -> Callable[[Any], str]:
    """Return what tells whether a plug-in is a dataclass with these methods."""

    def check(plugin: Any) -> str:
        if not isinstance(plugin, type) or not dataclasses.is_dataclass(plugin):
            return f"it is {plugin!r:.80}, expected a class that is a dataclass"
        return list_missing(plugin, methods)

    return check


METRICS: Registry[Any] = Registry(
    "fstmetrics.metrics",
    "metric",
    own={
        "wer": "fstmetrics.alignment.rates:WER",
        "wrr": "fstmetrics.alignment.rates:WRR",
        "cer": "fstmetrics.alignment.rates:CER",
        "per": "fstmetrics.ngram.per:PER",
        "grr": "fstmetrics.alignment.rates:GRR",
        "bleu": "fstmetrics.ngram.bleu:BLEU",
        "bleu-sbp": "fstmetrics.ngram.bleu:BLEUSBP",
        "tbleu": "fstmetrics.ngram.tbleu:TBLEU",
        "linear-bleu": "fstmetrics.ngram.linear:LinearBLEU",
        "nist": "fstmetrics.ngram.nist:NIST",
        "bleu-modif": "fstmetrics.similarity.modif:BLEUModif",
        "wer-modif": "fstmetrics.similarity.modif:WERModif",
        "meteor": "fstmetrics.matching.meteor:METEOR",
        "gtm": "fstmetrics.matching.gtm:GTM",
        "maxsim": "fstmetrics.matching.maxsim:MAXSIM",
        "exact": "fstmetrics.matching.exact:Exact",
        "cder": "fstmetrics.matching.cder:CDER",
        "ribes": "fstmetrics.matching.ribes:RIBES",
        "character": "fstmetrics.matching.character:CharacTER",
        "lebleu": "fstmetrics.matching.lebleu:LeBLEU",
        "bllip": "fstmetrics.dependency.bllip:Bllip",
        "ter": "fstmetrics.matching.ter:TER",
        "chrf": "fstmetrics.ngram.chrf:CHRF",
    },
    check=_check(("name", "higher_is_better", "stat_names", "stats", "score", "against")),
    aliases={
        "vote": "exact",
        "exact-match": "exact",
        "word-error-rate": "wer",
        "character-error-rate": "cer",
        "4-grr": "grr",
        "k-grr": "grr",
        "4grr": "grr",
        "bleu4": "bleu",
        "bleu-4": "bleu",
        "sbp": "bleu-sbp",
        "chrf2": "chrf",
        "tercom": "ter",
    },
)
SIMILARITIES: Registry[Any] = Registry(
    "fstmetrics.similarities",
    "similarity",
    own={
        "affix": "fstmetrics.similarity.affix:AffixSimilarity",
        "wildcards": "fstmetrics.similarity.affix:Wildcards",
        "embedding": "fstmetrics.similarity.vectors:EmbeddingSimilarity",
    },
    check=_check(("name", "matrix")),
    aliases={"embeddings": "embedding", "vectors": "embedding"},
)
NORMALISERS: Registry[Any] = Registry(
    "fstmetrics.normalisers",
    "normaliser",
    own={
        "lower": "fstmetrics.normalisation.normalisers:Lower",
        "nfkc": "fstmetrics.normalisation.normalisers:Nfkc",
        "punctuation": "fstmetrics.normalisation.normalisers:Punctuation",
        "regex": "fstmetrics.normalisation.normalisers:RegexTable",
        "glm": "fstmetrics.normalisation.normalisers:GlobalMapping",
        "drop": "fstmetrics.normalisation.normalisers:Drop",
        "whisper-basic": "fstmetrics.normalisation.normalisers:WhisperBasic",
        "whisper-english": "fstmetrics.normalisation.normalisers:WhisperEnglish",
    },
    check=lambda plugin: "" if callable(plugin) else f"it is {plugin!r:.60}, expected a class",
    aliases={
        "lowercase": "lower",
        "lc": "lower",
        "punct": "punctuation",
        "whisper": "whisper-english",
    },
)


SIGNIFICANCE_TESTS: Registry[Callable[..., Any]] = Registry(
    "fstmetrics.significance",
    "significance test",
    own={
        "bootstrap": "fstmetrics.statistics.significance:paired_bootstrap",
        "randomization": "fstmetrics.statistics.significance:randomization",
        "sign": "fstmetrics.statistics.significance:sign_test",
        "sign-substitution": "fstmetrics.statistics.significance:substitution_test",
    },
    check=lambda plugin: "" if callable(plugin) else f"it is {plugin!r:.60}, expected a function",
)


#: the option that every metric has, in two spellings
_NORMALISE = ("normalise", "normalize")


def parse_metric(specification: str) -> Metric:
    """Return the metric that a specification names.

    Examples
    --------
    >>> parse_metric("grr:n=2")
    GRR(n=2, alpha=1.0, beta=0.0, similarity=None)
    >>> parse_metric("wrr:similarity=affix(epsilon=0.3)").similarity
    AffixSimilarity(epsilon=0.3)
    >>> str(parse_metric("wer:normalise=lower+nfkc"))
    'wer:normalise=lower+nfkc'
    >>> parse_metric("0.5*wrr + 0.5*grr").higher_is_better    # a sum, see Combination
    True
    >>> parse_metric("python:my_module:comet").name     # a function of your own, see Utility
    'python:my_module:comet'
    >>> parse_metric("grr:m=2")
    Traceback (most recent call last):
    lattices.errors.OptionError: grr has no option 'm' (it has n, alpha, beta, similarity)
    """
    if is_sum(specification):
        from fstmetrics.combination import Combination

        return Combination.parse(specification)
    name, options = split_named(specification)
    normalise = [value for key, value in options if key in _NORMALISE]
    rest = [(key, value) for key, value in options if key not in _NORMALISE]
    built: Metric
    if name.startswith(PREFIX) and not _is_class(name):
        from fstmetrics.external.utility import Utility

        built = Utility.of_function(name, rest)
    else:
        built = _build(METRICS.get(name), name, rest)
    if not normalise:
        return built
    if len(normalise) > 1:
        raise OptionError(f"{name} was given 'normalise' twice; lower+punctuation is for both")
    from fstmetrics.normalisation.metric import Normalised

    return Normalised(built, normalise[0])


def _is_class(name: str) -> bool:
    """Tell whether ``python:MODULE:NAME`` is a class, and not a function of pairs."""
    try:
        return isinstance(load_python(name), type)
    except ImportError:
        # of a module that is broken
        raise
    except OptionError:
        # of one that is not there: said where it is needed
        return False


def _build(kind: type[Any], name: str, options: Iterable[tuple[str, str]]) -> Any:
    readers = {"similarity": _read_similarity}
    return kind(**read_options(kind, options, name, readers=readers))


def _read_similarity(text: str) -> Any:
    name, _, rest = text.partition("(")
    options = [split_option(item, name) for item in split_items(rest.removesuffix(")"))]
    return _build(SIMILARITIES.get(name), name, options)
