"""Lists of what ``generate`` returns, with transformers where it is installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lattices import OptionError, SpaceError, from_generate
from tests.lattices.interop import doors

WORDS = ["<s>", "</s>", "<pad>", "a", "the", "cat", "hat"]


class Tokenizer:
    eos_token_id = 1

    def batch_decode(self) -> None: ...

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        assert skip_special_tokens
        return " ".join(WORDS[each] for each in ids if each > 2)


def test_samples_by_their_fields() -> None:
    """One prompt of two tokens, two samples of up to three."""
    rng = np.random.default_rng(1)
    scores = tuple(rng.normal(size=(2, 7)) for _ in range(3))
    sequences = np.array([[0, 3, 5, 1, 2], [0, 3, 6, 4, 5]])
    output = SimpleNamespace(sequences=sequences, scores=scores)
    [nbest] = from_generate(output, Tokenizer(), 2)
    assert [each.text for each in nbest] == ["cat", "hat the cat"]
    logs = [step - np.log(np.exp(step).sum(axis=1, keepdims=True)) for step in scores]
    first = logs[0][0, 5] + logs[1][0, 1]  # what follows the end is padding
    second = logs[0][1, 6] + logs[1][1, 4] + logs[2][1, 5]
    np.testing.assert_allclose(nbest.score, [first, second])
    assert [each.features for each in nbest] == [{"length": 2.0}, {"length": 3.0}]
    # logits come before scores, and lists are cut at num_return_sequences
    output.logits = tuple(np.zeros((2, 7)) for _ in range(3))
    lists = from_generate(output, Tokenizer())
    assert [len(each) for each in lists] == [1, 1]
    assert lists[0].vocabulary is lists[1].vocabulary
    np.testing.assert_allclose(lists[1].score, [3 * np.log(1 / 7)])


def test_beams_by_their_fields() -> None:
    scores = tuple(np.full((3, 7), -step - 1.0) for step in range(4))
    output = SimpleNamespace(
        sequences=np.array([[1, 4, 5, 1], [1, 5, 1, 2]]),
        sequences_scores=np.array([-2.0, -1.5]),
        scores=scores,
        beam_indices=np.array([[0, 2, 1, -1], [1, 0, -1, -1]]),
    )
    [nbest] = from_generate(output, Tokenizer(), 2)
    assert [each.text for each in nbest] == ["the cat", "cat"]
    assert nbest.score.tolist() == [-2.0, -1.5]
    expected = [{"logprob": -6.0, "length": 3.0}, {"logprob": -3.0, "length": 2.0}]
    assert [each.features for each in nbest] == expected
    # without scores of steps, sequences begin with what began the decoder
    del output.scores, output.beam_indices
    assert [each.text for each in from_generate(output, Tokenizer(), 2)[0]] == ["the cat", "cat"]


def test_beams_as_a_lattice() -> None:
    output = SimpleNamespace(
        sequences=np.array([[4, 5, 3, 1], [4, 6, 3, 1], [3, 5, 3, 1]]),
        sequences_scores=np.array([-1.0, -1.5, -2.0]),
    )
    [lattice] = from_generate(output, Tokenizer(), 3, as_lattice=True)
    assert {path.text: path.score for path in lattice.paths()} == {
        "the cat a": -1.0, "the hat a": -1.5, "a cat a": -2.0
    }  # fmt: skip
    assert lattice.num_states == 5


def test_what_is_missing() -> None:
    output = SimpleNamespace(sequences=np.zeros((3, 4), int))
    with pytest.raises(SpaceError, match="output_scores=True"):
        from_generate(output, Tokenizer())
    with pytest.raises(OptionError, match="num_return_sequences=2 does not divide 3 rows"):
        from_generate(output, Tokenizer(), 2)


def test_samples_need_to_know_what_ends_a_sentence() -> None:
    """Padding has scores, too: without the end the longest sample would seem the likeliest."""
    steps = tuple(np.zeros((2, 7)) for _ in range(3))
    output = SimpleNamespace(sequences=np.array([[5, 1, 2], [6, 4, 5]]), scores=steps)
    with pytest.raises(OptionError, match="give eos_token_id, or -1"):
        from_generate(output, WORDS, 2)
    [nbest] = from_generate(output, WORDS, 2, eos_token_id=1)
    assert [each.features["length"] for each in nbest] == [2.0, 3.0]
    [nbest] = from_generate(output, WORDS, 2, eos_token_id=-1)
    assert [each.features["length"] for each in nbest] == [3.0, 3.0]


@pytest.mark.door
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options",
    [
        {"num_beams": 4, "num_return_sequences": 3},
        {"num_beams": 4, "num_return_sequences": 4, "length_penalty": 0.0},
        {"do_sample": True, "num_return_sequences": 5, "top_k": 4},
        {},
    ],
)
@pytest.mark.parametrize("architecture", ["gpt2", "t5"])
def test_transformers(architecture: str, options: dict[str, Any]) -> None:
    model, output = doors.transformers_output(architecture, len(WORDS), **options)
    count = options.get("num_return_sequences", 1)
    lists = from_generate(output, Tokenizer(), count)
    assert [len(each) for each in lists] == [count, count]
    beams = getattr(output, "beam_indices", None)
    theirs = model.compute_transition_scores(
        output.sequences, output.scores, beams, normalize_logits=beams is None
    ).double()
    ours = [each for nbest in lists for each in nbest]
    for nbest, lattice in zip(
        lists, from_generate(output, Tokenizer(), count, as_lattice=True), strict=True
    ):
        sums: dict[str, float] = {}
        for each in nbest:
            sums[each.text] = float(np.logaddexp(sums.get(each.text, -np.inf), each.score))
        assert {path.text: path.score for path in lattice.paths()} == pytest.approx(sums)
    start = 3 if architecture == "gpt2" else 1
    for each, row, scores in zip(ours, output.sequences, theirs, strict=True):
        new = row[start:].tolist()
        length = new.index(1) + 1 if 1 in new else len(new)
        assert each.tokens == tuple(WORDS[token] for token in new[:length] if token > 2)
        total = scores[:length].sum().item()
        known = each.features["logprob"] if beams is not None else each.score
        assert known == pytest.approx(total, abs=1e-5)
        if "length_penalty" in options:
            assert each.score == pytest.approx(known, abs=1e-5)
