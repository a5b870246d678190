"""Learners are found by name."""

from __future__ import annotations

import pytest

from decoding.training import training_corpus
from decoding.training.learner import Learner
from decoding.training.learners import LEARNERS
from fstmetrics import BLEU, WER
from lattices.algorithms import best
from lattices.errors import OptionError, UnknownNameError
from tests.decoding.training.learner_laws import UNIFORM, check_interruption, noisy, separable

#: learners that take a document, and options for short fits
JUDGES = {
    "mira": {"epochs": 3},
    "perceptron": {"epochs": 3},
    "pro": {"rounds": 3},
}


@pytest.mark.parametrize("name", LEARNERS.names())
def test_every_learner_is_there_under_its_own_name(name):
    found = LEARNERS.get(name)
    assert issubclass(found, Learner)
    assert found.name == name
    assert found().options() == found(**found().options()).options()


def test_an_unknown_name_says_which_are_close():
    with pytest.raises(UnknownNameError, match="did you mean perceptron"):
        LEARNERS.get("perceptrom")
    with pytest.raises(UnknownNameError, match="known: mert, mira"):
        LEARNERS.get("zzz")


@pytest.mark.parametrize("kind", ["list", "lattice", "forest"])
@pytest.mark.parametrize("name", JUDGES)
def test_within_a_document_a_separable_corpus_is_learnt_from(name, kind):
    spaces, references = separable(kind)
    found = LEARNERS.get(name)(start=UNIFORM, document=0.9).fit(spaces, references, BLEU(order=2))
    metric = BLEU(order=2)

    def score(weights):
        said = [best(space.reweighted(weights)).tokens for space in spaces]
        rows = [metric.stats(*each) for each in zip(said, references, strict=True)]
        return metric.score(sum(rows))

    assert found.history[-1].score == pytest.approx(score(found.weights))
    assert score(found.weights) > score(UNIFORM) + 0.1
    judge = found.history[-1].details["judge"]
    assert judge == (
        "bleu:order=2,length=closest,smooth=add-k,smooth_value=1,tokenize=none "
        "in a document of 9 segments"
    )
    # the linear form proves nothing; lists are judged whole
    if name in ("mira", "perceptron"):
        assert found.history[-1].details["exact"] == (1.0 if kind == "list" else 0.0)


@pytest.mark.parametrize("name", ["mira", "perceptron"])
def test_the_document_is_what_the_model_said_of_the_last_segments(name):
    spaces, references = noisy("lattice")
    metric = BLEU(order=2, smooth="add-k")
    kind = LEARNERS.get(name)
    found = kind(start=UNIFORM, document=0.8, epochs=1, averaged=False, seed=3)
    found.fit(spaces, references, metric)
    # again by hand: the same order, and the weights before each segment
    order = kind(seed=3).random.permutation(len(spaces)).tolist()

    def said(weights, place):
        words = best(spaces[place].reweighted(weights)).tokens
        return metric.stats(words, references[place])

    rows = [said(UNIFORM, place) for place in range(len(spaces))]
    document = 4.0 * sum(rows) / len(rows)
    for count, place in enumerate(order):
        before = UNIFORM
        if count:
            # the learner's own weights after the first segments of that order
            part = kind(start=UNIFORM, document=0.8, epochs=1, averaged=False, seed=3)
            before = weights_after(part, spaces, references, metric, count)
        document = 0.8 * (document + said(before, place))
    assert found.state["document"] == pytest.approx(document.tolist())


def weights_after(part, spaces, references, metric, count):
    """Return the weights after some segments of the first epoch."""

    class Enough(Exception):
        pass

    seen, update = [], part.update

    def counted(constraints):
        if len(seen) == count:
            seen.append(dict(part.weights))
            raise Enough
        seen.append(None)
        return update(constraints)

    part.update = counted
    with pytest.raises(Enough):
        part.fit(spaces, references, metric)
    return seen[-1]


@pytest.mark.parametrize(("name", "options"), JUDGES.items())
def test_within_a_document_an_interrupted_fit_goes_on(name, options, tmp_path, monkeypatch):
    # ten segments' words are asked for at the beginning, and then again
    check_interruption(
        lambda: LEARNERS.get(name)(document=0.7, seed=5, **options),
        training_corpus, "best_words", (40, 50) if name in ("mira", "perceptron") else (16, 33),
        tmp_path, monkeypatch, metric=BLEU(order=2),
    )  # fmt: skip


def test_documents_are_for_bleu():
    spaces, references = separable("list")
    for judge in (None, "grr:n=2"):
        with pytest.raises(OptionError, match=r"a document is for BLEU, not for (wer|grr)"):
            LEARNERS.get("mira")(document=0.9, judge=judge).fit(spaces, references, WER())
    for bad in (1.0, -0.1):
        with pytest.raises(OptionError, match="document is from 0 to below 1"):
            LEARNERS.get("pro")(document=bad)
