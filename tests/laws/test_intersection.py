"""Both engines, the paper's machine and enumeration give the same best value and path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from fstmetrics import GRR, WER, WRR, AffixSimilarity
from lattices import concatenate
from lattices.errors import TooLargeError
from lattices.intersection import ENGINES
from lattices.spaces import Lattice
from tests.judges import model_score, paper_machine, score_by_recursion
from tests.strategies import examples, sentences, small_lattices

METRICS = st.one_of(
    st.just(WER()),
    st.just(WRR()),
    st.builds(
        GRR,
        n=st.integers(1, 6),
        alpha=st.sampled_from([1.0, 0.0, -0.9, 0.5, 2.0, 1 / 3]),
        beta=st.sampled_from([0.0, 1.0, 0.25, -0.5]),
    ),
)
ENGINE_NAMES = ("kernel", "openfst")


@settings(max_examples=examples(1000))
@given(small_lattices(exact=True), st.lists(sentences(), min_size=1, max_size=3), METRICS)
def test_engines_agree_with_enumeration(lattice, references, metric):
    evaluator = metric.against(references)
    machine = evaluator.machine(lattice.vocabulary)
    expected = max(score_by_recursion(path.tokens, references, metric) for path in lattice.paths())
    found = {name: ENGINES.get(name).best([(lattice, machine)])[0] for name in ENGINE_NAMES}
    for result in found.values():
        assert result.value == pytest.approx(expected, abs=1e-6)
        tokens = lattice.hypothesis(result.arcs).tokens
        assert score_by_recursion(tokens, references, metric) == pytest.approx(expected, abs=1e-6)
    kernel, openfst = (
        model_score(lattice, lattice.hypothesis(each.arcs)) for each in found.values()
    )
    assert kernel == openfst


@settings(max_examples=examples(500))
@given(
    small_lattices(exact=True),
    sentences(),
    st.sampled_from([WER(), GRR(), GRR(n=2), GRR(n=3, alpha=2.0, beta=1.0)]),
)
def test_of_equal_values_the_highest_model_score_is_taken(lattice, reference, metric):
    paths = list(lattice.paths())
    values = [
        (score_by_recursion(path.tokens, [reference], metric), model_score(lattice, path))
        for path in paths
    ]
    machine = metric.against([reference]).machine(lattice.vocabulary)
    for name in ENGINE_NAMES:
        found = ENGINES.get(name).best([(lattice, machine)])[0]
        path = lattice.hypothesis(found.arcs)
        value = score_by_recursion(path.tokens, [reference], metric)
        assert (value, model_score(lattice, path)) == max(values)
        again = ENGINES.get(name).best([(lattice, machine)])[0]
        assert again.arcs.tolist() == found.arcs.tolist()


@settings(max_examples=examples(300))
@given(small_lattices(exact=True), sentences(), METRICS)
def test_the_papers_machine_has_the_same_best_value(lattice, reference, metric):
    ours = metric.against([reference]).machine(lattice.vocabulary)
    papers = paper_machine(reference, metric, lattice.vocabulary)
    kernel = ENGINES.get("kernel")
    assert kernel.best([(lattice, ours)])[0].value == pytest.approx(
        kernel.best([(lattice, papers)])[0].value, abs=1e-9
    )


@settings(max_examples=examples(300))
@given(
    small_lattices(),
    st.lists(sentences(), min_size=1, max_size=2),
    METRICS,
    st.sampled_from([0.5, -0.5, 3.0, 0.01]),
)
def test_model_weight_interpolates(lattice, references, metric, weight):
    machine = metric.against(references).machine(lattice.vocabulary)
    expected = max(
        score_by_recursion(path.tokens, references, metric) + weight * path.score
        for path in lattice.paths()
    )
    for name in ENGINE_NAMES:
        found = ENGINES.get(name).best([(lattice, machine)], model_weight=weight)[0]
        assert found.value == pytest.approx(expected, abs=1e-5)
        path = lattice.hypothesis(found.arcs)
        value = score_by_recursion(path.tokens, references, metric) + weight * path.score
        assert value == pytest.approx(expected, abs=1e-5)


@settings(max_examples=examples(200))
@given(small_lattices(words=("walk", "walked", "talked", "x")), sentences(("walking", "talk")))
def test_soft_matching_agrees_with_the_scorer(lattice, reference):
    for metric in (
        WER(similarity=AffixSimilarity(epsilon=0.9)),
        GRR(n=3, similarity=AffixSimilarity(epsilon=0.9)),
    ):
        evaluator = metric.against([reference])
        machine = evaluator.machine(lattice.vocabulary, np.unique(lattice.label))
        best = max(
            (evaluator.score(path.tokens) for path in lattice.paths()),
            key=lambda score: score if metric.higher_is_better else -score,
        )
        for name in ENGINE_NAMES:
            found = ENGINES.get(name).best([(lattice, machine)])[0]
            score = evaluator.score(lattice.hypothesis(found.arcs).tokens)
            assert score == pytest.approx(best, abs=1e-5)


@settings(max_examples=examples(200))
@given(
    small_lattices(exact=True, max_states=5, max_arcs=7),
    small_lattices(max_states=5, max_arcs=7),
    METRICS,
)
def test_a_reference_lattice_is_the_list_of_its_sentences(lattice, reference, metric):
    listed = sorted({path.tokens for path in reference.paths()})
    whole, split = metric.against([reference]), metric.against(listed)
    for path in lattice.paths():
        assert whole.score(path.tokens) == pytest.approx(split.score(path.tokens), abs=1e-9)
    for name in ENGINE_NAMES:
        engine = ENGINES.get(name)
        one = engine.best([(lattice, whole.machine(lattice.vocabulary))])[0]
        other = engine.best([(lattice, split.machine(lattice.vocabulary))])[0]
        assert one.value == pytest.approx(other.value, abs=1e-6)


@settings(max_examples=100)
@given(st.lists(st.tuples(small_lattices(exact=True), sentences()), min_size=1, max_size=8))
def test_a_batch_on_two_threads_equals_one_by_one(problems):
    kernel = ENGINES.get("kernel")
    lattices = [lattice for lattice, _ in problems]
    machines = [GRR().against([ref]).machine(lattice.vocabulary) for lattice, ref in problems]
    together = kernel.best(list(zip(lattices, machines, strict=True)), workers=2)
    for lattice, machine, found in zip(lattices, machines, together, strict=True):
        alone = kernel.best([(lattice, machine)])[0]
        assert (found.value, found.arcs.tolist()) == (alone.value, alone.arcs.tolist())


def whole_bytes(lattice, machine):
    """Return about what the rows of all states take."""
    return 10 * lattice.num_states * machine.automaton.num_states


@settings(max_examples=examples(500))
@given(
    st.lists(small_lattices(exact=True, features=False), min_size=1, max_size=3),
    st.lists(st.lists(st.sampled_from("abcd"), max_size=10), min_size=1, max_size=2),
    st.tuples(st.integers(8, 30), st.integers(1, 20)),
    METRICS,
    st.sampled_from([0.0, 0.0, 0.5, -0.5]),
)
def test_a_search_in_stretches_equals_that_of_the_whole(parts, references, times, metric, weight):
    lattice = concatenate(parts * times[0])
    texts = [" ".join(words * times[1]) for words in references]
    machine = metric.against(texts).machine(lattice.vocabulary)
    memory = max(whole_bytes(lattice, part) for part in machine.parts) // 4 + 20_000
    try:
        check_stretches(lattice, machine, weight, memory)
    except TooLargeError:
        reject()


def long_lattice(random, segments, words):
    """Return segments of random size, end to end, with arcs that skip some of their states."""
    parts = []
    for _ in range(segments):
        states = random.integers(2, 40)
        arcs = [(state, state + 1) for state in range(states - 1)]
        for state in random.integers(0, states - 1, states):
            arcs.append((state, min(states - 1, state + random.integers(1, 6))))
        labels = random.choice(words, len(arcs))
        scores = random.integers(-4, 4, len(arcs)) / 4
        parts.append(
            Lattice.from_arcs(
                [(*ends, *rest) for *rest, ends in zip(labels, scores, arcs, strict=True)],
                finals={int(states) - 1: 0.5, int(states) - 2: 0.0},
            )
        )
    return concatenate(parts)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("metric", "weight"),
    [
        (WER(), 0.0),
        (WER(), 0.25),
        (WER(similarity=AffixSimilarity(epsilon=0.9)), 0.0),
        (GRR(), 0.0),
        (GRR(n=2, alpha=-0.9, beta=1.0), 0.0),
        (GRR(n=6, alpha=2.0, beta=-0.5), -0.5),
        (GRR(similarity=AffixSimilarity(epsilon=0.9)), 0.0),
    ],
)
def test_rows_are_made_in_slices_of_long_references(metric, weight, seed):
    random = np.random.default_rng(seed)
    words = ["walk", "walked", "talked", "", *(f"w{number}" for number in range(30))]
    lattice = long_lattice(random, 25, words)
    path = lattice.vocabulary.decode(lattice.label[lattice.label > 0].tolist())
    cut = int(random.integers(0, len(path) // 2))
    reference = path[cut : cut + int(random.integers(300, 700))] * int(random.integers(1, 4))
    machine = metric.against([" ".join(reference)]).machine(
        lattice.vocabulary, np.unique(lattice.label)
    )
    check_stretches(lattice, machine, weight, whole_bytes(lattice, machine.parts[0]) // 10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", [WER(), GRR()], ids=lambda each: each.name)
def test_arcs_lead_over_whole_stretches(metric, seed):
    random = np.random.default_rng(seed)
    states, words = 600, [f"w{number}" for number in range(40)]
    arcs = [(at, at + 1, random.choice(words)) for at in range(states - 1)]
    for at in random.integers(0, states - 1, 25).tolist():
        onward = min(states - 1, at + int(random.integers(30, 250)))
        arcs.append((at, onward, random.choice(words)))
    lattice = Lattice.from_arcs(arcs, finals=[states - 1])
    # a path that takes long arcs where there are some
    leaving = {}
    for src, dst, word in arcs:
        leaving.setdefault(src, []).append((dst, word))
    at, said = 0, []
    while at < states - 1:
        at, word = max(leaving[at])
        said.append(word)
    machine = metric.against([" ".join(said)]).machine(lattice.vocabulary)
    whole = whole_bytes(lattice, machine.parts[0])
    fitting = 0
    for share in (2, 3, 4, 6, 8):
        try:
            check_stretches(lattice, machine, 0.0, whole // share)
        except TooLargeError:
            continue
        fitting += 1
    assert fitting


def check_stretches(lattice, machine, weight, memory):
    """Check a search with little memory against one that has all rows."""
    kernel = ENGINES.get("kernel")
    whole = kernel.best([(lattice, machine)], model_weight=weight)[0]
    found = kernel.best([(lattice, machine)], model_weight=weight, memory=memory)[0]
    assert found.value == whole.value
    assert model_score(lattice, lattice.hypothesis(found.arcs)) == model_score(
        lattice, lattice.hypothesis(whole.arcs)
    )


@pytest.mark.parametrize("weight", [0.0, 0.25])
def test_automata_search_in_stretches(weight):
    lattice = long_lattice(np.random.default_rng(5), 20, ["a", "b", "c", ""])
    machine = paper_machine("a b c c b a a c b", GRR(n=3), lattice.vocabulary)
    memory = 8 * lattice.num_states * machine.automaton.num_states
    check_stretches(lattice, machine, weight, memory // 2)
    with pytest.raises(TooLargeError, match=rf"{lattice.num_states} lattice states x \d+ machine"):
        check_stretches(lattice, machine, weight, memory // 100)
