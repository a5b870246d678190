"""The risk learner: its objective, its optimisers, its regularisers and its checkpoints."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from decoding.training.learner import TrainingTask
from decoding.training.risk.corpus_risk import RiskSettings, RiskTerms, denominators
from decoding.training.risk.expected import risk
from decoding.training.risk.learner import Risk
from decoding.training.risk.problem import Estimation
from decoding.training.training_corpus import LearnerCorpus
from fstmetrics import BLEU, GRR, WER, corpus_score
from lattices import Forest, Lattice, NBest, best
from lattices.arrays import floats
from lattices.errors import OptionError

NAMES = ("good", "bad", "noise")


def lattice_of(words: list[tuple[str, str]], seed: int) -> Lattice:
    """Return a lattice of a right and a wrong word in each place, which two features tell apart."""
    rng = np.random.default_rng(seed)
    arcs = []
    for place, (right, wrong) in enumerate(words):
        noise = rng.normal(size=2)
        arcs += [
            (place, place + 1, right, 0.0, {"good": 1.0, "noise": noise[0]}),
            (place, place + 1, wrong, 0.0, {"bad": 1.0, "noise": noise[1]}),
        ]
    return Lattice.from_arcs(arcs, finals=[len(words)], feature_names=NAMES, id=str(seed))


PAIRS = [
    [("the", "a"), ("cat", "hat"), ("sat", "sits")],
    [("a", "the"), ("dog", "fog")],
    [("x", "y")],
]
LATTICES = [lattice_of(words, seed) for seed, words in enumerate(PAIRS)]
REFERENCES = [[" ".join(right for right, _ in words)] for words in PAIRS]
START = {"good": -0.5, "bad": 0.5, "noise": 0.0}


def as_kind(kind: str) -> list[Lattice | Forest | NBest]:
    if kind == "forest":
        return [Forest.from_lattice(lattice) for lattice in LATTICES]
    if kind == "list":
        return [NBest.from_hypotheses(each.paths(), feature_names=NAMES) for each in LATTICES]
    return list(LATTICES)


@pytest.mark.parametrize("kind", ["lattice", "forest", "list"])
@pytest.mark.parametrize("optimiser", ["lbfgs", "adagrad", "sgd"])
@pytest.mark.parametrize("metric", [WER(), GRR()])
def test_separable_weights_are_found(kind, optimiser, metric):
    rate = {"lbfgs": 0.1, "adagrad": 0.5, "sgd": 5.0}[optimiser]
    learner = Risk(start=START, optimiser=optimiser, rate=rate, rounds=20, batch=2, epsilon=0.0)
    learner.fit(as_kind(kind), REFERENCES, metric, progress=False)
    said = [best(lattice.reweighted(learner.weights)).tokens for lattice in LATTICES]
    perfect = 1.0 if metric.higher_is_better else 0.0
    assert corpus_score(metric, said, REFERENCES) == perfect
    assert learner.history[-1].score == perfect
    told = learner.history[-1].details
    assert told["exact"] == 1.0
    assert told["list" if kind == "list" else "rows"] == 1.0


@pytest.mark.parametrize("kind", ["lattice", "forest"])
def test_metrics_without_a_machine_go_by_the_k_best(kind):
    learner = Risk(start=START, rounds=10, epsilon=0.0, k=3)
    learner.fit(as_kind(kind), REFERENCES, BLEU(order=1), progress=False)
    assert learner.history[-1].score == 1.0
    told = learner.history[-1].details
    # eight, four and two paths, of which three are looked at
    assert (told["k-best"], told["exact"], told["rows"]) == (1.0, pytest.approx(1 / 3), 0.0)
    assert told["judge"] == str(BLEU(order=1, smooth="add-k"))


def test_the_k_best_of_all_rounds_are_kept():
    learner = Risk(start=START, rounds=4, iterations=2, epsilon=0.0, budget=1, k=2)
    learner.fit(LATTICES, REFERENCES, WER(), progress=False)
    assert learner.history[-1].details["k-best"] == 1.0
    assert len(learner.state["decoded"]) == len(learner.history)
    some = learner._corpus.kept["risk"]._lists[0]
    keys = {tuple(row) for row in some.use.toarray().tolist()}
    assert len(keys) == len(some.value) > 2
    evaluator = WER().against(REFERENCES[0])
    for decoded in learner.state["decoded"]:
        weights = dict(zip(learner.weights, decoded, strict=True))
        path = best(LATTICES[0].reweighted(weights))
        row = np.zeros(LATTICES[0].num_arcs + LATTICES[0].num_states)
        row[list(path.arcs)] = row[-1] = 1.0
        place = some.use.toarray().tolist().index(row.tolist())
        assert some.value[place] == evaluator.score(path.tokens)


def test_samples_are_drawn_anew_and_reported():
    learner = Risk(
        start=START, optimiser="adagrad", rate=0.5, rounds=15, beyond="sample", samples=20,
        budget=1, batch=2, epsilon=0.0,
    )  # fmt: skip
    learner.fit(LATTICES, REFERENCES, WER(), progress=False)
    assert learner.history[-1].score == 0.0
    assert learner.history[-1].details["samples"] == 1.0
    assert learner.history[-1].details["exact"] == 0.0


def terms_of(metric, share, **options):
    corpus = LearnerCorpus(TrainingTask(LATTICES, REFERENCES, metric))
    settings = RiskSettings(**{"entropy": 0.0, "budget": 10_000, "workers": 1, **options})
    return corpus, RiskTerms(corpus, floats(share), settings)


def value(terms, weights, places, temperature):
    return terms.value(weights, places, Estimation(temperature=temperature))[0]


@pytest.mark.parametrize("metric", [WER(), GRR()])
def test_the_objective_is_the_weighted_mean_and_its_gradient_right(metric):
    share = np.array([3.0, 2.0, 1.0])
    corpus, terms = terms_of(metric, share, entropy=0.3, workers=2)
    weights = np.array([0.4, -0.2, 0.7])
    everyone = range(3)
    found = value(terms, weights, everyone, 0.8)
    each = [
        risk(space, evaluator, corpus.mapping(weights), temperature=0.8)
        for space, evaluator in zip(LATTICES, corpus.evaluators, strict=True)
    ]
    expected = share @ [one.expected for one in each] / share.sum()
    entropy = share @ [one.entropy for one in each] / share.sum()
    sign = 1.0 if metric.higher_is_better else -1.0
    assert found.expected == pytest.approx(expected)
    assert found.loss == pytest.approx(-sign * expected - 0.3 * entropy)
    for place in range(3):
        step = 1e-6 * np.eye(3)[place]
        up, down = (value(terms, weights + way * step, everyone, 0.8).loss for way in (1, -1))
        assert found.gradient[place] == pytest.approx((up - down) / 2e-6, abs=1e-7)
    # the mean over batches of one size is the whole
    parts = [value(terms, weights, [place], 0.8) for place in everyone]
    assert np.mean([part.loss for part in parts]) == pytest.approx(found.loss)
    np.testing.assert_allclose(np.mean([part.gradient for part in parts], axis=0), found.gradient)


def test_products_without_room_are_made_again(monkeypatch):
    weights = np.array([0.4, -0.2, 0.7])
    wide, roomy = terms_of(GRR(), np.ones(3))
    value(roomy, weights, range(3), 1.0)
    monkeypatch.setattr("decoding.training.risk.corpus_risk.MOST_EDGES", 10)
    close, narrow = terms_of(GRR(), np.ones(3))
    for _ in range(2):
        assert not any(inexact for _, inexact in narrow.look())
        one, other = (value(terms, weights, range(3), 1.0) for terms in (roomy, narrow))
        assert one.loss == other.loss
        assert one.gradient.tolist() == other.gradient.tolist()
    kept = ["graph" in problem.__dict__ for problem in close.kept["risk"].problems]
    assert kept.count(True) <= 1
    assert all("graph" in problem.__dict__ for problem in wide.kept["risk"].problems)


def test_weighted_by_denominators_a_sharp_model_has_the_metric_of_its_corpus():
    sharp = {"good": 30.0, "bad": 0.0, "noise": 25.0}
    corpus, terms = terms_of(WER(), np.ones(3))
    assert denominators(corpus.evaluators).tolist() == [3.0, 2.0, 1.0]
    _, terms = terms_of(WER(), denominators(corpus.evaluators))
    found = value(terms, corpus.vector(sharp), range(3), 0.01)
    assert found.expected == pytest.approx(corpus.score(corpus.vector(sharp)), abs=1e-9)
    with pytest.raises(OptionError, match="no denominator"):
        denominators([BLEU().against(["a"])])
    learner = Risk(start=START, weighting="denominator")
    with pytest.raises(OptionError, match="no denominator"):
        learner.fit(LATTICES, REFERENCES, BLEU(), progress=False)


def test_regularisers_shrink_and_put_out():
    def fitted(**options):
        learner = Risk(start=START, rounds=8, iterations=50, **options)
        return learner.fit(LATTICES, REFERENCES, WER(), progress=False).weights

    free, shrunk, sparse = fitted(l2=1e-6), fitted(l2=0.1), fitted(l2=0.0, l1=0.02)
    assert abs(shrunk["good"]) < abs(free["good"])
    assert sparse["noise"] == 0.0
    assert sparse["good"] - sparse["bad"] > 0.0
    for optimiser in ("adagrad", "sgd"):
        put_out = fitted(optimiser=optimiser, l1=10.0, rate=1.0, epsilon=0.0)
        assert list(put_out.values()) == [0.0, 0.0, 0.0]


def test_entropy_keeps_the_model_undecided():
    def entropy_after(entropy):
        learner = Risk(start=START, rounds=5, entropy=entropy)
        learner.fit(LATTICES, REFERENCES, WER(), progress=False)
        evaluator = WER().against(REFERENCES[0])
        return risk(LATTICES[0], evaluator, learner.weights).entropy

    assert entropy_after(1.0) > entropy_after(0.05) > entropy_after(0.0)


def test_temperatures_come_one_after_the_other():
    learner = Risk(start=START, temperatures=(4.0, 1.0), rounds=2, iterations=3, epsilon=0.0)
    learner.fit(LATTICES, REFERENCES, WER(), progress=False)
    temperatures = learner.history.as_columns()["temperature"]
    assert temperatures == sorted(temperatures, reverse=True)
    assert set(temperatures) == {4.0, 1.0}
    assert all(temperatures.count(each) <= 2 for each in (4.0, 1.0))
    losses = learner.history.as_columns()["loss"]
    for before, after in zip(range(3), range(1, 4), strict=True):
        if after < len(losses) and temperatures[before] == temperatures[after]:
            assert losses[after] <= losses[before] + 1e-12


class StopError(Exception):
    pass


@pytest.mark.parametrize(
    "options",
    [
        {"temperatures": (2.0, 1.0), "iterations": 2},
        {"iterations": 2, "budget": 1, "k": 2},
        {"optimiser": "adagrad", "beyond": "sample", "samples": 10, "budget": 1},
        {"optimiser": "sgd", "batch": 2, "budget": 3, "k": 2},
    ],
)
def test_an_interrupted_fit_resumes_to_the_same_weights(tmp_path, options):
    options = {"start": START, "rounds": 3, "epsilon": 0.0, "seed": 4, **options}
    whole = Risk(**options).fit(LATTICES, REFERENCES, WER(), progress=False)
    assert len(whole.history) > 2

    class Interrupted(Risk):
        def round(self, task):
            if len(self.history) == 2:
                raise StopError
            return super().round(task)

    path = tmp_path / "checkpoint.json"
    with pytest.raises(StopError):
        Interrupted(**options).fit(LATTICES, REFERENCES, WER(), checkpoint=path, progress=False)
    json.loads(path.read_text())
    resumed = Risk.load(path)
    assert len(resumed.history) == 2
    resumed.fit(LATTICES, REFERENCES, WER(), progress=False)
    assert resumed.weights == whole.weights
    assert [each.score for each in resumed.history] == [each.score for each in whole.history]
    again = pickle.loads(pickle.dumps(whole))
    assert again.weights == whole.weights


def test_the_weights_do_not_depend_on_the_workers():
    options = {"start": START, "rounds": 2, "optimiser": "adagrad", "beyond": "sample",
               "samples": 10, "budget": 1, "batch": 2}  # fmt: skip
    one = Risk(**options).fit(LATTICES, REFERENCES, WER(), progress=False)
    other = Risk(workers=3, **options).fit(LATTICES, REFERENCES, WER(), progress=False)
    assert one.weights == other.weights


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperatures": ()}, "at least one temperature"),
        ({"temperatures": (1.0, 0.0)}, "temperature is finite and greater than 0"),
        ({"optimiser": "newton"}, "optimiser is one of"),
        ({"weighting": "words"}, "weighting is one of"),
        ({"beyond": "sample"}, "lbfgs needs a function"),
        ({"rounds": 0}, "rounds is at least 1"),
        ({"l1": -1.0}, "l1 is a number from 0 up"),
        ({"rate": 0.0}, "rate is finite"),
        ({"entropy": float("nan")}, "entropy is finite"),
        ({"budget": 0}, "budget"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Risk(**options)


def test_real_lattices_are_learnt_from(shared_data):
    from itertools import islice

    from lattices import read

    file = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = list(islice(read(file), 20))
    references = [space.references for space in spaces]
    learner = Risk(rounds=2, iterations=10)
    learner.fit(spaces, references, GRR(), progress=False)
    uniform = dict.fromkeys(learner.weights, 1.0 / len(learner.weights))
    said = [best(space.reweighted(uniform)).tokens for space in spaces]
    assert learner.history[-1].score > corpus_score(GRR(), said, references)
    assert learner.history[-1].details["exact"] == 1.0
