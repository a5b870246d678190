"""Arguments of the wrong type: one sentence, by the function that was called."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import lattices
from lattices import Forest, Hypothesis, Lattice, NBest, OptionError
from lattices.errors import ArgumentTypeError
from lattices.spaces.arguments import GRAPH, takes

LATTICE = Lattice.from_arcs([(0, 1, "a")], finals=[1])
NBEST = NBest.from_hypotheses([Hypothesis(("a",))])
FILES = "lattices.read(path) reads them from a file"

#: each verb with what it takes besides, as a call of one argument
VERBS = {
    "density": lattices.density,
    "inside": lattices.algorithms.inside,
    "k_best": lambda space: lattices.k_best(space, 3),
    "log_path_count": lattices.algorithms.log_path_count,
    "outside": lattices.algorithms.outside,
    "path_count": lattices.path_count,
    "path_lengths": lattices.path_lengths,
    "posteriors": lattices.posteriors,
    "prune": lambda space: lattices.prune(space, beam=1.0),
    "sample": lambda space: lattices.sample(space, 1, np.random.default_rng(0)),
    "sentence_count": lattices.sentence_count,
    "to_characters": lattices.to_characters,
    "to_networkx": lattices.to_networkx,
    "trim": lattices.trim,
}
LATTICE_VERBS = {
    "determinize": lattices.determinize,
    "minimize": lattices.minimize,
    "push": lattices.push,
    "remove_epsilon": lattices.remove_epsilon,
}


def said(call, value) -> str:
    with pytest.raises(ArgumentTypeError) as problem:
        call(value)
    assert isinstance(problem.value, TypeError)
    assert isinstance(problem.value, OptionError)
    return str(problem.value)


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_instead_of_a_space(verb):
    for value, what in (("a.slf", "the string 'a.slf'"), (Path("a.slf"), "the path 'a.slf'")):
        expected = f"{verb}: space is {what}, expected a Lattice or a Forest: {FILES}"
        assert said(VERBS[verb], value) == expected


@pytest.mark.parametrize("verb", LATTICE_VERBS)
def test_a_forest_instead_of_a_lattice(verb):
    found = said(LATTICE_VERBS[verb], Forest.from_lattice(LATTICE))
    assert found == f"{verb}: lattice is a Forest, expected a Lattice"


def test_other_values():
    def what(value):
        start, end = "path_count: space is ", "expected a Lattice or a Forest"
        found = said(lattices.path_count, value)
        assert found.startswith(start)
        return found.removeprefix(start).replace(f", {end}", "")

    assert what(None) == "None"
    assert what(7) == "an int"
    assert what(NBEST) == "an NBest"
    assert what(Lattice) == "the class Lattice"
    assert what([LATTICE]) == "a list: take them one by one"
    assert what(iter([LATTICE])).endswith("next(...) takes the first, a loop one after the other")


def test_sequences():
    assert said(lattices.union, "a.slf") == (
        "union: spaces is the string 'a.slf', "
        f"expected a sequence of Lattices or of Forests: {FILES}"
    )
    assert said(lattices.union, [LATTICE, NBEST]) == (
        "union: spaces[1] is an NBest, expected a Lattice or a Forest"
    )
    assert lattices.union([LATTICE]) is LATTICE


def test_functions_stay_what_they_are():
    """Names and signatures are those of the function, by place or by name; subclasses pass."""

    class Mine(Lattice):
        pass

    @takes(space=GRAPH)
    def size(space, *, least=0):
        """Return a size."""
        return max(least, len(space.score))

    assert (size.__name__, size.__doc__) == ("size", "Return a size.")
    assert str(inspect.signature(size)) == "(space, *, least=0)"
    assert size(LATTICE) == size(space=LATTICE) == size(Mine.from_arcs([(0, 1, "a")], [1])) == 1
    assert size(LATTICE, least=3) == 3
    assert said(lambda value: size(space=value), "x").startswith("size: space is the string 'x'")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        size()
