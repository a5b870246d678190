from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import CDER, WER, corpus_score, parse_metric
from fstmetrics.matching.cder import jump_distance
from fstmetrics.testing import check_metric
from lattices import OptionError
from lattices.spaces import Lattice

some = st.lists(st.sampled_from("abc"), max_size=6)


def shortest_path(words, reference):
    """The definition as a graph: places in both sentences, edits and jumps."""
    graph = nx.DiGraph()
    for i in range(len(words) + 1):
        for j in range(len(reference) + 1):
            graph.add_node((i, j))
            for other in range(len(words) + 1):
                if other != i:
                    graph.add_edge((i, j), (other, j), weight=1)
            if j < len(reference):
                graph.add_edge((i, j), (i, j + 1), weight=1)
                if i < len(words):
                    cost = int(words[i] != reference[j])
                    graph.add_edge((i, j), (i + 1, j + 1), weight=cost)
    return nx.shortest_path_length(graph, (0, 0), (len(words), len(reference)), weight="weight")


@given(some, some)
def test_the_distance_is_a_shortest_path(words, reference):
    assert jump_distance(words, reference) == shortest_path(words, reference)


@given(some, some)
def test_at_most_wer(words, reference):
    assert CDER().against([reference]).score(words) <= WER().against([reference]).score(words)


def test_worked_examples():
    # c is written in addition, and a jump leads over the last word
    assert jump_distance("abc", "cab") == 2
    # a jump to d, one back to a, and one to the end
    assert jump_distance("abcde", "deabc") == 3
    # words that are left over cost one jump, however many
    assert jump_distance("axyz", "a") == 1
    assert jump_distance([], ["a", "b"]) == 2
    assert CDER().against([""]).score("") == 0.0
    assert CDER().against([""]).score("a b c") == 1.0


def test_references_and_corpora():
    evaluator = CDER().against(["a b", "a b c d"])
    assert evaluator.stats("a b c").tolist() == [1.0, 4.0]
    found = corpus_score(CDER(), ["a b", "c"], [["a x"], ["d e f"]])
    assert found == pytest.approx((1 + 3) / 5)
    assert CDER(lowercase=True).against(["A b"]).score("a B") == 0.0
    with pytest.raises(OptionError, match="cder takes references as sentences"):
        CDER().against([Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1])])


@pytest.mark.parametrize("metric", ["cder", "cder:lowercase=true"])
def test_the_laws_hold(metric):
    check_metric(parse_metric(metric))
