from __future__ import annotations

import pickle
from itertools import combinations, permutations
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fstmetrics import METEOR, corpus_score, parse_metric
from fstmetrics._native import meteor_places
from fstmetrics.matching import meteor as module
from fstmetrics.testing import check_metric
from lattices import OptionError
from lattices.arrays import ints
from lattices.errors import MissingDependencyError


def same(word):
    return (word,)


def same_letter(word):
    return (word.lower(),)


def near(word):
    """No equivalence: a is near b, b near c, a not near c."""
    place = ord(word.lower())
    return (place, place + 1)


def align(words, others, stages):
    """The place in ``others`` that each word is matched with, -1 for none."""
    symbols = sorted({*words, *others})
    number = {word: place for place, word in enumerate(symbols, 1)}
    columns = [module._number_keys(map(keys, symbols)) for keys in stages]
    said, expected = ([number[word] for word in each] for each in (words, others))
    return meteor_places(ints(said), ints(expected), columns).tolist()


def count_chunks(places):
    before = [-1, *places]
    return sum(
        place >= 0 and (last < 0 or place != last + 1)
        for last, place in zip(before, places, strict=False)
    )


def crossings(pairs):
    return sum((i - k) * (j - m) < 0 for (i, j), (k, m) in combinations(pairs, 2))


def all_of_stage(fixed, words, others, keys):
    """All ways to add pairs of alike words to those that are fixed, by enumeration."""

    def alike(one, other):
        return not {*keys(one)}.isdisjoint(keys(other))

    left = [i for i in range(len(words)) if i not in dict(fixed)]
    right = [j for j in range(len(others)) if j not in {j for _, j in fixed}]
    for count in range(min(len(left), len(right)) + 1):
        for some in combinations(left, count):
            for places in permutations(right, count):
                pairs = list(zip(some, places, strict=True))
                if all(alike(words[i], others[j]) for i, j in pairs):
                    yield [*fixed, *pairs]


@settings(max_examples=80)
@given(
    st.lists(st.sampled_from("abAc"), max_size=5),
    st.lists(st.sampled_from("abAc"), max_size=5),
    st.sampled_from([[same], [same, same_letter], [near], [same, near]]),
)
def test_alignments_have_most_matches_then_fewest_crossings_then_fewest_chunks(
    words, others, stages
):
    def objective(pairs):
        places = [dict(pairs).get(word, -1) for word in range(len(words))]
        return -len(pairs), crossings(pairs), count_chunks(places), places

    fixed = []
    for number, keys in enumerate(stages, 1):
        expected = min(map(objective, all_of_stage(fixed, words, others, keys)))[-1]
        assert align(words, others, stages[:number]) == expected
        fixed = [(i, j) for i, j in enumerate(expected) if j >= 0]


def test_references_of_many_words():
    """Places taken are kept in machine words of 64."""
    words = [f"w{n}" for n in range(150)]
    others = [*words[70:], "x", *words[:70]]
    assert align(words, others, [same]) == [others.index(word) for word in words]
    assert align(["a", "b", "a"], ["x"] * 100 + ["a", "b", "x", "a", "a"], [same]) == [
        100,
        101,
        103,
    ]


def test_a_worked_example():
    # Banerjee and Lavie's parameters: 4 words match, in 2 chunks
    metric = METEOR(alpha=0.9, beta=3, gamma=0.5, stages="exact")
    stats = metric.stats(
        "the president spoke to a crowd", ["a crowd heard what the president said"]
    )
    assert stats.tolist() == [4, 2, 6, 7]
    precision, recall = 4 / 6, 4 / 7
    mean = 10 * precision * recall / (recall + 9 * precision)
    assert metric.score(stats) == pytest.approx(mean * (1 - 0.5 * (2 / 4) ** 3))


def test_stems_match_what_words_do_not():
    pytest.importorskip("nltk")
    words, reference = "dogs run in the parks", "the dog is running in a park"
    assert METEOR(stages="exact").stats(words, [reference]).tolist() == [2, 2, 5, 7]
    assert METEOR().stats(words, [reference]).tolist() == [5, 4, 5, 7]
    german = METEOR(stemmer="german")
    assert german.stats("die katzen", ["der katze"]).tolist() == [1, 1, 2, 2]
    # equal words first: `runs` takes `runs`, and `run` is left for `running`
    assert METEOR().stats("running runs", ["runs run"]).tolist() == [2, 2, 2, 2]


@given(st.permutations("abcdefgh"), st.integers(1, 8), st.integers(1, 8))
def test_it_equals_nltk_where_no_word_is_repeated(order, length, other):
    theirs = pytest.importorskip("nltk.translate.meteor_score")
    words, reference = order[:length], [*sorted(order[:other]), "x"]
    empty = SimpleNamespace(synsets=lambda word: [])
    for options in ({}, {"alpha": 0.81, "beta": 0.83, "gamma": 0.28}):
        expected = theirs.meteor_score([reference], words, wordnet=empty, **options)
        metric = METEOR(**(options or {"alpha": 0.9, "beta": 3, "gamma": 0.5}))
        assert metric.against([reference]).score(words) == pytest.approx(expected)


def test_nltk_on_sentences_with_stems():
    theirs = pytest.importorskip("nltk.translate.meteor_score")
    porter = pytest.importorskip("nltk.stem.porter").PorterStemmer
    words, reference = map(str.split, (
        "it is the guiding principle which guarantees military forces",
        "it guided principles that guarantee the military force",
    ))  # fmt: skip
    expected = theirs.meteor_score(
        [reference], words, wordnet=SimpleNamespace(synsets=lambda word: []),
        stemmer=porter(mode=porter.ORIGINAL_ALGORITHM), alpha=0.81, beta=0.83, gamma=0.28,
    )  # fmt: skip
    assert METEOR().against([reference]).score(words) == pytest.approx(expected)
    assert METEOR().stats(words, [reference])[0] == 7


def test_synonyms_come_last(monkeypatch):
    pytest.importorskip("nltk")
    synsets = {"car": {"car.1"}, "auto": {"car.1"}, "cars": {"car.1"}}
    monkeypatch.setattr(
        module, "synonyms", lambda: lambda word: frozenset(synsets.get(word, ()))
    )  # fmt: skip
    metric = METEOR(stages="exact/stem/synonym")
    assert metric.stats("my auto", ["my car"]).tolist() == [2, 1, 2, 2]
    # the stem stage has taken `cars`
    assert metric.stats("auto car", ["cars bus"]).tolist() == [1, 1, 2, 2]


def test_wordnet_without_data(monkeypatch):
    corpus = pytest.importorskip("nltk.corpus")

    def missing():
        raise LookupError

    monkeypatch.setattr(corpus, "wordnet", SimpleNamespace(ensure_loaded=missing))
    with pytest.raises(MissingDependencyError, match=r"nltk\.downloader wordnet"):
        METEOR(stages="exact/synonym").require()


def test_a_corpus_sums_matches_and_chunks():
    metric = METEOR(stages="exact")
    hypotheses, references = ["a b", "c x"], [["b a"], ["z", "y c x"]]
    row = [4, 3, 4, 5]
    precision, recall = 4 / 4, 4 / 5
    mean = precision * recall / (0.81 * precision + 0.19 * recall)
    expected = mean * (1 - 0.28 * (3 / 4) ** 0.83)
    assert corpus_score(metric, hypotheses, references) == pytest.approx(expected)
    assert metric.score(row) == pytest.approx(expected)


@pytest.mark.parametrize(
    "metric",
    ["meteor", "meteor:stages=exact,lowercase=false", "meteor:alpha=0.9,beta=3,gamma=0.5"],
)
def test_the_laws_hold(metric):
    pytest.importorskip("nltk")
    check_metric(parse_metric(metric))


def test_pickles():
    pytest.importorskip("nltk")
    metric = METEOR()
    metric.require()
    assert pickle.loads(pickle.dumps(metric)) == metric


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha is a number from 0 to 1"),
        ({"gamma": -1}, "gamma is a number from 0 to 1"),
        ({"beta": 0}, "beta is a number above 0"),
        ({"stages": "stem"}, "stages=stem: expected exact, and after it"),
        ({"stages": "exact/synonym/stem"}, "expected exact, and after it"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        METEOR(**options)


def test_a_stemmer_that_is_none():
    pytest.importorskip("nltk")
    with pytest.raises(OptionError, match="stemmer=klingon: expected one of"):
        METEOR(stemmer="klingon").require()


def test_many_repeated_words_are_aligned_in_time():
    words = ("the a of " * 30).split()
    stats = METEOR(stages="exact").stats(words, [words[::-1]])
    assert stats[0] == 90
