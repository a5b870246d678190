"""Names, options and plug-ins: ``grr:n=4,alpha=1,beta=0`` written and read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from fstmetrics.summing import Summable, is_sum
from lattices.errors import OptionError
from lattices.options import (
    option_fields,
    read_options,
    split_items,
    split_named,
    split_option,
    write_value,
)
from lattices.registry import Registry, check_requirements, list_missing

if TYPE_CHECKING:
    from fstmetrics.contract import Metric


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
        "cder": "fstmetrics.matching.cder:CDER",
        "ribes": "fstmetrics.matching.ribes:RIBES",
        "character": "fstmetrics.matching.character:CharacTER",
        "lebleu": "fstmetrics.matching.lebleu:LeBLEU",
        "bllip": "fstmetrics.dependency.bllip:Bllip",
        "ter": "fstmetrics.external.sacrebleu:TER",
        "chrf": "fstmetrics.external.sacrebleu:CHRF",
    },
    check=_check(("name", "higher_is_better", "stat_names", "stats", "score", "against")),
    aliases={
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
    text = specification.strip()
    is_function = text.startswith("python:")
    if is_function:
        # the name has colons
        name, *items = split_items(text)
        options = [split_option(item, name) for item in items]
    else:
        name, options = split_named(text)
    normalise = [value for key, value in options if key in _NORMALISE]
    rest = [(key, value) for key, value in options if key not in _NORMALISE]
    built: Metric
    if is_function:
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


def _build(kind: type[Any], name: str, options: Iterable[tuple[str, str]]) -> Any:
    readers = {"similarity": _read_similarity}
    return kind(**read_options(kind, options, name, readers=readers))


def _read_similarity(text: str) -> Any:
    name, _, rest = text.partition("(")
    name, options = split_named(f"{name}:{rest.removesuffix(')')}")
    return _build(SIMILARITIES.get(name), name, options)
