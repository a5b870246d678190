from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import BLEU, TBLEU, corpus_score, parse_metric
from fstmetrics.contract import nbest_stats
from fstmetrics.ngram.tbleu import matching
from fstmetrics.similarity.affix import affix_distance
from fstmetrics.testing import check_metric
from lattices import Hypothesis, Lattice, NBest, OptionError

WORDS = ("walk", "walks", "walked", "talk", "talked", "the", "them", "cat")
sentences = st.lists(st.sampled_from(WORDS), max_size=7).map(tuple)
references = st.lists(sentences, min_size=1, max_size=3)
#: below every distance but 0, so that the whole way is gone and nothing is forgiven
TINY = 1e-9


@pytest.mark.parametrize(
    "metric",
    [
        TBLEU(),
        TBLEU(epsilon=0.6, smooth="exp", effective_order=True),
        TBLEU(epsilon=1.0, order=2, length="average", lowercase=True),
        TBLEU(epsilon=0.0, mean="arithmetic"),
    ],
    ids=str,
)
def test_the_laws_hold(metric):
    check_metric(metric)


@given(
    sentences,
    references,
    st.sampled_from(["closest", "shortest", "average"]),
    st.integers(1, 5),
    st.sampled_from([0.0, TINY]),
)
def test_without_tolerance_it_is_bleu(hypothesis, references, length, order, epsilon):
    options = {"order": order, "length": length, "smooth": "add-k"}
    expected = BLEU(**options).against(references)
    evaluator = TBLEU(epsilon=epsilon, **options).against(references)
    # the whole way, which sentences without near words need not go
    evaluator._near.update(dict.fromkeys(hypothesis, True))
    assert evaluator.stats(hypothesis).tolist() == expected.stats(hypothesis).tolist()
    assert evaluator.score(hypothesis) == expected.score(hypothesis)


@given(sentences, references, st.sampled_from([0.05, 0.2, 0.5, 1.0]))
def test_only_sentences_with_near_words_need_matching(hypothesis, references, epsilon):
    metric = TBLEU(epsilon=epsilon, smooth="add-k")
    in_full = metric.against(references)
    in_full._near.update(dict.fromkeys(hypothesis, True))
    assert metric.against(references).stats(hypothesis).tolist() == (
        in_full.stats(hypothesis).tolist()
    )


@given(
    st.lists(sentences, min_size=1, max_size=4),
    st.lists(sentences, min_size=1, max_size=3),
    st.sampled_from([0.0, 0.05, 0.2, 0.5]),
)
def test_over_some_lists_it_is_another_metric(candidates, evidence, epsilon):
    metric = TBLEU(epsilon=epsilon, order=2, smooth="add-k", lowercase=True)
    lists = [NBest.from_hypotheses(map(Hypothesis, some)) for some in (candidates, evidence)]
    plain = metric.plain_over(*lists)
    near = any(
        0 < affix_distance(one, other) <= epsilon
        for one in itertools.chain(*candidates)
        for other in itertools.chain(*evidence)
    )
    assert isinstance(plain, TBLEU) == near
    for other in evidence:
        for one in candidates:
            assert plain.against([other]).score(one) == metric.against([other]).score(one)


@given(sentences, sentences)
def test_the_matching_is_one_to_one_and_of_least_distance(hypothesis, reference):
    place, partner, distance = matching(hypothesis, reference)
    fewer, more = sorted((hypothesis, reference), key=len)
    assert len(place) == len({*place.tolist()}) == len({*partner.tolist()}) == len(fewer)
    for i, j, away in zip(place, partner, distance, strict=True):
        assert away == affix_distance(hypothesis[i], reference[j])
    fewer, more = fewer[:5], more[:5]
    least = min(
        sum(map(affix_distance, fewer, chosen))
        for chosen in itertools.permutations(more, len(fewer))
    )
    assert matching(fewer, more)[2].sum() == pytest.approx(least)


@given(sentences, sentences, st.sampled_from([0.1, 0.5, 3.0]))
def test_places_weigh_in_the_matching(hypothesis, reference, position):
    hypothesis, reference = hypothesis[:5], reference[:5]

    def cost(i, j):
        apart = abs(i / len(hypothesis) - j / len(reference))
        return affix_distance(hypothesis[i], reference[j]) + position * apart

    place, partner, distance = matching(hypothesis, reference, position)
    found = sum(map(cost, place.tolist(), partner.tolist()))
    pairs = (
        [(i, j) for i, j in enumerate(chosen)]
        if len(hypothesis) <= len(reference)
        else [(i, j) for j, i in enumerate(chosen)]
        for chosen in itertools.permutations(
            range(max(len(hypothesis), len(reference))), min(len(hypothesis), len(reference))
        )
    )
    assert found == pytest.approx(min(sum(cost(*pair) for pair in some) for some in pairs))
    for i, j, away in zip(place, partner, distance, strict=True):
        assert away == affix_distance(hypothesis[i], reference[j])


def test_a_near_word_is_matched_where_it_stands():
    reference = "walks he walked"
    # alone, both matchings cost the same; a heavy position puts the word beside the last one
    stats = {
        position: TBLEU(order=2, epsilon=0.6, position=position)
        .against([reference])
        .stats("so he walk")
        for position in (0.0, 1.0)
    }
    assert affix_distance("walk", "walks") < affix_distance("walk", "walked")
    assert stats[0.0][:2].tolist() == [1.75, 0.0]
    # "he walk" becomes "he walked"
    assert stats[1.0][:2].tolist() == [1.5, 0.75]


def matches_by_definition(hypothesis, references, epsilon, n):
    """Correct, weigh, clip and take the best reference, one n-gram at a time."""
    best = defaultdict(float)
    for reference in references:
        corrected = [(word, 1.0) for word in hypothesis]
        for i, j, _ in zip(*matching(hypothesis, reference), strict=True):
            away = affix_distance(hypothesis[i], reference[j])
            if away <= epsilon:
                corrected[i] = (reference[j], 1.0 - away)
        groups = defaultdict(list)
        for start in range(len(corrected) - n + 1):
            words, weights = zip(*corrected[start : start + n], strict=True)
            groups[words].append((-sum(weights), start))
        of_reference = [reference[i : i + n] for i in range(len(reference) - n + 1)]
        for words, occurrences in groups.items():
            for weight, start in sorted(occurrences)[: of_reference.count(words)]:
                best[start] = max(best[start], -weight / n)
    return sum(best.values())


@given(sentences, references, st.sampled_from([0.05, 0.25, 0.5, 1.0]))
def test_matches_equal_the_definition(hypothesis, references, epsilon):
    stats = TBLEU(epsilon=epsilon, order=3).against(references).stats(hypothesis)
    for n in (1, 2, 3):
        expected = matches_by_definition(hypothesis, references, epsilon, n)
        assert stats[n - 1] == pytest.approx(expected, abs=1e-12)


def test_the_heaviest_occurrences_are_the_ones_that_count():
    # "talked" is matched with "walked" and "walked" with "walks", which is too far: the sentence
    # becomes "walked walked", once for 0.8 and once for 1
    stats = TBLEU(order=1, epsilon=0.2).against(["walked walks"]).stats("talked walked")
    assert stats[0] == 1.0
    # each word has its own reference
    evaluator = TBLEU(order=1, epsilon=0.5).against(["walked xyz", "xyz talked"])
    assert evaluator.stats("walked talked")[0] == 2.0


def test_lists_are_scored_as_their_entries():
    entries = [("the", "walks"), (), ("them", "talked", "walk", "the")]
    nbest = NBest.from_hypotheses([Hypothesis(each, 0.0) for each in entries])
    for metric in (TBLEU(epsilon=0.5, order=2), TBLEU(epsilon=0.0), TBLEU(lowercase=True)):
        evaluator = metric.against(["the talks walked", "the cat"])
        expected = [evaluator.stats(each).tolist() for each in entries]
        assert nbest_stats(evaluator, nbest).tolist() == expected


def test_bad_options_and_references():
    with pytest.raises(OptionError, match=r"epsilon is in \[0, 1\]"):
        TBLEU(epsilon=1.5)
    with pytest.raises(OptionError, match="compares words"):
        TBLEU(unit="char")
    lattice = Lattice.from_arcs([(0, 1, "a", 0.0)], finals=[1])
    with pytest.raises(OptionError, match="not as a lattice"):
        TBLEU().against([lattice])
    with pytest.raises(OptionError, match="position is a number of at least 0, not -1"):
        TBLEU(position=-1.0)
    assert parse_metric("tbleu:epsilon=0.3,order=2") == TBLEU(order=2, epsilon=0.3)
    assert parse_metric("tbleu:position=0.5") == TBLEU(position=0.5)
    assert "position" not in str(TBLEU())


def test_real_systems(shared_data):
    folder = shared_data / "wmt15" / "en-de"
    lines = (folder / "newstest2015-ende-ref.de.txt").read_text().splitlines()
    references = [[line] for line in lines]
    hypotheses = (folder / "newstest2015.KIT.4019.en-de.txt").read_text().splitlines()
    bleu = corpus_score(BLEU(), hypotheses, references)
    assert corpus_score(TBLEU(epsilon=TINY), hypotheses, references) == bleu
    scores = [corpus_score(TBLEU(epsilon=each), hypotheses, references) for each in (0.05, 0.3)]
    assert bleu < scores[0] < scores[1] < 1
    assert np.isclose(scores[0], 0.17201, atol=5e-6)
