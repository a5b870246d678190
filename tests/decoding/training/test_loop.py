"""A decoder in the loop, and lists that grow."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given, settings

from decoding.training.loop import DecoderLoop, accumulate, accumulate_lists
from decoding.training.mert import MERT
from fstmetrics import GRR, WER
from lattices import Forest, Hypothesis, Lattice, NBest, k_best
from lattices.algorithms import prune_density
from lattices.errors import FormatError, OptionError
from tests.decoding.training.test_envelope import small_lists
from tests.decoding.training.test_mert import UNIFORM, Stopped, separable
from tests.strategies import FEATURE_NAMES


def rows_of(nbest):
    return [(each.tokens, tuple(sorted(each.features.items()))) for each in nbest]


@settings(max_examples=40)
@given(small_lists(), small_lists())
def test_accumulated_lists_have_everything_once(old, new):
    found = accumulate(old, new)
    assert rows_of(found) == list(dict.fromkeys([*rows_of(old), *rows_of(new)]))
    again = accumulate(found, new)
    assert rows_of(again) == rows_of(found)
    assert again.score.tolist() == found.score.tolist()
    assert found.feature_names == FEATURE_NAMES


def test_lists_of_other_features_and_other_words():
    old = NBest.from_hypotheses([Hypothesis(("a",), 1.0, {"x": 1.0, "y": 0.0})], id="s")
    new = NBest.from_hypotheses(
        [
            Hypothesis(("b", "a"), 2.0, {"z": 3.0}),
            Hypothesis(("a",), 3.0, {"z": 0.0, "x": 1.0}),
            Hypothesis((), 4.0, {}),
        ],
        references=("a b",),
    )
    found = accumulate(old, new)
    assert rows_of(found) == [(("a",), (("x", 1.0),)), (("b", "a"), (("z", 3.0),)), ((), ())]
    assert found.score.tolist() == [1.0, 2.0, 4.0]
    assert found.feature_names == ("x", "y", "z")
    assert (found.id, found.references) == ("s", ("a b",))
    assert found.vocabulary is old.vocabulary


def test_lists_without_features_go_by_words():
    one = NBest.from_hypotheses([Hypothesis(("a",), 1.0), Hypothesis(("a",), 2.0)])
    other = NBest.from_hypotheses([Hypothesis(("b",), 1.0)])
    assert [each.tokens for each in accumulate(one, other)] == [("a",), ("b",)]
    empty = NBest.from_hypotheses([])
    assert [each.tokens for each in accumulate(empty, other)] == [("b",)]
    assert len(accumulate(empty, empty)) == 0


def test_lattices_and_forests_are_united():
    one = Lattice.from_arcs([(0, 1, "a", 0.0, {"x": 1.0})], finals=[1])
    other = Lattice.from_arcs([(0, 1, "b", 0.0, {"y": 1.0})], finals=[1])
    assert sorted(path.text for path in accumulate_lists(one, other).paths()) == ["a", "b"]
    forests = [Forest.from_lattice(each) for each in (one, other)]
    assert sorted(each.text for each in accumulate_lists(*forests).derivations()) == ["a", "b"]
    with pytest.raises(OptionError, match="was a Lattice and is now a Forest"):
        accumulate_lists(one, forests[1])


def tracks(spaces, best_of=1):
    """A decoder that says its few best under the weights, and notes the weights."""
    asked = []

    def decode(weights):
        asked.append(dict(weights))
        for space in spaces:
            ranked = space.reweighted([weights[name] for name in space.feature_names])
            order = np.argsort(-ranked.score, kind="stable")[:best_of]
            some = [ranked[int(entry)] for entry in order]
            yield NBest.from_hypotheses(some, feature_names=space.feature_names, id=space.id)

    return decode, asked


def noisy():
    spaces, references = separable("list", segments=20, seed=8)
    references[::3] = [[text[0].replace("right", "wrong")] for text in references[::3]]
    return spaces, references


def test_the_loop_comes_to_know_what_the_decoder_can_say():
    spaces, references = separable("list", segments=20)
    decode, asked = tracks(spaces, best_of=2)
    loop = DecoderLoop(decode=decode, learner=MERT(start=UNIFORM, seed=1), most_decodes=20)
    weights = loop.run(references, WER())
    scores = [each.score for each in loop.decodings]
    assert scores[0] > 0.3
    assert min(scores) == 0.0
    assert dict(weights) == dict(loop.decodings[int(np.argmin(scores))].weights)
    assert [dict(each.weights) for each in loop.decodings] == asked
    sizes = [each.hypotheses for each in loop.decodings]
    assert sizes == list(np.cumsum([each.fresh for each in loop.decodings]))


def test_a_decoder_that_says_one_thing_gives_nothing_to_learn():
    spaces, references = separable("list")
    decode, asked = tracks(spaces, best_of=1)
    loop = DecoderLoop(decode=decode, learner=MERT(start=UNIFORM))
    assert loop.run(references, WER()) == UNIFORM
    assert asked == [UNIFORM]


def test_without_keeping_each_decoding_stands_alone():
    spaces, references = noisy()
    decode, _ = tracks(spaces, best_of=2)
    learner = MERT(start=UNIFORM, restarts=0)
    loop = DecoderLoop(decode=decode, learner=learner, most_decodes=3, keep=False)
    loop.run(references, GRR(n=2))
    assert {each.hypotheses for each in loop.decodings} == {2 * len(spaces)}


@pytest.mark.parametrize("kind", ["lattice", "forest"])
def test_lattices_and_forests_can_be_decoded(kind):
    spaces, references = separable(kind)

    def decode(weights):
        return [prune_density(space.reweighted(weights), 3.0) for space in spaces]

    loop = DecoderLoop(decode=decode, learner=MERT(start=UNIFORM, restarts=0), most_decodes=6)
    loop.run(references, WER())
    assert min(each.score for each in loop.decodings) < loop.decodings[0].score


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_a_stopped_loop_goes_on_to_the_same_weights(tmp_path, monkeypatch, share):
    spaces, references = noisy()
    searched, count, stop = MERT._step, 0, -1

    def loop():
        decode, _ = tracks(spaces, best_of=2)
        bounds = {"x": (None, 5.0)}
        learner = MERT(start=UNIFORM, restarts=1, random_directions=2, seed=3, bounds=bounds)
        return DecoderLoop(decode=decode, learner=learner, most_decodes=5)

    def counted(self, *args):
        nonlocal count
        count += 1
        if count == stop:
            raise Stopped
        return searched(self, *args)

    monkeypatch.setattr(MERT, "_step", counted)
    whole = loop()
    expected = whole.run(references, GRR(n=2))
    assert len(whole.decodings) > 2
    count, stop = 0, 1 + int(share * count)
    folder = tmp_path / "run"
    with pytest.raises(Stopped):
        loop().run(references, GRR(n=2), checkpoint=folder)
    again = loop()
    assert again.run(references, GRR(n=2), checkpoint=folder) == expected
    assert again.decodings == whole.decodings
    assert again.learner.weights == whole.learner.weights
    # and once more, when there is nothing left to do
    last = loop()
    assert last.run(references, GRR(n=2), checkpoint=folder) == expected


def test_a_decoder_that_fails_can_be_asked_again(tmp_path):
    spaces, references = noisy()
    decode, _ = tracks(spaces, best_of=2)
    options = {"start": UNIFORM, "restarts": 0, "seed": 3}
    whole = DecoderLoop(decode=decode, learner=MERT(**options), most_decodes=4)
    expected = whole.run(references, GRR(n=2))
    calls = 0

    def failing(weights):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Stopped
        return decode(weights)

    folder = tmp_path / "run"
    loop = DecoderLoop(decode=failing, learner=MERT(**options), most_decodes=4)
    with pytest.raises(Stopped):
        loop.run(references, GRR(n=2), checkpoint=folder)
    loop = DecoderLoop(decode=decode, learner=MERT(**options), most_decodes=4)
    assert loop.run(references, GRR(n=2), checkpoint=folder) == expected
    assert loop.decodings == whole.decodings


def test_checkpoints_of_other_runs_are_refused(tmp_path):
    spaces, references = separable("list")
    decode, _ = tracks(spaces)
    folder = tmp_path / "run"

    def loop(**options):
        learner = MERT(start=UNIFORM, restarts=0, **options)
        return DecoderLoop(decode=decode, learner=learner, most_decodes=2)

    loop().run(references, WER(), checkpoint=folder)
    with pytest.raises(OptionError, match="is for wer, not grr"):
        loop().run(references, GRR(), checkpoint=folder)
    with pytest.raises(OptionError, match="other options"):
        loop(seed=7).run(references, WER(), checkpoint=folder)
    (folder / "loop.json").write_text("{}")
    with pytest.raises(FormatError, match="no whole state of a loop"):
        loop().run(references, WER(), checkpoint=folder)
    (folder / "loop.json").write_text("[" * 200_000)
    with pytest.raises(FormatError, match="no state of a loop"):
        loop().run(references, WER(), checkpoint=folder)
    shutil.rmtree(folder)
    assert loop().run(references, WER(), checkpoint=folder)


def test_what_cannot_be_looped_is_refused():
    spaces, references = separable("list")
    decode, _ = tracks(spaces)
    with pytest.raises(OptionError, match="weights to start with"):
        DecoderLoop(decode=decode, learner=MERT())
    with pytest.raises(OptionError, match="most_decodes is at least 1"):
        DecoderLoop(decode=decode, learner=MERT(start=UNIFORM), most_decodes=0)
    loop = DecoderLoop(decode=decode, learner=MERT(start=UNIFORM))
    with pytest.raises(OptionError, match="12 spaces, but references for 13"):
        loop.run([*references, ["a"]], WER())
    empty = DecoderLoop(
        decode=lambda weights: [NBest.from_hypotheses([])] * 12, learner=MERT(start=UNIFORM)
    )
    with pytest.raises(OptionError, match="is empty"):
        empty.run(references, WER())


@pytest.mark.parametrize("width", [1, 4])
def test_lists_of_a_lattice_grow_to_its_sentences(width):
    (lattice,), _ = separable("lattice", segments=1)
    whole = NBest.from_hypotheses(k_best(lattice, 10))
    found = NBest.from_hypotheses(k_best(lattice, width))
    assert len(accumulate(found, whole)) == len(whole)
