"""Metrics of normalised text: oracles of all kinds of spaces are what enumeration finds."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import Pairwise, mbr, oracle, oracle_kbest, worst
from decoding.training.risk.expected import risk
from fstmetrics import BLEU, CER, GRR, TBLEU, WER, Normalised, parse_metric
from fstmetrics.normalisation.normalisers import NORMALISERS, parse_normaliser
from lattices import Forest, Hypothesis, Lattice, NBest, Vocabulary, to_lattice
from lattices.algorithms import best
from lattices.errors import Error, FormatError, OptionError, UnknownNameError
from lattices.tokens.transduction import transduce_forest
from tests.strategies import examples, small_forests, small_lattices

WORDS = {
    "lower+punctuation": ["The", "the", "...", "cat's,"],
    "nfkc": ["ﬁn", "fin", "a\u00a0b", "b"],
    "glm": ["it's", "it", "is", "uh"],
    "regex": ["don't", "do", "not", "x1"],
    "whisper-basic": ["The", "[noise]", "(a", "b)!"],
    "whisper-english": ["twenty", "one", "it's", "been"],
}
GLM = """
;; of the tests
* name "x"
* case_sensitive = 'F'
[IT'S]  =>  [{ IT'S / IT IS }]  / [ ] __ [ ]
[UH] => [] / [ ] __ [ ]
[is it is] => [yes] / [ ] __ [ ]
it is it => no / [ ] __ [ ]
"""
REGEX = "# contractions\nn't$\t not\n^x([0-9])$\t\\1 \\1\n^do$\t\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("normalisers")
    (folder / "x.glm").write_text(GLM)
    (folder / "x.regex").write_text(REGEX)
    return folder


def named(name: str, files: Path) -> str:
    if name.startswith("whisper"):
        pytest.importorskip("whisper_normalizer")
    return f"{name}:{files}/x.{name}" if name in ("glm", "regex") else name


def over(lattice: Lattice, words: list[str]) -> Lattice:
    """Return a lattice over the words a, b, c and d with others in their places."""
    names = dict(zip("abcd", words, strict=True))
    said = ["", *(names.get(word, word) for word in lattice.vocabulary)]
    rows = zip(lattice.src, lattice.dst, lattice.label, lattice.score, strict=True)
    return Lattice.from_arcs(
        [(int(s), int(d), said[w], float(x)) for s, d, w, x in rows],
        {int(state): float(lattice.final[state]) for state in lattice.finals},
        states=lattice.num_states,
        start=lattice.start,
    )


def over_words(vocabulary: Vocabulary, words: list[str]) -> Vocabulary:
    """Return a vocabulary of the words a, b, c and d with others in their places."""
    names = dict(zip("abcd", words, strict=True))
    return Vocabulary(names[word] for word in vocabulary)


def normalised(words: tuple[str, ...], name: str) -> tuple[str, ...]:
    for each in parse_normaliser(name):
        words = each.sentence(words)
    return words


@pytest.mark.parametrize("name", WORDS)
@settings(max_examples=60)
@given(lattice=small_lattices(features=False, exact=True), data=st.data())
def test_oracles(files: Path, name: str, lattice: Lattice, data: st.DataObject) -> None:
    words = WORDS[name]
    lattice = over(lattice, words)
    references = data.draw(
        st.lists(st.lists(st.sampled_from(words), max_size=4), min_size=1, max_size=2)
    )
    inner = data.draw(st.sampled_from([WER(), CER(), GRR(n=2)]))
    metric = Normalised(inner, named(name, files))
    evaluator = metric.against(references)
    plain = inner.against([normalised(tuple(each), metric.normalise) for each in references])
    paths = {path.tokens: path for path in lattice.paths()}
    expected = {tokens: plain.score(normalised(tokens, metric.normalise)) for tokens in paths}
    highest = max if metric.higher_is_better else min
    found = oracle(lattice, evaluator)
    assert found.exact
    assert found.score == pytest.approx(highest(expected.values()))
    # the words are the decoder's own, and the path is there
    assert lattice.hypothesis(found.hypothesis.arcs).tokens == found.hypothesis.tokens
    assert expected[found.hypothesis.tokens] == pytest.approx(found.score)
    least = min if metric.higher_is_better else max
    [lowest] = worst(lattice, evaluator)
    assert lowest.score == pytest.approx(least(expected.values()))
    several = oracle_kbest(lattice, evaluator, 3)
    assert len({each.hypothesis.tokens for each in several}) == len(several)
    wanted = sorted(expected.values(), reverse=metric.higher_is_better)[: len(several)]
    assert [each.score for each in several] == pytest.approx(wanted)
    nbest = NBest.from_hypotheses(Hypothesis(tokens, -1.0) for tokens in expected)
    assert oracle(nbest, evaluator).score == pytest.approx(found.score)


@pytest.mark.parametrize("name", WORDS)
@settings(max_examples=examples(80, 30))
@given(forest=small_forests(words="abcd", exact=True), data=st.data())
def test_oracles_of_forests(files: Path, name: str, forest: Forest, data: st.DataObject) -> None:
    words = WORDS[name]
    forest = replace(forest, vocabulary=over_words(forest.vocabulary, words))
    references = data.draw(
        st.lists(st.lists(st.sampled_from(words), max_size=4), min_size=1, max_size=2)
    )
    inner = data.draw(st.sampled_from([WER(), CER(), GRR(n=2)]))
    metric = Normalised(inner, named(name, files))
    evaluator = metric.against(references)
    plain = inner.against([normalised(tuple(each), metric.normalise) for each in references])
    derivations = {each.arcs: each for each in forest.derivations()}
    expected = {
        each.tokens: plain.score(normalised(each.tokens, metric.normalise))
        for each in derivations.values()
    }
    highest, least = (max, min) if metric.higher_is_better else (min, max)
    found = oracle(forest, evaluator)
    assert found.exact
    assert found.score == pytest.approx(highest(expected.values()))
    # the words are the decoder's own, and among equals the model decides
    assert derivations[found.hypothesis.arcs].tokens == found.hypothesis.tokens
    assert found.hypothesis.score == pytest.approx(
        max(
            each.score
            for each in derivations.values()
            if expected[each.tokens] == pytest.approx(found.score)
        )
    )
    [lowest] = worst(forest, evaluator)
    assert lowest.exact
    assert lowest.score == pytest.approx(least(expected.values()))
    # sentences differ where their own words do, whatever becomes of these
    several = oracle_kbest(forest, evaluator, 4)
    assert len({each.hypothesis.tokens for each in several}) == len(several)
    wanted = sorted(expected.values(), reverse=metric.higher_is_better)[:4]
    assert [each.score for each in several] == pytest.approx(wanted)
    assert all(each.exact for each in several)
    assert all(each.hypothesis.arcs in derivations for each in several)
    both = Normalised(inner, f"{metric.normalise}+lower").against(references)
    lowered = inner.against([normalised(tuple(each), both.metric.normalise) for each in references])
    assert oracle(forest, both).score == pytest.approx(
        highest(lowered.score(normalised(each, both.metric.normalise)) for each in expected)
    )
    # the search of lattices, which shares nothing with that of forests
    assert oracle(to_lattice(forest), evaluator).score == pytest.approx(found.score)


def test_risk_of_forests() -> None:
    """Expectations under the model, and gradients of edges that stay when their words do not."""
    edges = [(0, [], ["The"], -1.0), (0, [], ["..."], -0.5), (1, [0], [0, "cat."], 0.25)]
    forest = Forest.from_edges(edges)
    evaluator = parse_metric("wer:normalise=lower+punctuation").against(["the cat"])
    found = risk(forest, evaluator)
    odds = np.exp([-0.75, -0.25])
    assert found.expected == pytest.approx(0.5 * odds[1] / odds.sum())
    share = odds.prod() / odds.sum() ** 2
    assert found.arc_gradient == pytest.approx([-0.5 * share, 0.5 * share, 0.0])


def test_forests_that_are_deep() -> None:
    """A chain of more nodes than the interpreter's stack has frames."""
    rows = [(0, [], ["it"]), *((n, [n - 1], [0, "it" if n % 2 else "is"]) for n in range(1, 3000))]
    forest = Forest.from_edges(rows)

    def step(held: str, word: str) -> tuple[str, tuple[str, ...]]:
        return ("", (held + word,)) if held else (word, ())

    found = transduce_forest(forest, "", step, lambda held: (held,) * bool(held), Vocabulary())
    only = best(found.forest)
    assert only.tokens == ("itit", *["isit"] * 1499)
    assert found.origin[list(only.arcs)].tolist() == list(range(2999, -1, -1))


@pytest.mark.parametrize("name", WORDS)
@given(data=st.data())
def test_words_that_do_not_wait(files: Path, name: str, data: st.DataObject) -> None:
    [normaliser] = parse_normaliser(named(name, files).split("+")[0])
    words = data.draw(st.lists(st.sampled_from(WORDS[name]), max_size=6).map(tuple))
    _check_law(normaliser, words)


def _check_law(normaliser: Any, words: tuple[str, ...]) -> None:
    for place in range(1, len(words)):
        head, tail = words[:place], words[place:]
        if not normaliser.waits(head):
            parts = normaliser.sentence(head) + normaliser.sentence(tail)
            assert normaliser.sentence(words) == parts, (head, tail)


NUMBERS = """one two ten twenty thirty-five hundred thousand and a half point five double triple o
zero first second third fifth twenties dollars dollar cents cent pounds euro percent per minus plus
5 17 3.5 1,000 $20 2nd 20% ones one's"""
OTHERS = """it's he'd been gone done got mr. Mr dr can't won't colour uh um hmm, [noise] (laughs)
the cat okay. well, O'Neil re-use the 'em 'cause 'til '90s 'round o'clock let ma y won can"""
TRICKY = [*NUMBERS.split(), *OTHERS.split()]


def test_english_words_that_do_not_wait() -> None:
    """What is said of numbers and contractions, on sentences by chance."""
    pytest.importorskip("whisper_normalizer")
    [normaliser] = parse_normaliser("whisper-english")
    chance = random.Random(0)
    covered = [word for word in TRICKY if normaliser.covers([word])]
    assert len(covered) > len(TRICKY) - 5
    for _ in range(4000):
        words = tuple(chance.choices(covered, k=chance.randrange(2, 6)))
        if normaliser.covers(words):
            _check_law(normaliser, words)
    assert not normaliser.covers(["dozen", "and", "a", "half"])


SENTENCES = [
    "Let's do this.",
    "I'd been there, you know?",
    "twenty-one dollars and fifty cents",
    "Mr. Park visited Assoc. Prof. Kim Jr.",
    "He's like, [laughs] well (uh) three hundred and sixty five days",
    "colour ÆON naïve café",
    "Two and a half percent",
    "",
]


@pytest.mark.parametrize("name", ["basic", "english"])
def test_whisper_is_its_package(name: str) -> None:
    package = pytest.importorskip(f"whisper_normalizer.{name}")
    theirs = getattr(package, f"{name.capitalize()}TextNormalizer")()
    [ours] = parse_normaliser(f"whisper-{name}")
    for text in SENTENCES:
        assert ours.sentence(tuple(text.split())) == tuple(theirs(text).split())


def test_inexact_where_words_hang_on_others() -> None:
    pytest.importorskip("whisper_normalizer")
    lattice = Lattice.from_arcs([(0, 1, "it"), (1, 2, "'s"), (1, 2, "is")], [2])
    found = oracle(lattice, parse_metric("wer:normalise=whisper-english").against(["it is"]))
    assert (found.score, found.exact) == (0.0, False)


def test_global_mapping(files: Path) -> None:
    [glm] = parse_normaliser(f"glm:{files}/x.glm")
    for text, expected in [
        ("It's fine", "it is fine"),
        ("uh it is it is", "no is"),
        ("is it is UH x", "yes x"),
        ("it is", "it is"),
    ]:
        assert " ".join(glm.sentence(tuple(text.split()))) == expected


def test_global_mapping_and_case(tmp_path: Path) -> None:
    path = tmp_path / "x.glm"
    rules = "[it's] => [{ IT'S / IT IS }] / [ ] __ [ ]\n"
    path.write_text(rules)
    metric = Normalised(WER(), f"glm:{path}")
    assert {metric.against([text]).score("IT'S") for text in ("it is", "It's", "IT IS")} == {0.0}
    path.write_text(f"* case_sensitive = 'T'\n{rules}")
    [glm] = parse_normaliser(f"glm:{path}")
    assert glm.sentence(("it's", "It's")) == ("IT'S", "It's")


#: of Debian's package sctk
CSRFILT = shutil.which("csrfilt.sh", path="/usr/lib/sctk/bin")


@pytest.mark.skipif(CSRFILT is None, reason="needs csrfilt.sh of NIST's SCTK (Debian: sctk)")
@pytest.mark.parametrize("seed", range(5))
def test_global_mapping_is_what_nist_makes_of_it(seed: int, tmp_path: Path) -> None:
    """Of phrases that begin at one word, the first of the file is replaced, long or short."""
    chance = random.Random(seed)
    path = tmp_path / "x.glm"
    rules = [
        (
            chance.choices("ABC", k=chance.randint(1, 3)),
            chance.choices("ABCX", k=chance.randint(0, 3)),
        )
        for _ in range(6)
    ]
    lines = [f"[{' '.join(left)}] => [{' '.join(right)}] / [ ] __ [ ]\n" for left, right in rules]
    path.write_text("".join([";; by chance\n* format = 'NIST1'\n* copy_no_hit = 'T'\n", *lines]))
    sentences = [chance.choices("ABCD", k=chance.randint(1, 7)) for _ in range(200)]
    found = subprocess.run(
        [str(CSRFILT), "-i", "txt", path],
        input="".join(" ".join(words) + "\n" for words in sentences),
        env={**os.environ, "PATH": f"{Path(str(CSRFILT)).parent}:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
        text=True,
    )
    [glm] = parse_normaliser(f"glm:{path}")
    theirs = [line.lower().split() for line in found.stdout.split("\n")[: len(sentences)]]
    assert [list(glm.sentence(tuple(words))) for words in sentences] == theirs


def test_signatures(files: Path) -> None:
    for text in (
        "wer:normalise=lower+punctuation",
        f"cer:spaces=false,normalise=glm:{files}/x.glm",
    ):
        metric = parse_metric(text)
        assert isinstance(metric, Normalised)
        assert parse_metric(str(metric)) == metric
        assert str(metric) == text
    assert str(parse_metric("wer:normalize=lower")) == "wer:normalise=lower"
    assert Normalised(BLEU(), "lower").against(["The cat sat on"]).score("the cat SAT on") == 1.0


def test_reference_lattices() -> None:
    reference = Lattice.from_arcs([(0, 1, "UM,"), (0, 1, ""), (1, 2, "Cat")], [2])
    evaluator = parse_metric("wer:normalise=lower+punctuation").against([reference])
    assert [evaluator.score(text) for text in ("um cat", "cat.", "the cat")] == [0.0, 0.0, 0.5]


@pytest.mark.parametrize("inner", [WER(), BLEU(order=2), TBLEU(order=2)])
def test_minimum_risk(inner: Any) -> None:
    texts = ["The cat", "the CAT.", "a hat", "the hat"]
    nbest = NBest.from_hypotheses(Hypothesis(tuple(text.split()), 0.0) for text in texts)
    plain = NBest.from_hypotheses(
        Hypothesis(normalised(tuple(text.split()), "lower+punctuation"), 0.0) for text in texts
    )
    found = mbr(nbest, Normalised(inner, "lower+punctuation"), method=Pairwise())
    expected = mbr(plain, inner, method=Pairwise())
    assert found.hypothesis.index == expected.hypothesis.index
    assert found.expected == pytest.approx(expected.expected)


def test_workers_get_them() -> None:
    metric = pickle.loads(pickle.dumps(Normalised(WER(), "lower")))
    assert metric.against(["A"]).score("a") == 0.0


class Exclaim:
    """A plug-in's class: what its objects do with text."""

    def __call__(self, text: str) -> str:
        return text.rstrip("!")


def test_plugins() -> None:
    NORMALISERS.register("exclaim", Exclaim)
    evaluator = parse_metric("wer:normalise=exclaim+lower").against(["Yes"])
    lattice = Lattice.from_arcs([(0, 1, "yes!"), (0, 1, "no")], [1])
    assert oracle(lattice, evaluator).text == "yes!"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("wer:normalise=lowr", UnknownNameError, "no normaliser named 'lowr'; did you mean lower"),
        ("wer:normalise=regex:path=", OptionError, "path"),
        ("wer:normalise=lower+", OptionError, "expected NAME"),
        ("wer:normalise=glm", OptionError, "glm takes an argument, as in NAME:FILE"),
        ("wer:normalise=lower:x", OptionError, "lower takes no argument"),
        ("wer:normalise=lower,normalise=nfkc", OptionError, "twice"),
    ],
)
def test_wrong_names(text: str, error: type[Error], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_metric(text)


def test_wrong_files(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("[a] => [b] / [x] __ [ ]\n")
    with pytest.raises(FormatError, match=r"f:1: '\[a\] => \[b\] / \[x\] __ \[ \]', expected"):
        parse_normaliser(f"glm:{path}")
    path.write_text("a\tb\n(\tx\n")
    with pytest.raises(FormatError, match=r"f:2: '\(\\tx': missing \)"):
        parse_normaliser(f"regex:{path}")
    with pytest.raises(OptionError, match="normalised already"):
        Normalised(Normalised(WER(), "lower"), "lower")


@pytest.mark.parametrize(
    ("name", "said", "rival", "reference"),
    [
        ("whisper-english", "½ million people", "two people", "½ million people"),
        ("whisper-english", "twenty (uh huh) one men", "twenty men", "twenty-one men"),
        ("whisper-basic", "(a [b c) d] e", "a x", "a e"),
    ],
)
def test_what_hangs_on_more_than_neighbours_is_not_called_exact(
    name: str, said: str, rival: str, reference: str
) -> None:
    pytest.importorskip("whisper_normalizer")
    words, other = said.split(), rival.split()
    end = len(words) + len(other)
    arcs = [(at, at + 1, word) for at, word in enumerate(words[:-1])]
    arcs.append((len(words) - 1, end, words[-1]))
    places = [0, *range(len(words), end - 1), end]
    arcs += [(a, b, word) for a, b, word in zip(places, places[1:], other, strict=False)]
    lattice = Lattice.from_arcs(arcs, finals=[end])
    assert {path.text for path in lattice.paths()} == {said, rival}
    found = oracle(lattice, Normalised(WER(), name).against([reference]))
    assert found.score == 0.0 or not found.exact
