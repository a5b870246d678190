"""The kernel that searches forests: its tie rule, its limits, and forests of characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import oracle, oracle_kbest
from fstmetrics import CER, GRR, TBLEU, WER, WRR, AffixSimilarity
from lattices import Lattice
from lattices._native import plan_forest
from lattices.algorithms import to_characters
from lattices.errors import EngineError, OptionError, TooLargeError
from lattices.intersection import forest_as_lattice
from lattices.intersection.kernel import ENGINE
from lattices.spaces import Forest
from tests.strategies import examples, small_forests

# what is asked of a node
UNUSED, ANCHORED, ANYWHERE = range(3)


def best(forest, metric, *references, **options):
    machine = metric.against(references).machine(forest.vocabulary)
    found = ENGINE.best([(forest, machine)], **options)[0]
    return found, forest.hypothesis(found.arcs.tolist())


def test_a_run_of_matches_crosses_the_borders_of_nodes():
    forest = Forest.from_edges(
        [
            (0, [], ["a"]),
            (1, [], ["b"]),
            (2, [0, 1], [1, 0]),
            (2, [0, 1], [0, 1]),
            (3, [2, 2], [0, 1, "c"]),
        ]
    )
    found, sentence = best(forest, GRR(), "a b a b c")
    assert (sentence.text, found.value) == ("a b a b c", 1.0)
    found, sentence = best(forest, GRR(), "b a a b")
    assert (sentence.text, found.value) == ("b a a b c", (4 + 3 + 2 + 1 - 1) / 10)


def test_a_forgotten_run_is_not_taken_up_again():
    forest = Forest.from_edges([(0, [], ["a"]), (1, [0, 0], [0, "x", 1])])
    found, _ = best(forest, GRR(n=2), "a a")
    assert found.value == pytest.approx((2 - 1) / 3)


def test_ties_go_to_the_model():
    edges = [(0, [], ["b"], -1.0), (0, [], ["a"], -1.0), (0, [], ["c"], -2.0), (0, [], ["a"], -1.0)]
    forest = Forest.from_edges([*edges, (1, [0], [0])])
    found = best(forest, WER(), "x")[1]
    assert found.score == -1.0
    assert found == best(forest, WER(), "x")[1]
    assert best(forest, WER(), "c")[1].text == "c"
    likelier = Forest.from_edges([*edges[:2], (0, [], ["c"], -0.5), (1, [0], [0])])
    assert best(likelier, WER(), "x")[1].text == "c"


@settings(max_examples=examples(150), deadline=None)
@given(
    small_forests(exact=True),
    st.lists(st.sampled_from("xxxxxa"), max_size=20),
    st.sampled_from(
        [WRR(), GRR(), GRR(n=1, alpha=0.0), GRR(n=2, alpha=-0.5), GRR(n=2, alpha=0.5, beta=0.5)]
    ),
)
def test_where_hardly_anything_matches_the_model_decides(forest, reference, metric):
    evaluator = metric.against([" ".join(reference)])
    (found,) = ENGINE.best([(forest, evaluator.machine(forest.vocabulary))])
    wanted = min(forest.derivations(), key=lambda one: (-evaluator.score(one.tokens), -one.score))
    chosen = forest.hypothesis(found.arcs.tolist())
    assert evaluator.score(chosen.tokens) == evaluator.score(wanted.tokens)
    assert chosen.score == wanted.score


def test_the_reference_that_wins_is_told():
    forest = Forest.from_edges([(0, [], ["a"], -1.0), (0, [], ["b"])])
    found, sentence = best(forest, WER(), "c c", "a", "b")
    assert (found.part, sentence.text) == (2, "b")


def test_sentences_without_words():
    quiet = Forest.from_edges([(0, [], [], -1.0), (1, [0, 0], [0, 1], -0.5), (1, [], ["a"])])
    found, sentence = best(quiet, WER(), "")
    assert (found.value, sentence.text, sentence.arcs) == (1.0, "", (1, 0, 0))
    found, sentence = best(quiet, WER(), "a")
    assert (found.value, sentence.text) == (1.0, "a")
    between = Forest.from_edges([(0, [], []), (0, [], ["x"]), (1, [0], ["a", 0, "b"])])
    assert best(between, GRR(), "a b")[1].text == "a b"


def test_a_node_that_no_derivation_uses_is_not_searched():
    forest = Forest.from_edges(
        [(0, [], ["a"]), (2, [0, 1], [0, 1]), (2, [0], [0, "b"])], root=2, nodes=4
    )
    assert best(forest, WER(), "a b")[1].text == "a b"


def test_the_forest_of_a_lattice_has_one_row_a_node():
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], finals=[2])
    forest = Forest.from_lattice(lattice)
    alignment = GRR().against(["a c"]).machine(forest.vocabulary).parts[0].automaton
    _, use, rows = plan_forest(forest.columns, alignment.columns)
    assert set(use) == {ANCHORED}
    assert set(rows) == {1}


def test_what_is_asked_of_nodes():
    forest = Forest.from_edges(
        [(0, [], ["a"]), (1, [], ["b"]), (2, [0], [0]), (3, [2, 1], [0, 1]), (4, [3], ["x", 0])],
        root=3,
    )
    alignment = GRR(n=2).against(["x y z"]).machine(forest.vocabulary).parts[0].automaton
    _, use, _ = plan_forest(forest.columns, alignment.columns)
    assert use == [ANCHORED, ANYWHERE, ANCHORED, ANCHORED, UNUSED]


def test_sentences_too_long_for_single_precision():
    # every node doubles the sentence: 2 ** 25 insertions are no float32 any more
    doubling = [(node, [node - 1] * 2, [0, 1]) for node in range(1, 26)]
    forest = Forest.from_edges([(0, [], ["a"]), *doubling, (26, [25], ["b", 0]), (26, [], ["b"])])
    machine = WRR().against(["b"]).machine(forest.vocabulary)
    single, *_ = plan_forest(forest.columns, machine.parts[0].automaton.columns)
    assert not single
    found, sentence = best(forest, WRR(), "b")
    assert (found.value, sentence.text) == (1.0, "b")


def test_a_deep_forest_overflows_no_stack():
    depth = 3_000
    edges = [(node, [node - 1], [0, "a"] if node % 150 == 0 else [0]) for node in range(1, depth)]
    forest = Forest.from_edges([(0, [], ["b"]), (0, [], ["c"]), *edges])
    _, sentence = best(forest, WER(), "c a a a")
    assert sentence.tokens == ("c",) + ("a",) * 19
    assert len(sentence.arcs) == depth


def test_batches_over_threads_give_what_single_searches_give():
    forests = [
        Forest.from_edges([(0, [], [word]), (0, [], ["x"]), (1, [0, 0], [1, 0])]) for word in "abcd"
    ]
    evaluators = [GRR().against([f"{word} {word}"]) for word in "abcd"]
    machines = [
        evaluator.machine(forest.vocabulary)
        for evaluator, forest in zip(evaluators, forests, strict=True)
    ]
    together = ENGINE.best(list(zip(forests, machines, strict=True)), workers=3)
    assert [found.value for found in together] == [1.0] * 4
    alone = [
        ENGINE.best([(forest, machine)])[0]
        for forest, machine in zip(forests, machines, strict=True)
    ]
    assert [found.arcs.tolist() for found in together] == [found.arcs.tolist() for found in alone]


def test_what_cannot_be_searched(monkeypatch):
    forest = Forest.from_edges([(0, [], ["a"]), (1, [0], ["b", 0])], id="seg")
    lattice = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    machine = WER().against([lattice]).machine(forest.vocabulary)
    monkeypatch.setattr(forest_as_lattice, "MOST_STATES", 1)
    with pytest.raises(EngineError, match=r"'seg'.*more than 1 states.*references by which it"):
        ENGINE.best([(forest, machine)])
    with pytest.raises(OptionError, match="has no machine"):
        oracle(forest, TBLEU().against(["a"]))
    likely = Forest.from_edges([(0, [], ["a"], -10.0)], id="seg")
    with pytest.raises(EngineError, match=r"'seg': no derivation has a finite value"):
        oracle(likely, WER().against(["a"]), model_weight=1e308)
    with pytest.raises(TooLargeError, match=r"'seg': .*1 words take .* and 10 bytes are allowed"):
        oracle(forest, WER().against(["a"]), memory=10)


def test_a_message_names_a_forest_once():
    rows = [(0, [], ["a"], 0.0)] + [(node, [node - 1] * 2, [0, 1], 0.0) for node in range(1, 23)]
    forest = Forest.from_edges(rows, id="huge")
    with pytest.raises(EngineError, match="1048576 edges or words") as problem:
        oracle(forest, WER().against(["a"]))
    assert str(problem.value).count("forest 'huge'") == 1


def test_the_oracle_of_a_forest_carries_what_that_of_a_lattice_does():
    forest = Forest.from_edges(
        [
            (0, [], ["cat"], -0.5, {"lm": 1.0}),
            (0, [], ["hat"], -0.1, {"lm": 2.0}),
            (1, [0], ["the", 0], -0.2, {"tm": 3.0}),
        ]
    )
    found = oracle(forest, WER().against(["a dog", "the cat sat"]))
    assert (found.tokens, found.hypothesis.arcs) == (("the", "cat"), (2, 0))
    assert found.hypothesis.score == pytest.approx(-0.7)
    assert found.hypothesis.features == {"lm": 1.0, "tm": 3.0}
    assert (found.score, found.reference) == (1 / 3, 1)
    assert [edit.operation for edit in found.edits] == ["match", "match", "deletion"]
    assert oracle_kbest(forest, WER().against(["the cat"]), 1)[0].text == "the cat"
    hopeful = oracle(forest, WER().against(["the cat"]), model_weight=2.0)
    assert hopeful.text == "the hat"


def test_soft_matches_are_found_over_borders():
    forest = Forest.from_edges([(0, [], ["walk"]), (0, [], ["talked"]), (1, [0], ["he", 0])])
    similarity = AffixSimilarity(epsilon=0.5)
    weight = similarity.matrix(["talked"], ["walked"]).item()
    found = oracle(forest, GRR(similarity=similarity).against(["he walked"]))
    assert found.text == "he talked"
    assert found.score == pytest.approx((1 + weight + weight) / 3)


@settings(max_examples=examples(200))
@given(small_forests(words=["ab", "b", "cab"], exact=True))
@pytest.mark.parametrize("spaces", [True, False])
def test_a_forest_of_characters_has_the_same_derivations(spaces, forest):
    made = to_characters(forest, spaces)
    words = {found.arcs: found for found in forest.derivations()}
    seen = []
    for found in made.forest.derivations():
        edges = tuple(made.origin[list(found.arcs)].tolist())
        seen.append(edges)
        blank = " " if spaces else ""
        assert found.tokens == tuple(blank.join(words[edges].tokens))
        assert found.score == words[edges].score
    assert sorted(seen) == sorted(words)


def test_characters_of_a_sentence_that_a_quiet_node_begins():
    forest = Forest.from_edges([(0, [], []), (0, [], ["a"]), (1, [0], [0, "b"])])
    assert oracle(forest, CER().against(["b"])).text == "b"
    assert oracle(forest, CER().against(["a b"])).score == 0.0


def test_nodes_without_derivations_leave_nothing_behind():
    # node 0 has no edge; what was read before it must not pass for what was read from it
    forest = Forest.from_edges(
        [(1, [0], [0]), (1, [0, 0, 0], [0, 1, 2, "b"]), (2, [], []), (2, [1], ["b", 0])],
        root=2,
        nodes=3,
    )
    for reference in ("b", "b b b"):
        _, hypothesis = best(forest, WER(), reference)
        assert hypothesis.arcs == (2,)
