"""Hope, fear, oracle and the model's best equal enumeration, on lists, lattices and forests."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.training.hope_fear import hope_fear, hope_fears
from fstmetrics import BLEU, BLEUSBP, GRR, WER, WRR, DocumentBLEU
from fstmetrics.matching.ter import TER
from lattices import Forest, Hypothesis, Lattice, NBest
from lattices.errors import OptionError
from tests.judges import linear_gain
from tests.strategies import FEATURE_NAMES, examples, sentences, small_forests, small_lattices

METRICS = st.sampled_from(
    [
        WER(),
        WRR(),
        GRR(),
        GRR(n=2, alpha=2.0),
        BLEU(smooth="add-k"),
        BLEUSBP(order=2, smooth="exp"),
    ]
)
WEIGHTS = st.fixed_dictionaries(
    {name: st.sampled_from([-1.0, 0.25, 0.5, 2.0]) for name in FEATURE_NAMES}
)
SCALES = st.sampled_from([0.25, 1.0, 8.0])


def as_list(lattice: Lattice) -> NBest:
    return NBest.from_hypotheses(lattice.paths(), feature_names=lattice.feature_names)


SPACES = st.one_of(
    small_lattices(features=True),
    small_lattices(features=True).map(as_list),
    small_forests(features=True),
)


def members(space: Lattice | Forest | NBest) -> list[Hypothesis]:
    if isinstance(space, NBest):
        return list(space)
    return list(space.derivations() if isinstance(space, Forest) else space.paths())


def model(hypothesis: Hypothesis, weights: dict[str, float]) -> float:
    return sum(weights[name] * value for name, value in hypothesis.features.items())


@settings(max_examples=examples(300))
@given(SPACES, st.lists(sentences(), min_size=1, max_size=2), METRICS, WEIGHTS, SCALES)
def test_hope_and_fear_equal_enumeration(space, references, metric, weights, scale):
    evaluator = metric.against(references)
    sign = 1.0 if metric.higher_is_better else -1.0
    found = hope_fear(space, evaluator, weights, scale=scale)
    objectives = {
        "hope": (1.0, scale),
        "fear": (1.0, -scale),
        "oracle": (0.0, 1.0),
        "best": (1.0, 0.0),
    }
    for name, (of_model, of_metric) in objectives.items():
        chosen = getattr(found, name)

        def value(each, of_model=of_model, of_metric=of_metric):
            return of_model * model(each, weights) + of_metric * sign * evaluator.score(each.tokens)

        assert value(chosen.hypothesis) == pytest.approx(max(map(value, members(space))), abs=1e-6)
        assert chosen.score == evaluator.score(chosen.tokens)
        assert chosen.hypothesis.score == pytest.approx(model(chosen.hypothesis, weights), abs=1e-9)
    assert found.exact


@settings(max_examples=examples(200))
@given(
    st.one_of(small_lattices(features=True), small_forests(features=True)),
    st.lists(sentences(), min_size=1, max_size=2),
    st.tuples(sentences(), sentences()),
    WEIGHTS,
    SCALES,
)
def test_within_a_document_hope_and_fear_are_those_of_the_linear_form(
    space, references, said, weights, scale
):
    metric = BLEU(order=2, smooth="add-k")
    document = DocumentBLEU(metric, metric.stats(said[0], [said[1]]), 1.0)
    evaluator = document.against(references)
    found = hope_fear(space, evaluator, weights, scale=scale)

    def objective(hypothesis, sign):
        linear = linear_gain(hypothesis.tokens, references, document.factors)
        return model(hypothesis, weights) + sign * scale * linear

    for each, sign in ((found.hope, 1.0), (found.fear, -1.0)):
        most = max(objective(other, sign) for other in members(space))
        assert objective(each.hypothesis, sign) == pytest.approx(most, abs=1e-6)
        assert each.score == evaluator.score(each.hypothesis.tokens)
        assert not each.exact


def test_fear_is_not_the_worst_alignment():
    # taken for a substitution, "b" would gain nothing and be feared for its model score
    lattice = Lattice.from_arcs([(0, 1, "b", 0.5), (0, 1, "c", 0.0)], finals=[1])
    found = hope_fear(lattice, WRR().against(["b"]))
    assert (found.fear.text, found.hope.text) == ("c", "b")


@given(small_lattices(features=False, exact=True), sentences(), st.integers(1, 3))
def test_a_batch_gives_what_one_call_each_gives(lattice, reference, workers):
    spaces = [lattice, as_list(lattice), Forest.from_lattice(lattice)]
    evaluators = [GRR().against([reference])] * 3
    together = hope_fears(spaces, evaluators, workers=workers)
    alone = [
        hope_fear(space, evaluator) for space, evaluator in zip(spaces, evaluators, strict=True)
    ]
    for one, other in zip(together, alone, strict=True):
        for name in ("hope", "fear", "oracle", "best"):
            assert getattr(one, name).tokens == getattr(other, name).tokens
    lattice_says, list_says, _ = together
    for name, sign in (("hope", 1.0), ("fear", -1.0)):
        values = [
            sign * found.score + found.hypothesis.score
            for found in (getattr(lattice_says, name), getattr(list_says, name))
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_what_cannot_be_asked_is_refused():
    lattice = Lattice.from_arcs([(0, 1, "a")], finals=[1], id="s")
    evaluator = WER().against(["a"])
    for scale in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="greater than 0"):
            hope_fear(lattice, evaluator, scale=scale)
    with pytest.raises(OptionError, match="2 spaces, but 1 evaluators"):
        hope_fears([lattice] * 2, [evaluator])
    with pytest.raises(OptionError, match="no machine"):
        hope_fear(lattice, TER().against(["a"]))
    with pytest.raises(OptionError, match="stands beside a word"):
        hope_fear(lattice, BLEU(tokenize="intl").against(["a"]))
    with pytest.raises(OptionError, match="is empty"):
        hope_fear(NBest.from_hypotheses([], id="s"), evaluator)


def test_beyond_the_budget_bounds_hold():
    rows = [
        (state, state + 1, word, -float(ord(word)) / 99) for state in range(6) for word in "abc"
    ]
    lattice = Lattice.from_arcs(rows, finals=[6])
    for space in (lattice, Forest.from_lattice(lattice)):
        evaluator = BLEU(order=2, smooth="add-k").against(["a b c a b c", "c b a a"])
        whole = hope_fear(space, evaluator, scale=2.0)
        assert whole.exact
        assert whole.hope.bound is None
        part = hope_fear(space, evaluator, scale=2.0, budget=5)
        assert not part.exact
        assert part.hope.bound >= whole.hope.score + 0.5 * whole.hope.hypothesis.score - 1e-9
        assert part.fear.bound <= whole.fear.score - 0.5 * whole.fear.hypothesis.score + 1e-9
        assert part.oracle.bound >= whole.oracle.score - 1e-9


def test_real_lattices(shared_data):
    from itertools import islice

    from lattices import read

    file = shared_data / "multi30k-deen" / "val.de-en.lat.d10.jsonl.gz"
    spaces = list(islice(read(file), 20))
    for metric in (GRR(), BLEU(smooth="add-k")):
        evaluators = [metric.against(space.references) for space in spaces]
        for found in hope_fears(spaces, evaluators, workers=2):
            assert found.exact
            assert found.oracle.score >= found.hope.score >= found.fear.score
            assert found.best.hypothesis.score >= found.hope.hypothesis.score
