"""The laws of metrics, engines and normalisers, and what breaks them."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from fstmetrics import (
    CER,
    GRR,
    WER,
    WRR,
    AffixSimilarity,
)
from fstmetrics.normalisation.normalisers import Lower, parse_normaliser
from fstmetrics.testing import check_engine, check_metric, check_normaliser
from lattices import OptionError
from lattices.intersection import ENGINES
from tests.fstmetrics.test_alignment import CostlyInsertions

SOFT = AffixSimilarity(epsilon=0.6)


@pytest.mark.parametrize(
    "metric",
    [
        WER(),
        WRR(),
        CER(),
        CER(spaces=False),
        GRR(),
        GRR(n=1),
        GRR(n=6, alpha=-0.9, beta=1.0),
        WER(similarity=SOFT),
        GRR(n=2, similarity=SOFT),
    ],
    ids=str,
)
def test_the_laws_hold(metric):
    check_metric(metric)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Disagreeing(CostlyInsertions):
    """Searches with its own cost, and scores with another."""

    name = "disagreeing"

    def score(self, stats):
        *_, substitutions, insertions, deletions, possible = stats
        return float((substitutions + insertions + deletions) / max(possible, 1.0))


def test_a_machine_and_a_scorer_that_disagree_are_caught():
    with pytest.raises(AssertionError, match=r"disagreeing.* the machine's value"):
        check_metric(Disagreeing())


def test_a_metric_that_breaks_a_law_is_caught():
    @dataclasses.dataclass(frozen=True)
    class Forgetful(WER):
        name = "forgetful"

        def score(self, stats):
            return super().score(stats) + random.random()

    with pytest.raises(AssertionError, match="forgetful"):
        check_metric(Forgetful())


@pytest.mark.parametrize(
    "answer",
    [np.full((1, 2), 0.5), np.full((2, 2), 1.5), np.full((2, 2), np.nan)],
    ids=["shape", "range", "nan"],
)
def test_a_similarity_that_lies_is_caught(answer):
    class Liar:
        def matrix(self, words, others):
            return answer

    with pytest.raises(OptionError, match="returned"):
        WER(similarity=Liar()).against(["a b"]).score("c d")


@pytest.mark.parametrize("name", ["kernel", "openfst"])
def test_engines_obey_the_laws(name):
    check_engine(ENGINES.get(name), seed=1)


class Engine(type(ENGINES.get("kernel"))):
    """The kernel, and what each of those below does wrong."""


class Second(Engine):
    """Is content with any path."""

    def best(self, problems, **options):
        found = super().best(problems, **options)
        for place, (space, _) in enumerate(problems):
            if found[place] is not None and space.kind == "lattice":
                arcs = best_path(space)
                found[place] = found[place]._replace(arcs=arcs)
        return found


def best_path(lattice):
    path, state = [], lattice.start
    while lattice.out_offset[state] < lattice.out_offset[state + 1]:
        path.append(int(lattice.out_offset[state]))
        state = int(lattice.dst[path[-1]])
    return np.array(path, np.int32)


class Boastful(Engine):
    def best(self, problems, **options):
        found = super().best(problems, **options)
        return [each and each._replace(value=each.value + 0.5) for each in found]


class Broken(Engine):
    def best(self, problems, **options):
        found = super().best(problems, **options)
        return [each and each._replace(arcs=each.arcs[:-1]) for each in found]


class Blind(Engine):
    """Does not look at the model's scores."""

    def best(self, problems, model_weight=0.0, **options):
        return super().best(problems, **options)


class Hopeful(Engine):
    """Finds a path where there is none."""

    def best(self, problems, **options):
        return [each or 7 for each in super().best(problems, **options)]


class Hurried(Engine):
    def best(self, problems, *, workers=1, **options):
        found = super().best(problems, **options)
        return found[::-1] if workers > 1 else found


class Lazy(Engine):
    def can_run(self, space, machine):
        return "not today"


class Silent(Engine):
    def can_run(self, space, machine):
        return False


class Untidy(Engine):
    def k_best(self, problem, k, **options):
        found = super().k_best(problem, k, **options)
        return found._replace(paths=found.paths[::-1])


class Partial(Engine):
    def worst(self, problem, k, **options):
        found = super().worst(problem, k, **options)
        return found._replace(paths=found.paths[:1] * len(found.paths))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Second, "the best has"),
        (Boastful, "it says"),
        (Broken, "kernel on <"),
        (Blind, "model_weight=-?0.5"),
        (Hopeful, "no path is complete"),
        (Hurried, "differs with two workers"),
        (Lazy, "can_run refuses every small lattice and forest: not today"),
        (Silent, "can_run returns False, expected True or"),
        (Untidy, "k_best of kernel"),
        (Partial, "worst of kernel"),
    ],
)
def test_an_engine_that_breaks_a_law_is_caught(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_engine(kind())


class OfEqualsTheFirst(Engine):
    """Takes any of the paths with the best value."""

    def best(self, problems, **options):
        found = super().best(problems, **options)
        for place, (space, _) in enumerate(problems):
            if found[place] is None or options.get("model_weight"):
                continue
            flat = space.replaced(score=-space.score)
            other = super().best([(flat, problems[place][1])])[0]
            found[place] = found[place]._replace(arcs=other.arcs)
        return found


def test_the_model_decides_among_equals():
    with pytest.raises(AssertionError, match="has the model score"):
        check_engine(OfEqualsTheFirst(), rounds=100)


@pytest.mark.parametrize(
    "name", ["lower", "nfkc", "punctuation", "drop:uh|the", "whisper-basic", "whisper-english"]
)
def test_normalisers_obey_the_laws(name):
    if name.startswith("whisper"):
        pytest.importorskip("whisper_normalizer")
    (made,) = parse_normaliser(name)
    check_normaliser(made, ["uh", "twenty", "one", "<x", "y>"])


class Together(Lower):
    """Joins words, and does not say that it waits for them."""

    def sentence(self, words):
        return tuple(" ".join(words).replace("the cat", "thecat").split())


class Counting(Lower):
    made = 0

    def sentence(self, words):
        Counting.made += 1
        return (*words, str(Counting.made)) if words else ()


class Listing(Lower):
    def sentence(self, words):
        return list(words)


class Blank(Lower):
    def sentence(self, words):
        return tuple(f"{word} " for word in words)


class Wordy(Lower):
    def sentence(self, words):
        return ("<s>", *words)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Together(), "though waits of the former"),
        (Counting(), "does not always become"),
        (Listing(), "the empty sentence becomes words"),
        (Blank(), "expected a tuple of words"),
        (Wordy(), "the empty sentence becomes words"),
        (lambda text: text, "does not survive pickling"),
        (7, "neither a normaliser nor a function"),
    ],
)
def test_a_normaliser_that_breaks_a_law_is_caught(made, message):
    with pytest.raises(AssertionError, match=message):
        check_normaliser(made, ["the", "cat"])
