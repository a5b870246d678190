# %% [markdown]
# # Your own metric, as a plug-in
#
# A metric is a small class. With four methods it scores files, ranks n-best lists, serves MBR and
# training. With a [machine](../theory.md) it also searches lattices and forests, exactly. This page
# writes one of each kind, has the laws checked, and makes a package of them.
#
# ## A metric that scores
#
# Voice commands fail by their long words: *london*, *platform*, *seventeen*. So: the share of the
# reference's words of at least five letters that the hypothesis has, too. Higher is better.
#
# Statistics are *additive*: the score of a corpus is the score of their sum. That alone gives
# bootstrap tests, corpus oracles and MERT.

# %%
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fstmetrics.references import check_references, split_tokens
from fstmetrics.signature import Signature, option


@dataclass(frozen=True, kw_only=True)
class LongWords(Signature):
    """The share of the reference's long words that the hypothesis has."""

    name: ClassVar[str] = "long-words"
    higher_is_better: ClassVar[bool] = True
    stat_names: ClassVar[tuple[str, ...]] = ("found", "total")
    letters: int = option(5, always=True)

    def stats(self, hypothesis, references):
        return self.against(references).stats(hypothesis)

    def score(self, stats):
        found, total = stats
        return float(found / total) if total else 1.0

    def against(self, references):
        return LongWordsEvaluator(self, check_references(references))


@dataclass(frozen=True)
class LongWordsEvaluator:
    """The metric with the references of one segment."""

    metric: LongWords
    references: tuple

    def stats(self, hypothesis):
        said = Counter(split_tokens(hypothesis))
        rows = []
        for reference in self.references:
            tokens = split_tokens(reference)
            long = Counter(word for word in tokens if len(word) >= self.metric.letters)
            rows.append((sum((long & said).values()), sum(long.values())))
        return np.array(max(rows, key=self.metric.score), dtype=float)

    def score(self, hypothesis):
        return self.metric.score(self.stats(hypothesis))


LongWords().against(["the train to london leaves at seven"]).score("a train to london leaves")

# %% [markdown]
# ## The laws
#
# `check_metric` tries random sentences and lattices: statistics add up, an evaluator and the metric
# agree, empty sentences have a score, the metric survives pickling, its signature reads back. It
# raises an error that says which law is broken, and by what.

# %%
from fstmetrics import parse_metric
from fstmetrics.contract import METRICS
from fstmetrics.testing import check_metric

METRICS.register("long-words", LongWords)
check_metric(LongWords())
check_metric(LongWords(letters=3))
parse_metric("long-words:letters=7")

# %% [markdown]
# ## Used
#
# By name in every function. Here: n-best lists of the lattices that come with the package, the
# oracle among them, and MBR.

# %%
import lattices
from decoding import mbr, oracle, sample_data
from fstmetrics import corpus_score

folder = sample_data()
said = dict(line.split(maxsplit=1) for line in (folder / "refs.txt").read_text().splitlines())
spaces = [next(lattices.read(folder / f"{name}.slf.gz")) for name in said]
references = [[text] for text in said.values()]
lists = [
    lattices.NBest.from_hypotheses(lattices.k_best(space, 50, distinct=True), id=space.id)
    for space in spaces
]
metric = LongWords()
ways = {
    "1-best": [each[0].text for each in lists],
    "MBR": [mbr(each, metric).text for each in lists],
    "oracle": [
        oracle(each, metric.against(texts)).text
        for each, texts in zip(lists, references, strict=True)
    ],
}
for name, texts in ways.items():
    print(f"{name:8} {corpus_score(metric, texts, references):.3f}")

# %% [markdown]
# ## A metric that searches lattices
#
# Over all paths of a lattice a metric needs an automaton. The alignment metrics have one whose costs
# are attributes of the class, so that a variant is a few lines. This one counts an insertion twice: a
# voice command with a word too many does the wrong thing.

# %%
from fstmetrics import WRR


@dataclass(frozen=True, kw_only=True)
class CarefulWRR(WRR):
    """Matches minus twice the insertions, over the words of the reference."""

    name: ClassVar[str] = "careful-wrr"
    insertion: ClassVar[float] = 2.0


METRICS.register("careful-wrr", CarefulWRR)
check_metric(CarefulWRR())
found = oracle(spaces[4], CarefulWRR().against(references[4]))
print(found.score, found.exact, found.text)
print(CarefulWRR().against(references[4]).machine(spaces[4].vocabulary))

# %% [markdown]
# `check_metric` has compared that machine with all sentences of random lattices. A machine of your
# own, arc by arc, is in `examples/plugin-metric`: a WER in which function words weigh less.
#
# ## As a package
#
# A `pyproject.toml` with one entry point, and `pip install .`: every command knows the metric then.
#
# ```toml
# [project]
# name = "long-words"
# version = "1.0"
# dependencies = ["fstmetrics"]
#
# [project.entry-points."fstmetrics.metrics"]
# long-words = "long_words:LongWords"
# careful-wrr = "long_words:CarefulWRR"
# ```
#
# `fstmetrics metrics` lists it, `fstmetrics oracle --metric careful-wrr` searches with it,
# `fstmetrics compare --metric long-words` tests systems under it. What else a metric may offer is on
# the page of [plug-ins](../plugins.md).

# %%
METRICS.unregister("long-words")
METRICS.unregister("careful-wrr")
