"""The oracle of a forest is the best of all its derivations, by enumeration and by OpenFst."""

from __future__ import annotations

import gzip
import json
import random
from math import prod
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Oracle, oracle
from fstmetrics import CER, GRR, WER, WRR, AffixSimilarity
from fstmetrics.contract import nbest_stats, quality, scores_of
from lattices import Hypothesis, Lattice, NBest, Vocabulary, concatenate
from lattices.errors import TooLargeError
from lattices.intersection import ENGINES, forest_as_lattice
from lattices.intersection.forest_as_lattice import as_lattice
from lattices.intersection.kernel import ENGINE
from lattices.spaces import Forest
from tests.judges import score_by_recursion
from tests.strategies import examples, sentences, small_forests, small_lattices

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
REFERENCES = st.lists(sentences("abc"), min_size=1, max_size=3)


def first_of(values):
    """Apply the tie rule to (value, hypothesis) pairs; values that differ by rounding are equal."""
    best = max(value for value, _ in values)
    return max(
        (found for value, found in values if value > best - 1e-9), key=lambda found: found.score
    )


@settings(max_examples=examples(1000))
@given(small_forests(exact=True), REFERENCES, METRICS)
def test_the_best_of_all_derivations_by_the_tie_rule(forest, references, metric):
    values = [
        (score_by_recursion(found.tokens, references, metric), found)
        for found in forest.derivations()
    ]
    expected = first_of(values)
    machine = metric.against(references).machine(forest.vocabulary)
    found = ENGINE.best([(forest, machine)])[0]
    best = max(value for value, _ in values)
    assert found.value == pytest.approx(best, abs=1e-6)
    chosen = {one.arcs: (value, one.score) for value, one in values}[tuple(found.arcs.tolist())]
    assert chosen == (pytest.approx(best, abs=1e-9), expected.score)


@settings(max_examples=examples(400))
@given(small_forests(), REFERENCES, METRICS, st.sampled_from([0.25, 1.0, -0.5, 3.0]))
def test_hope_is_the_best_sum_of_metric_and_model(forest, references, metric, model_weight):
    evaluator = metric.against(references)
    best = max(
        quality(metric, evaluator.score(found.tokens)) + model_weight * found.score
        for found in forest.derivations()
    )
    found = oracle(forest, evaluator, model_weight=model_weight)
    objective = quality(metric, found.score) + model_weight * found.hypothesis.score
    assert objective == pytest.approx(best, abs=1e-6)


@settings(max_examples=examples(300))
@given(
    small_forests(words=["ab", "b", "bca"], exact=True), REFERENCES, st.sampled_from([True, False])
)
def test_characters(forest, references, spaces):
    evaluator = CER(spaces=spaces).against(references)
    values = [(-evaluator.score(found.tokens), found) for found in forest.derivations()]
    found = oracle(forest, evaluator)
    assert -found.score == max(value for value, _ in values)
    highest = max(each.score for value, each in values if -value == found.score)
    assert found.hypothesis.score == highest
    assert found.hypothesis.arcs in [each.arcs for _, each in values]


@settings(max_examples=examples(300))
@given(
    small_forests(words=["walk", "walked", "talked"], exact=True),
    st.lists(sentences(["walking", "talk"]), min_size=1, max_size=2),
    st.sampled_from([WER, WRR, GRR]),
)
def test_soft_matching(forest, references, family):
    evaluator = family(similarity=AffixSimilarity(epsilon=0.9)).against(references)
    values = [
        quality(evaluator.metric, evaluator.score(found.tokens)) for found in forest.derivations()
    ]
    found = oracle(forest, evaluator)
    assert quality(evaluator.metric, found.score) == pytest.approx(max(values), abs=1e-6)


@settings(max_examples=examples(500))
@given(small_lattices(exact=True), st.lists(sentences(), min_size=1, max_size=2), METRICS)
def test_the_forest_of_a_lattice_has_its_oracle(lattice, references, metric):
    evaluator = metric.against(references)
    of_lattice = oracle(lattice, evaluator)
    of_forest = oracle(Forest.from_lattice(lattice), evaluator)
    assert of_forest.score == of_lattice.score
    assert of_forest.hypothesis.score == pytest.approx(of_lattice.hypothesis.score)
    assert of_forest.tokens in {path.tokens for path in lattice.paths()}
    assert (of_forest.engine, of_forest.exact) == ("kernel", True)


def one_path_each(forest):
    """Return a lattice with a path of its own for each derivation."""
    arcs = []
    states = 2
    for found in forest.derivations():
        here = 0
        words = [*found.tokens, ""]
        for place, word in enumerate(words):
            last = place == len(words) - 1
            arcs.append((here, 1 if last else states, word, found.score if last else 0.0))
            here, states = states, states + (not last)
    return Lattice.from_arcs(arcs, finals=[1], states=states, vocabulary=forest.vocabulary)


@settings(max_examples=examples(150))
@given(small_forests(max_derivations=20, exact=True), REFERENCES, METRICS)
def test_openfst_finds_the_same_in_the_expanded_forest(forest, references, metric):
    machine = metric.against(references).machine(forest.vocabulary)
    lattice = one_path_each(forest)
    expected = ENGINES.get("openfst").best([(lattice, machine)])[0]
    found = ENGINE.best([(forest, machine)])[0]
    assert found.value == pytest.approx(expected.value, abs=1e-6)
    same = lattice.hypothesis(expected.arcs).score
    assert forest.hypothesis(found.arcs.tolist()).score == same


@settings(max_examples=examples(200))
@given(st.data(), small_forests(exact=True, features=False), REFERENCES, METRICS)
def test_the_order_of_edges_does_not_matter(data, forest, references, metric):
    rows = []
    for edge in range(forest.num_edges):
        side = forest.symbol[forest.symbol_offset[edge] : forest.symbol_offset[edge + 1]].tolist()
        rows.append(
            (
                int(forest.head[edge]),
                forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]].tolist(),
                [forest.vocabulary.word(part) if part > 0 else -1 - part for part in side],
                float(forest.score[edge]),
            )
        )
    other = Forest.from_edges(
        data.draw(st.permutations(rows)), root=forest.root, nodes=forest.num_nodes
    )
    evaluator = metric.against(references)
    one, two = oracle(forest, evaluator), oracle(other, evaluator)
    assert (one.score, one.hypothesis.score) == (two.score, two.hypothesis.score)


def hiero_forests(folder, density):
    vocabulary = Vocabulary()
    path = folder / f"multi30k-deen/hiero150.de-en.forest.{density}.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            edges = [(e["head"], e["tails"], e["rhs"], e["score"]) for e in record["edges"]]
            forest = Forest.from_edges(
                edges,
                root=record["root"],
                nodes=len(record["nodes"]),
                vocabulary=vocabulary,
                references=record["refs"],
            )
            yield forest, record["hyp"]


def cdec_forest(folder, name):
    """Read cdec's JSON, whose keys repeat; scores are minus the sums of the features."""
    text = gzip.decompress((folder / f"cdec-forests/{name}.json.gz").read_bytes())
    rules, heads, edges = {}, {}, []
    nodes = 0
    for key, value in json.loads(text, object_pairs_hook=list):
        if key == "rules":
            rules = dict(zip(value[::2], value[1::2], strict=True))
        elif key == "edges":
            edges.extend(dict(edge) for edge in value)
        elif key == "node":
            heads.update(dict.fromkeys(dict(value)["in_edges"], nodes))
            nodes += 1
    rows = []
    for number, edge in enumerate(edges):
        side = [
            int(part[1:-1]) - 1 if part[0] == "[" and part[1:-1].isdigit() else part
            for part in rules[edge["rule"]].split(" ||| ")[2].split()
        ]
        score = -float(sum((edge.get("feats") or [])[1::2]))
        rows.append((heads[number], edge.get("tail") or [], side, score))
    return Forest.from_edges(rows, root=nodes - 1, nodes=nodes)


def random_sentences(forest, count, seed):
    """Draw derivations, every edge of a node as likely as the others."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        edges, wanted = [], [forest.root]
        while wanted:
            node = wanted.pop()
            edge = draw.randrange(int(forest.in_offset[node]), int(forest.in_offset[node + 1]))
            edges.append(edge)
            tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]]
            wanted.extend(tails[::-1].tolist())
        found.append(forest.hypothesis(edges))
    return found


def number_of_derivations(forest):
    count = [0] * forest.num_nodes
    for edge, head in enumerate(forest.head.tolist()):
        tails = forest.tail[forest.tail_offset[edge] : forest.tail_offset[edge + 1]].tolist()
        count[head] += prod(count[tail] for tail in tails)
    return count[forest.root]


def best_score(evaluator, hypotheses):
    rows = nbest_stats(evaluator, NBest.from_hypotheses(hypotheses))
    return max(scores_of(evaluator.metric, rows).tolist())


@pytest.mark.parametrize("density", ["d10", "d50"])
def test_real_oracles_are_no_worse_than_what_the_forests_say(shared_data, density):
    enumerated = 0
    for number, (forest, one_best) in enumerate(hiero_forests(shared_data, density)):
        for metric in (GRR(), WRR()):
            evaluator = metric.against(forest.references)
            found = oracle(forest, evaluator)
            assert found.score >= evaluator.score(one_best)
            some = random_sentences(forest, 200, number)
            assert found.score >= best_score(evaluator, some)
            if metric == GRR() and number_of_derivations(forest) <= 2000:
                everything = list(forest.derivations())
                assert found.score == best_score(evaluator, everything)
                enumerated += 1
    assert enumerated > (0 if density == "d50" else 20)


def test_a_real_forest_with_several_references(shared_data):
    forest = cdec_forest(shared_data, "0")
    references = [
        (shared_data / f"cdec-forests/0.ref.{number}").read_text().strip() for number in range(4)
    ]
    some = random_sentences(forest, 500, 0)
    for metric in (GRR(), WRR(), WER()):
        evaluator = metric.against(references)
        found = oracle(forest, evaluator)
        objective = quality(metric, found.score)
        assert objective >= max(quality(metric, evaluator.score(each.tokens)) for each in some)
        alone = [oracle(forest, metric.against([each])).score for each in references]
        assert objective == max(quality(metric, score) for score in alone)


def test_a_large_forest_has_its_own_sentences(shared_data):
    forest = cdec_forest(shared_data, "urdu")
    sentence: Hypothesis = random_sentences(forest, 1, 3)[0]
    for metric in (GRR(), WRR()):
        found = oracle(forest, metric.against([sentence.tokens]))
        assert found.score == 1.0
        assert found.tokens == sentence.tokens
        assert found.hypothesis.score >= sentence.score - 1e-9


@given(st.lists(small_forests(words="ab"), min_size=1, max_size=3), st.sampled_from([0.0, 0.25]))
def test_a_long_forest_is_searched_as_a_lattice(parts: list[Forest], weight: float) -> None:
    # often enough that pairs of places take more than rows of places do
    chained = concatenate([part for part in parts for _ in range(40 // len(parts))])
    assert isinstance(chained, Forest)
    evaluator = WER().against(["a b " * 40])
    whole = oracle(chained, evaluator, model_weight=weight)
    with mock.patch.object(forest_as_lattice, "as_lattice", wraps=as_lattice) as made:
        less = oracle(chained, evaluator, model_weight=weight, memory=1_000_000)
    assert made.called
    assert less.exact
    assert value(less, weight) == pytest.approx(value(whole, weight), abs=1e-9)
    with pytest.raises(TooLargeError, match="nodes and a reference of 80 words"):
        oracle(chained, evaluator, memory=1000)


def value(found: Oracle, weight: float) -> float:
    return weight * found.hypothesis.score - found.score
