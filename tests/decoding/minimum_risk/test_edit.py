"""Expected edits over lattices: the recursion, its bound, and what does not change it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattices
from decoding._native import TIE, UNPLACED
from decoding.minimum_risk.edit import EditConsensus, edit
from lattices import Hypothesis, Lattice, NBest
from lattices.algorithms import best, posteriors
from tests.strategies import examples, sentences, small_lattices

Sentence = tuple[str, ...]


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the edit distance, by the definition."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        last, row[0] = row[0], i
        for j, right in enumerate(other, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (left != right))
    return row[-1]


def probabilities(lattice: Lattice, scale: float = 1.0) -> dict[Sentence, float]:
    """Return the probability of every sentence, by enumeration."""
    found: dict[Sentence, float] = defaultdict(float)
    paths = list(lattice.paths())
    most = max(scale * path.score for path in paths)
    for path in paths:
        found[path.tokens] += math.exp(scale * path.score - most)
    total = sum(found.values())
    return {sentence: mass / total for sentence, mass in found.items()}


def risk(sentence: Sequence[str], masses: dict[Sentence, float]) -> float:
    """Return the expected edit distance of a sentence."""
    return sum(mass * edits(sentence, other) for other, mass in masses.items())


def naive(
    lattice: Lattice, words: Sequence[str], scale: float
) -> tuple[float, list[dict[str, float]]]:
    """Return the objective and the posteriors of the bins, by the paper's figures 4 and 5.

    State by state over the arcs that come in, all three choices at every bin, no probability
    kept but as a logarithm; ties as documented.
    """
    bins = [""]
    for word in words:
        bins += [word, ""]
    states, size = lattice.num_states, len(bins)
    into: dict[int, list[int]] = defaultdict(list)
    for arc in range(lattice.num_arcs):
        into[int(lattice.dst[arc])].append(arc)
    spoken = [lattice.vocabulary.word(int(label)) for label in lattice.label]
    reach = {lattice.start: 0.0}
    for state in range(lattice.start + 1, states):
        steps = [
            reach[int(lattice.src[arc])] + scale * float(lattice.score[arc])
            for arc in into[state]
            if int(lattice.src[arc]) in reach
        ]
        if steps:
            reach[state] = float(np.logaddexp.reduce(steps))
    ends = {
        state: value + scale * float(lattice.final[state])
        for state, value in reach.items()
        if lattice.final[state] > -np.inf
    }
    total = float(np.logaddexp.reduce(list(ends.values())))

    def share(arc: int) -> float:
        before, after = reach[int(lattice.src[arc])], reach[int(lattice.dst[arc])]
        return math.exp(before + scale * float(lattice.score[arc]) - after)

    def differ(one: str, other: str) -> float:
        return float(one != other)

    def row(arc: int) -> tuple[list[float], list[int]]:
        before, word = cost[int(lattice.src[arc])], spoken[arc]
        values, choices = [before[0] + 1 + UNPLACED], [0]
        for q, own in enumerate(bins, start=1):
            options = [
                before[q - 1] + differ(word, own),
                before[q] + 1 + UNPLACED,
                values[-1] + differ("", own),
            ]
            values.append(min(options))
            choices.append(next(n for n in range(3) if options[n] <= values[-1] + TIE))
        return values, choices

    cost: dict[int, list[float]] = {}
    for state in sorted(reach):
        if state == lattice.start:
            cost[state] = [float(sum(word != "" for word in bins[:q])) for q in range(size + 1)]
            continue
        cost[state] = [0.0] * (size + 1)
        for arc in into[state]:
            if int(lattice.src[arc]) in reach:
                values = row(arc)[0] if spoken[arc] else cost[int(lattice.src[arc])]
                for q in range(size + 1):
                    cost[state][q] += share(arc) * values[q]

    mass = {state: [0.0] * (size + 1) for state in reach}
    gamma: list[dict[str, float]] = [defaultdict(float) for _ in bins]
    inserted = 0.0
    for state, value in ends.items():
        mass[state][size] += math.exp(value - total)
    for state in sorted(reach, reverse=True):
        if state == lattice.start:
            continue
        for arc in into[state]:
            source = int(lattice.src[arc])
            if source not in reach:
                continue
            carried = [share(arc) * each for each in mass[state]]
            if not spoken[arc]:
                for q in range(size, 0, -1):
                    if cost[source][q - 1] + differ("", bins[q - 1]) <= cost[source][q] + TIE:
                        carried[q - 1] += carried[q]
                        gamma[q - 1][""] += carried[q]
                    else:
                        mass[source][q] += carried[q]
                mass[source][0] += carried[0]
                continue
            choices = row(arc)[1]
            for q in range(size, 0, -1):
                if choices[q] == 0:
                    mass[source][q - 1] += carried[q]
                    gamma[q - 1][spoken[arc]] += carried[q]
                elif choices[q] == 1:
                    mass[source][q] += carried[q]
                    inserted += carried[q]
                else:
                    carried[q - 1] += carried[q]
                    gamma[q - 1][""] += carried[q]
            mass[source][0] += carried[0]
            inserted += carried[0]
    left = mass[lattice.start]
    for q in range(size, 0, -1):
        gamma[q - 1][""] += left[q]
        left[q - 1] += left[q]
    wrong = sum(1 - gamma[q][own] for q, own in enumerate(bins))
    return wrong + inserted, gamma


def network_of(found: EditConsensus) -> list[dict[str, float]]:
    return [{each.word: each.posterior for each in row} for row in found.network.bins]


def assert_same_bins(ours: list[dict[str, float]], others: list[dict[str, float]]) -> None:
    assert len(ours) == len(others)
    for one, other in zip(ours, others, strict=True):
        for word in {*one, *other}:
            assert one.get(word, 0.0) == pytest.approx(other.get(word, 0.0), abs=1e-9)


def steps_of(found: EditConsensus) -> list[float]:
    """Return the objectives, without steps that gain no more than rounding."""
    first, *others = found.objectives
    steps = [first]
    steps += [after for before, after in pairwise([first, *others]) if after < before - 1e-12]
    return steps


def assert_same(one: EditConsensus, other: EditConsensus) -> None:
    assert one.tokens == other.tokens
    assert steps_of(one) == pytest.approx(steps_of(other), abs=1e-9)
    assert_same_bins(network_of(one), network_of(other))


SCALES = st.sampled_from([0.0, 0.5, 1.0, 3.0])
ENTRIES = st.lists(
    st.tuples(sentences(unknown=(), max_size=4), st.integers(-6, 2).map(lambda each: each / 2)),
    min_size=1,
    max_size=6,
)


def nbest_of(rows: list[tuple[list[str], float]]) -> NBest:
    return NBest.from_hypotheses([Hypothesis(tuple(words), score) for words, score in rows])


@settings(max_examples=examples(150))
@given(small_lattices(), sentences(max_size=4), SCALES)
def test_the_kernel_is_the_recursion(lattice: Lattice, start: list[str], scale: float) -> None:
    found = edit(lattice, scale=scale, start=start, decode=False)
    objective, gamma = naive(lattice, start, scale)
    assert found.tokens == tuple(start)
    assert found.objectives == (found.expected,)
    assert found.expected == pytest.approx(objective, abs=1e-9)
    assert_same_bins(network_of(found), gamma)


@settings(max_examples=examples(150))
@given(small_lattices(max_states=7, max_arcs=14), SCALES, st.none() | sentences(max_size=4))
def test_objectives_fall_and_bound_the_risk(
    lattice: Lattice, scale: float, start: list[str] | None
) -> None:
    found = edit(lattice, scale=scale, start=start, swaps=4 if start is None else 0)
    masses = probabilities(lattice, scale)
    assert found.expected == found.objectives[-1]
    assert all(
        later < earlier
        for earlier, later in zip(found.objectives[:-1], found.objectives[1:], strict=True)
    )
    assert found.expected >= risk(found.tokens, masses) - 1e-9
    assert found.expected == pytest.approx(naive(lattice, found.tokens, scale)[0], abs=1e-9)
    if start is None:
        return
    # and every sentence on the way
    for changes, objective in enumerate(found.objectives):
        part = edit(lattice, scale=scale, start=start, swaps=0, iterations=changes)
        assert part.objectives == found.objectives[: changes + 1]
        assert objective >= risk(part.tokens, masses) - 1e-9
        assert part.settled == (changes == len(found.objectives) - 1)


def likely(space: Lattice | NBest, scale: float) -> list[Sentence]:
    """Return the sentences of the paths with the most probable arcs, each less 0.05."""
    if isinstance(space, Lattice):
        posterior = posteriors(space, scale).arcs
        values = [
            (sum(float(posterior[arc]) - 0.05 for arc in path.arcs), path.tokens)
            for path in space.paths()
        ]
    else:
        # the arcs of its tree are the prefixes
        masses = [math.exp(scale * each.score) for each in space]
        prefixes: dict[Sentence, float] = defaultdict(float)
        for each, mass in zip(space, masses, strict=True):
            for end in range(1, len(each.tokens) + 1):
                prefixes[each.tokens[:end]] += mass / sum(masses)
        values = [
            (sum(prefixes[each.tokens[: end + 1]] - 0.05 for end in range(len(each.tokens))), each)
            for each in space
        ]
        values = [(value, each.tokens) for value, each in values]
    best = max(value for value, _ in values)
    return [tokens for value, tokens in values if value >= best - 1e-9]


@settings(max_examples=60)
@given(small_lattices(max_states=7, max_arcs=14) | ENTRIES.map(nbest_of), SCALES)
def test_more_starts(space: Lattice | NBest, scale: float) -> None:
    """The best of what each of the best sentences leads to, and of what the likely path does."""
    scores: dict[Sentence, float] = {}
    for each in space.paths() if isinstance(space, Lattice) else space:
        scores[each.tokens] = max(each.score, scores.get(each.tokens, -math.inf))
    ranked = sorted(scores, key=lambda sentence: -scores[sentence])
    # of sentences that the model likes the same either may be among the three
    third = scores[ranked[min(2, len(ranked) - 1)]]
    sure = [sentence for sentence in ranked[:3] if scores[sentence] > third + 1e-9]
    possible = [sentence for sentence in ranked if scores[sentence] >= third - 1e-9]
    alone = {
        sentence: edit(space, scale=scale, start=sentence, swaps=0)
        for sentence in {*possible, *likely(space, scale)}
    }
    found = edit(space, scale=scale, starts=3, swaps=0)
    assert all(found.expected <= alone[sentence].expected + 1e-7 for sentence in sure)
    others = likely(space, scale)
    assert found.expected <= max(alone[sentence].expected for sentence in others) + 1e-7
    assert any(
        found.tokens == other.tokens
        and found.objectives == pytest.approx(other.objectives, abs=1e-9)
        for other in alone.values()
    )


@settings(max_examples=100)
@given(small_lattices(max_states=7, max_arcs=14) | ENTRIES.map(nbest_of), SCALES)
def test_no_close_alternative_leads_lower(space: Lattice | NBest, scale: float) -> None:
    found = edit(space, scale=scale)
    assert found.expected <= edit(space, scale=scale, swaps=0).expected + 1e-9
    bins = [{each.word: each.posterior for each in row} for row in found.network.bins]
    own = [found.tokens[place // 2] if place % 2 else "" for place in range(len(bins))]
    close = sorted(
        (row[own[place]] - posterior, place, word)
        for place, row in enumerate(bins)
        for word, posterior in row.items()
        if word != own[place] and row[own[place]] - posterior <= 0.5
    )
    # of equally close ones either may be among the four
    for loss, place, word in close[:4]:
        if len(close) > 4 and loss > close[4][0] - 1e-9:
            break
        other = [*own[:place], word, *own[place + 1 :]]
        lead = edit(space, scale=scale, start=[each for each in other if each], swaps=0)
        assert lead.expected >= found.expected - 1e-6


def decode_as_kaldi(lattice: Lattice, scale: float) -> list[str]:
    """Return what Kaldi's ``MinimumBayesRisk`` decodes: from the 1-best on, a word a bin.

    Its edit distance takes 1e-5 for a word in no bin, arcs without words like all others, and
    the first of the equal choices.
    """
    into: dict[int, list[tuple[int, str, float]]] = defaultdict(list)
    mass = [-math.inf] * lattice.num_states
    mass[lattice.start] = 0.0
    end = lattice.num_states  # one more state, to which all final states lead
    columns = (lattice.src, lattice.dst, lattice.label, lattice.score)
    for src, dst, label, score in zip(*(each.tolist() for each in columns), strict=True):
        into[dst].append((src, lattice.vocabulary.word(label), scale * score))
    for state, score in enumerate(lattice.final.tolist()):
        if score > -math.inf:
            into[end].append((state, "", scale * score))
    mass.append(-math.inf)
    for state in sorted(into):
        into[state] = [each for each in into[state] if mass[each[0]] > -math.inf]
        if into[state]:
            mass[state] = float(np.logaddexp.reduce([mass[s] + at for s, _, at in into[state]]))
    arcs = {
        state: [(s, word, math.exp(mass[s] + at - mass[state])) for s, word, at in into[state]]
        for state in sorted(into)
        if mass[state] > -math.inf
    }
    words = list(best(lattice).tokens)
    for _ in range(100):
        bins = ["", *(each for word in words for each in (word, ""))]
        size = len(bins)
        alpha = {lattice.start: [float(sum(map(bool, bins[:q]))) for q in range(size + 1)]}
        choices: dict[tuple[int, int], list[int]] = {}
        for state, incoming in arcs.items():
            alpha[state] = [0.0] * (size + 1)
            for number, (source, word, share) in enumerate(incoming):
                before = alpha[source]
                outside = 1.0 + 1e-5 if word else 0.0
                row, taken = [before[0] + outside], [2]
                for q in range(1, size + 1):
                    options = (before[q - 1] + (word != bins[q - 1]), before[q] + outside,
                               row[-1] + (bins[q - 1] != ""))  # fmt: skip
                    row.append(min(options))
                    taken.append(1 + options.index(row[-1]))
                choices[state, number] = taken
                for q in range(size + 1):
                    alpha[state][q] += share * row[q]
        beta = {state: [0.0] * (size + 1) for state in (lattice.start, *arcs)}
        beta[end][size] = 1.0
        gamma: list[dict[str, float]] = [defaultdict(float) for _ in bins]
        for state in sorted(arcs, reverse=True):
            for number, (source, word, share) in enumerate(arcs[state]):
                carried = [share * each for each in beta[state]]
                for q in range(size, 0, -1):
                    taken_here = choices[state, number][q]
                    if taken_here == 1:
                        beta[source][q - 1] += carried[q]
                        gamma[q - 1][word] += carried[q]
                    elif taken_here == 2:
                        beta[source][q] += carried[q]
                    else:
                        carried[q - 1] += carried[q]
                        gamma[q - 1][""] += carried[q]
                beta[source][0] += carried[0]
        for q in range(size, 0, -1):
            gamma[q - 1][""] += sum(beta[lattice.start][q:])
        chosen = [max(row, key=row.__getitem__) for row in gamma]
        if chosen == bins:
            break
        words = [word for word in chosen if word]
    return words


@settings(max_examples=examples(150))
@given(small_lattices(max_states=7, max_arcs=14), SCALES)
def test_never_above_kaldi(lattice: Lattice, scale: float) -> None:
    theirs = naive(lattice, decode_as_kaldi(lattice, scale), scale)[0]
    assert edit(lattice, scale=scale).expected <= theirs + 1e-6


@pytest.mark.parametrize("scale", [1.0, 15.0])
def test_never_above_kaldi_on_real_lattices(shared_data: Path, scale: float) -> None:
    for lattice in islice(lattices.read(next(shared_data.glob("multi30k-deen/val.*.d50.*"))), 12):
        assert isinstance(lattice, Lattice)
        theirs = decode_as_kaldi(lattice, scale)
        others = edit(lattice, scale=scale, start=theirs, decode=False).expected
        assert edit(lattice, scale=scale).expected <= others + 1e-6


@settings(max_examples=100)
@given(small_lattices(max_states=7, max_arcs=14), SCALES)
def test_no_word_of_a_bin_is_better(lattice: Lattice, scale: float) -> None:
    network = edit(lattice, scale=scale).network
    for number, row in enumerate(network.bins):
        assert sum(each.posterior for each in row) == pytest.approx(1.0, abs=1e-9)
        assert len({each.word for each in row}) == len(row)
        posteriors = [each.posterior for each in row]
        assert posteriors == pytest.approx(sorted(posteriors, reverse=True), abs=1e-9)
        assert all(-1e-12 <= each <= 1.0 for each in posteriors)
        own = row[network.chosen[number] - network.offset[number]]
        assert own.posterior >= max(posteriors) - 1e-6
        assert bool(own.word) == number % 2


@given(small_lattices(), SCALES, st.data())
def test_arc_order_means_nothing(lattice: Lattice, scale: float, data: st.DataObject) -> None:
    rows = [
        (int(src), int(dst), lattice.vocabulary.word(int(label)), float(score))
        for src, dst, label, score in zip(
            lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
        )
    ]
    number = data.draw(st.permutations(range(lattice.num_states)))
    other = Lattice.from_arcs(
        [(number[src], number[dst], *rest) for src, dst, *rest in data.draw(st.permutations(rows))],
        {number[int(state)]: float(lattice.final[state]) for state in lattice.finals},
        states=lattice.num_states,
        start=number[lattice.start],
        vocabulary=lattice.vocabulary,
    )
    # of several paths that are the model's best, either may be begun with
    start = edit(lattice, scale=scale, decode=False).tokens
    assert_same(edit(lattice, scale=scale, start=start), edit(other, scale=scale, start=start))


@given(small_lattices(), SCALES.filter(bool), st.data())
def test_divided_mass_means_nothing(lattice: Lattice, scale: float, data: st.DataObject) -> None:
    """An arc may be several with its mass, and a state two that divide the masses of its arcs."""
    divided = data.draw(st.sampled_from(range(1, lattice.num_states + 1)))
    part = data.draw(st.sampled_from([0.25, 0.5, 0.9]))
    parts = {divided: math.log(part) / scale, lattice.num_states: math.log1p(-part) / scale}

    def copies(state: int) -> dict[int, float]:
        return parts if state == divided else {state: 0.0}

    rows = []
    for src, dst, label, score in zip(
        lattice.src, lattice.dst, lattice.label, lattice.score, strict=True
    ):
        for source in copies(int(src)):
            for target, less in copies(int(dst)).items():
                row = (source, target, lattice.vocabulary.word(int(label)))
                rows += [
                    (*row, float(score) + less + math.log(each) / scale) for each in (0.2, 0.8)
                ]
    finals = {
        copy: float(lattice.final[state])
        for state in lattice.finals.tolist()
        for copy in copies(state)
    }
    if divided == lattice.start:
        return
    other = Lattice.from_arcs(
        rows,
        finals,
        states=lattice.num_states + 1,
        start=lattice.start,
        vocabulary=lattice.vocabulary,
    )
    # the model's best may be another one, now that masses are divided
    start = edit(lattice, scale=scale, decode=False).tokens
    assert_same(edit(lattice, scale=scale, start=start), edit(other, scale=scale, start=start))


@given(sentences(unknown=()), st.floats(-50, 50))
def test_one_path(words: list[str], score: float) -> None:
    arcs = [(n, n + 1, word, score) for n, word in enumerate(words)]
    found = edit(Lattice.from_arcs(arcs, [len(words)], states=len(words) + 1))
    assert found.tokens == tuple(words)
    assert (found.expected, found.exact, found.settled) == (0.0, True, True)
    assert [each.confidence for each in found.network.words] == [1.0] * len(words)
    assert len(found.network) == 2 * len(words) + 1
