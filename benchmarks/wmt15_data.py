"""The outputs of WMT15 and what people say of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.data import DATA
from fstmetrics import Metric, corpus_stats
from fstmetrics.external.tokenizers import tokenizer
from fstmetrics.statistics.human import match_systems, read_human
from lattices.arrays import FloatColumn

FOLDER = DATA / "wmt15"
#: each pair with the name of its human scores
PAIRS = {"de-en": "deu-eng", "fr-en": "fre-eng", "en-de": "eng-deu", "en-fr": "eng-fre"}


@dataclass(frozen=True)
class Pair:
    """The outputs of one language pair, and what people say of them.

    Attributes
    ----------
    references : list of str
    outputs : dict
        The lines of each system that people judged, best first.
    human : list of float
        One score a system, in the same order.
    made : dict
        Statistics by metric and system.
    """

    references: list[str]
    outputs: dict[str, list[str]]
    human: list[float]
    made: dict[tuple[str, str], FloatColumn] = field(
        default_factory=dict, compare=False, repr=False
    )

    def mapped(self, change: Callable[[str], str]) -> Pair:
        """Return the pair with every line changed."""
        outputs = {name: [*map(change, lines)] for name, lines in self.outputs.items()}
        return Pair([*map(change, self.references)], outputs, self.human)

    def stats(self, metric: Metric) -> list[FloatColumn]:
        """Return the statistics of each system."""
        return [self.system_stats(metric, system) for system in self.outputs]

    def system_stats(self, metric: Metric, system: str) -> FloatColumn:
        """Return the statistics of one system; made once."""
        key = str(metric), system
        if key not in self.made:
            references = [[line] for line in self.references]
            self.made[key] = corpus_stats(metric, self.outputs[system], references)
        return self.made[key]


def read_pair(pair: str) -> Pair:
    """Return a language pair of WMT15."""
    (reference,) = (FOLDER / pair).glob("*-ref.*")
    human = read_human(str(FOLDER / f"wmt15.{PAIRS[pair]}.txt"), one_system=False)
    files = match_systems(human, [str(path) for path in sorted((FOLDER / pair).glob("*2015.*"))])
    outputs = {}
    for entry in human.entries:
        name = entry.system.split(".")[1]
        outputs[name] = _lines(files[entry.system])
    return Pair(_lines(str(reference)), outputs, [entry.score for entry in human.entries])


def _lines(path: str) -> list[str]:
    # all files begin with a byte order mark
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def tokenized(line: str) -> str:
    """Return a line as mteval-v13a cuts it."""
    return tokenizer("13a")(line.rstrip())


def lowercased(line: str) -> str:
    """Return a line as mteval-v13a cuts it, in lower case, as the vectors are."""
    return tokenized(line).lower()
