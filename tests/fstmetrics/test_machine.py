from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import GRR, WER, WRR
from fstmetrics.contract import Machine
from lattices import Lattice, OptionError, Vocabulary, to_fst
from lattices.arrays import floats, ints
from lattices.intersection import ENGINES, Automaton, Part
from lattices.intersection.automata import ANY, Alignment
from tests.judges import score_by_recursion
from tests.laws.test_intersection import METRICS
from tests.strategies import sentences, small_lattices


def value_of(machine: Machine, lattice: Lattice) -> float:
    found = ENGINES.get("kernel").best([(lattice, machine)])[0]
    assert found is not None
    return found.value


@settings(max_examples=200)
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
