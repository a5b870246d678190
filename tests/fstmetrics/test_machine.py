from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections import Counter

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import CER, GRR, WER, WRR
from fstmetrics.contract import Machine
from lattices import Forest, Lattice, OptionError, Vocabulary, to_fst
from lattices.arrays import floats, ints
from lattices.intersection import ENGINES, Automaton, Part
from lattices.intersection.automata import ANY, Alignment, make_explicit
from tests.judges import score_by_recursion
from tests.laws.test_intersection import METRICS
from tests.strategies import examples, sentences, small_lattices


def value_of(machine: Machine, lattice: Lattice) -> float:
    found = ENGINES.get("kernel").best([(lattice, machine)])[0]
    assert found is not None
    return found.value


@settings(max_examples=examples(200))
@given(sentences(), st.lists(sentences(), min_size=1, max_size=2), METRICS)
def test_the_openfst_file_scores_sentences(hypothesis, references, metric):
    pynini = pytest.importorskip("pynini")
    vocabulary = Vocabulary([*"abcd", "x", "<s>"])
    machine = metric.against(references).machine(vocabulary)
    fst = machine.to_fst(vocabulary)
    known = {int(label) for label in machine.automaton.label if label > 0}
    labels = [vocabulary.id(word) for word in hypothesis]
    classes = [label if label in known else len(vocabulary) for label in labels]
    arcs = [(place, place + 1, f"w{label}") for place, label in enumerate(classes)]
    sentence = Lattice.from_arcs(arcs, finals=[len(classes)])
    acceptor = to_fst(sentence)
    # the sentence with the machine's labels instead of its own vocabulary's
    for state in range(len(classes)):
        arc = next(acceptor.arcs(state))
        acceptor.delete_arcs(state)
        acceptor.add_arc(state, pynini.Arc(classes[state], classes[state], 0, arc.nextstate))
    best = pynini.shortestdistance(pynini.compose(acceptor, fst.arcsort("ilabel")), reverse=True)
    expected = score_by_recursion(hypothesis, references, metric)
    assert -float(str(best[0])) == pytest.approx(expected, abs=1e-4)


def test_symbols_name_the_classes():
    pytest.importorskip("pynini")
    vocabulary = Vocabulary(["the", "cat", "dog"])
    fst = WER().against(["the cat"]).machine(vocabulary).to_fst(vocabulary, symbols=True)
    table = dict(fst.input_symbols())
    assert table == {0: "<eps>", 1: "the", 2: "cat", 4: "<other>"}
    odd = Vocabulary(["<other>"])
    machine = WER().against(["a"]).machine(odd)
    with pytest.raises(OptionError, match="<other>"):
        machine.to_fst(odd, symbols=True)


@given(small_lattices(exact=True), sentences(), sentences())
def test_a_union_is_worth_its_best_part(lattice, one, other):
    first, second = (GRR().against([ref]).machine(lattice.vocabulary) for ref in (one, other))
    union = Machine.union([first, second])
    assert value_of(union, lattice) == max(value_of(first, lattice), value_of(second, lattice))
    together = GRR().against([one, other]).machine(lattice.vocabulary)
    assert value_of(union, lattice) == value_of(together, lattice)


@given(small_lattices(exact=True), sentences(), st.sampled_from([0.5, 2.0, 0.3]))
def test_scaling_scales(lattice, reference, factor):
    machine = WRR().against([reference]).machine(lattice.vocabulary)
    scaled = machine.scaled(factor)
    assert value_of(scaled, lattice) == pytest.approx(factor * value_of(machine, lattice))
    # as one explicit automaton, too, whose denominators are no whole numbers any more
    whole = Machine((Part(scaled.automaton, 1.0 / scaled.unit),))
    assert value_of(whole, lattice) == pytest.approx(value_of(scaled, lattice), abs=1e-6)


def test_the_weaker_relation_of_a_union_counts():
    words = Vocabulary(["a"])
    exact = WRR().against(["a"]).machine(words)
    assert exact.relation == "exact"
    assert Machine.union([exact, Machine(exact.parts, "proxy")]).relation == "proxy"
    assert Machine.union([Machine(exact.parts, "bound"), exact]).relation == "bound"


def test_gains_of_several_references_are_whole_numbers():
    machine = GRR().against(["a b c", "a b c d e"]).machine(Vocabulary([*"abcde"]))
    assert machine.unit == 1 / math.lcm(6, 14)
    assert (machine.automaton.gain == np.rint(machine.automaton.gain)).all()


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan])
def test_only_positive_numbers_scale(factor):
    with pytest.raises(OptionError, match="positive number"):
        WRR().against(["a"]).machine(Vocabulary(["a"])).scaled(factor)


def test_malformed_automata_are_refused():
    good = {
        "src": ints([0]), "dst": ints([1]), "label": ints([1]), "gain": floats([1.0]),
        "initial": floats([0.0, -np.inf]), "final": floats([-np.inf, 0.0]),
    }  # fmt: skip
    Automaton(**good)
    for change, message in (
        ({"dst": ints([2])}, "state that is not one of"),
        ({"label": ints([1, 2])}, "differ in length"),
        ({"gain": floats([np.nan])}, "not finite"),
        ({"initial": floats([0.0])}, "1 initial gains for 2 states"),
        ({"dst": ints([0]), "label": ints([0])}, "cycle of epsilon"),
    ):
        with pytest.raises(OptionError, match=message):
            Automaton(**{**good, **change})
    with pytest.raises(OptionError, match="at least one part"):
        Machine(())
    with pytest.raises(OptionError, match="denominator"):
        Machine((Part(Automaton(**good), 0.0),))


def test_pictures_have_every_arc_that_a_path_can_take_once():
    words = Vocabulary(["the", "cat", "<b>&"])
    machine = GRR().against(["the cat <b>&"]).machine(words)
    automaton = machine.automaton
    reached = {0}
    for _ in range(automaton.num_states):
        reached |= {int(end) for begin, end in zip(automaton.src, automaton.dst, strict=True)
                    if begin in reached}  # fmt: skip
    wanted = Counter(
        {ANY: "any", 0: "ε"}.get(label, words.word(max(label, 0))) + f":{gain + 0.0:g}"
        for begin, label, gain in zip(
            automaton.src.tolist(), automaton.label.tolist(), automaton.gain.tolist(), strict=True
        )
        if begin in reached
    )
    for picture in (machine.plot(words), machine.plot(), machine._repr_svg_()):
        root = ElementTree.fromstring(str(picture))
        arcs = [one for one in root.iter() if one.get("class") == "arc"]
        labels = ["".join(one.itertext()).strip().replace("−", "-") for one in arcs]
        assert len(labels) == sum(wanted.values())
        if picture is not None and "#" not in "".join(labels):
            assert Counter(labels) == wanted


def test_pictures_of_several_references_are_one_above_the_other():
    words = Vocabulary(["the", "cat"])
    picture = str(WRR().against(["the cat", "cat"]).machine(words).plot(words))
    assert "gains are divided by 2 and by 1" in picture
    long = " ".join(["cat"] * 120)
    assert GRR().against([long]).machine(words)._repr_svg_() is None


def test_nothing_that_the_caller_writes_reaches_an_automaton() -> None:
    word, position, weight = np.int32([1]), np.int32([0]), np.array([1.0])
    alignment = Alignment(1, 1, 1.0, 0.0, word, position, weight, 1.0)
    src, dst, label = np.int32([0]), np.int32([1]), np.int32([1])
    gain, initial, final = np.array([1.0]), np.array([0.0, -np.inf]), np.array([-np.inf, 0.0])
    automaton = Automaton(src, dst, label, gain, initial, final)
    for own in (word, position, weight, src, dst, label, gain, initial, final):
        own[:] = 10**8
    assert [alignment.word[0], alignment.position[0], alignment.weight[0]] == [1, 0, 1.0]
    assert [automaton.src[0], automaton.dst[0], automaton.label[0]] == [0, 1, 1]
    assert [automaton.gain[0], automaton.initial[0], automaton.final[1]] == [1.0, 0.0, 0.0]


@settings(max_examples=100)
@given(
    small_lattices(exact=True, words=("a", "b", "<b>")),
    st.lists(sentences(), min_size=1, max_size=2),
    METRICS,
)
def test_machines_come_back_from_networkx(lattice, references, metric):
    machine = metric.against(references).machine(lattice.vocabulary)
    graph = machine.to_networkx()
    assert graph.number_of_edges() == sum(len(make_explicit(part).src) for part in machine.parts)
    # renamed, and of another vocabulary
    renamed = networkx.relabel_nodes(graph, {node: f"q{node}" for node in graph})
    found = Machine.from_networkx(renamed, lattice.vocabulary)
    assert (found.relation, found.rounded) == (machine.relation, machine.rounded)
    assert value_of(found, lattice) == pytest.approx(value_of(machine, lattice), abs=1e-12)
    assert Machine.from_networkx(graph, Vocabulary()).num_states == machine.num_states


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda graph: graph.add_edge(0, 1), "edge 0 -> 1 has the word 0"),
        (lambda graph: graph.add_node(1, part=1), "edge 0 -> 1 has the word 'a'"),
        (lambda graph: graph.add_edge(0, 1, word="b", gain=math.inf), "gain is not finite"),
        (lambda graph: graph.add_edge(0, 0, word=""), "cycle of epsilon"),
        (lambda graph: graph.graph.update(parts=[]), "at least one part"),
    ],
)
def test_graphs_that_are_no_machines(change, message):
    graph = networkx.MultiDiGraph(parts=[(1.0, 0.0), (1.0, 0.0)])
    graph.add_node(0, initial=0.0)
    graph.add_node(1, final=0.0)
    graph.add_edge(0, 1, word="a", gain=1.0)
    change(graph)
    with pytest.raises(OptionError, match=message):
        Machine.from_networkx(graph, Vocabulary())


@given(st.lists(sentences().filter(bool), min_size=1, max_size=2), METRICS)
def test_the_table_has_every_arc_that_a_path_can_take_once(references, metric):
    words = Vocabulary([*"abcd"])
    machine = metric.against(references).machine(words)
    tables = str(machine).split("\ngains are divided by ")
    assert tables[0] == repr(machine)
    for part, shown in zip(machine.parts, tables[1:], strict=True):
        head, _, *rows = shown.splitlines()
        assert head.startswith(f"{part.denominator:g}; begins in 0")
        graph = Machine((part,), vocabulary=words).to_networkx()
        reached = {0, *networkx.descendants(graph, 0)}
        expected = Counter(
            ({None: "any", "": "ε"}.get(data["word"], data["word"]), f"{data['gain']:g}")
            for _, _, data in graph.out_edges(reached, data=True)
        )
        assert Counter(tuple(row.split()[1:3]) for row in rows) == expected


def test_a_machine_without_words():
    words = Vocabulary(["the"])
    machine = WRR().against(["the"]).machine(words)
    bare = Machine(machine.parts)
    assert "#1" in str(bare)
    assert "the" in str(machine)
    assert "#1:1" in str(bare.plot())
    assert "the:1" in str(bare.plot(words))
    with pytest.raises(OptionError, match="does not know its words"):
        bare.to_networkx()


def test_the_acceptor_of_a_lattice_reads_its_words_and_no_others():
    lattice = Lattice.from_arcs(
        [(0, 1, "a"), (0, 1, "b")], finals=[1], vocabulary=Vocabulary(["x", "the", "b", "a"])
    )
    machine = WER().against(["the b"]).machine(lattice.vocabulary)
    columns = machine.to_columns(lattice)
    assert set(columns.ilabel.tolist()) == {0, 3, 4}
    arcs = list(zip(columns.src.tolist(), columns.ilabel.tolist(), strict=True))
    assert arcs == sorted(arcs)
    forest = Forest.from_lattice(lattice)
    assert machine.to_columns(forest).ilabel.tolist() == columns.ilabel.tolist()


def test_a_machine_of_other_words_is_refused():
    one, other = (Lattice.from_arcs([(0, 1, word)], finals=[1], id=word) for word in "ab")
    machine = WRR().against(["a"]).machine(one.vocabulary)
    with pytest.raises(OptionError, match="its word 1 is 'a'; make it for that of lattice 'b'"):
        machine.to_columns(other)
    same = Lattice.from_arcs([(0, 1, "a"), (0, 1, "b")], finals=[1])
    assert len(machine.to_columns(same).ilabel) > len(machine.to_columns(one).ilabel)


def test_a_machine_of_characters_reads_no_words():
    lattice = Lattice.from_arcs([(0, 1, "cat")], finals=[1])
    with pytest.raises(OptionError, match="cer reads characters, and 'cat' is a word"):
        CER().against(["cat"]).machine(lattice.vocabulary)
