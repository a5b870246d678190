"""The page docs/try.html in a browser: the answers of the library."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import lattices
from decoding import oracle
from fstmetrics import intersect, parse_metric
from tests.browser import Browser, browser, missing

PAGE = Path(__file__).parents[2] / "docs" / "try.html"
METRICS = {"wer": "wer", "wrr": "wrr", "2-grr": "grr:n=2", "4-grr": "grr"}
COMPUTE = """
return arguments[0].map(([text, reference, metric]) => {
  const found = compute(text, reference, metric);
  return [found.score, found.gain, found.found.gain, found.model, found.found.model, found.text,
    found.edges.filter((edge) => edge.from > 0 && edge.to > 0).length];
});
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    if reason := missing():
        if os.environ.get("FSTMETRICS_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with browser() as found:
        found.open(PAGE)
        yield found


def write(lattice: lattices.Lattice) -> str:
    arcs = zip(lattice.src, lattice.dst, lattice.label, lattice.score, strict=True)
    lines = [
        f"{src} {dst} {lattice.vocabulary.word(int(label)) or 'ε'} {score}"
        for src, dst, label, score in arcs
    ]
    ends = [f"{state} {score}" for state, score in enumerate(lattice.final) if score > -1e9]
    return "\n".join(lines + ends)


def make(draw: random.Random) -> lattices.Lattice:
    """Return a lattice of which every state is on a path; sums of its scores have no rounding."""
    states = draw.randint(2, 6)
    steps = [(state, state + 1) for state in range(states - 1)]
    steps += [
        (src, draw.randint(src + 1, states - 1))
        for src in draw.choices(range(states - 1), k=draw.randint(0, 6))
    ]
    words = ["a", "b", "c", "d", ""]
    arcs = [(*step, draw.choice(words), draw.randint(-16, 4) / 8) for step in steps]
    return lattices.Lattice.from_arcs(sorted(arcs), finals={states - 1: draw.randint(-4, 0) / 8})


def test_the_answers_are_those_of_the_library(page: Browser) -> None:
    draw = random.Random(5)
    questions, wanted = [], []
    for number in range(100):
        lattice, metric = make(draw), list(METRICS)[number % len(METRICS)]
        reference = " ".join(draw.choices("abcde", k=draw.randint(1, 6)))
        questions.append((write(lattice), reference, metric))
        evaluator = parse_metric(METRICS[metric]).against([reference])
        found = oracle(lattice, evaluator)
        product = intersect(lattice, evaluator)
        wanted.append((found, evaluator, product))
    answers = page.run(COMPUTE, questions)
    assert page.messages() == []
    for (score, gain, gain_of_product, model, model_of_product, text, arcs), each, question in zip(
        answers, wanted, questions, strict=True
    ):
        found, evaluator, product = each
        assert score == pytest.approx(found.score, abs=1e-12), question
        assert float(evaluator.score(text.split())) == pytest.approx(score, abs=1e-12), question
        assert model == model_of_product == found.hypothesis.score
        assert gain == gain_of_product
        assert arcs == product.num_arcs, question


def test_what_is_typed_is_answered(page: Browser) -> None:
    def answer(lattice: str, reference: str, metric: str) -> str:
        page.run(
            "[lattice.value, reference.value, metric.value] = arguments;"
            "metric.dispatchEvent(new Event('input'))", lattice, reference, metric,
        )  # fmt: skip
        return str(page.run("return answer.innerText + problem.innerText"))

    some = "0 1 the -1\n0 1 a -0.5\n1 2 cat -0.5\n1 2 hat -0.25\n2"
    assert "the cat" in answer(some, "the cat", "4-grr")
    assert page.texts("#of-product svg circle")
    assert "the hat" in answer(some, "the hat", "wer")
    assert "line 1: a score is a number" in answer("0 1 the x\n1", "the", "wer")
    assert "a cycle leads through state 0" in answer("0 1 a\n1 0 b\n1", "a", "wer")
    assert "no state ends" in answer("0 1 a", "a", "wer")
    assert page.messages() == []
