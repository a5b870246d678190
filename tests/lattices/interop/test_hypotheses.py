"""N-best lists of the objects of decoders, and of the packages where they are installed."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lattices
from lattices import NBest, OptionError, SpaceError, from_hypotheses
from tests.lattices.interop import doors

TEXTS = [(("a", "cat"), -0.5), (("the", "cat"), -1.25), ((), -3.0)]


def said(nbest: NBest) -> list[tuple[tuple[str, ...], float]]:
    return [(each.tokens, each.score) for each in nbest]


def has(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**fields)


CATS = ["a cat", "the cat"]


class Tensor:
    """What is asked of a tensor."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value

    def __float__(self) -> float:
        return float(self.value)

    def __iter__(self) -> Any:
        return map(Tensor, self.value)


CTCHypothesis = namedtuple("CTCHypothesis", "tokens words score timesteps")
# NeMo's words are a property, and its tokens may be anything
NEMO = [
    has(score=s, y_sequence=Tensor([1]), text=" ".join(w), words=list(w), timestamp=[], tokens=None)
    for w, s in TEXTS
]
OBJECTS = {
    "pairs": [(" ".join(words), score) for words, score in TEXTS],
    "pairs of words": [(list(words), score) for words, score in TEXTS],
    "rows": [{"text": " ".join(words), "score": score} for words, score in TEXTS],
    "hypotheses": [lattices.Hypothesis(*each) for each in TEXTS],
    "NeMo": has(n_best_hypotheses=NEMO),
    "NeMo's list": NEMO,
    "ESPnet": [
        (" ".join(w), list(w), [1], has(yseq=Tensor([0, 1]), score=Tensor(s), scores={}))
        for w, s in TEXTS
    ],
    "ESPnet without text": [(None, list(w), [1], has(score=s, scores={})) for w, s in TEXTS],
    "ESPnet S2T": [(" ".join(w), list(w), [1], "", has(score=s, scores={})) for w, s in TEXTS],
    "torchaudio": [CTCHypothesis(Tensor([3, 4]), list(w), s, Tensor([1])) for w, s in TEXTS],
    "CTranslate2": has(hypotheses=[list(w) for w, _ in TEXTS], scores=[s for _, s in TEXTS]),
    "vLLM": has(
        prompt="p",
        outputs=[has(text=" ".join(w), token_ids=[1], cumulative_logprob=s) for w, s in TEXTS],
    ),
    "vLLM's beams": has(
        sequences=[has(text=" ".join(w), cum_logprob=s, tokens=[1]) for w, s in TEXTS]
    ),
    "completions": has(
        choices=[has(text=" ".join(w), logprobs=has(token_logprobs=[None, s])) for w, s in TEXTS]
    ),
    "chats": {
        "choices": [
            {
                "message": {"role": "assistant", "content": " ".join(w)},
                "logprobs": {"content": [{"token": "x", "logprob": s - 1}, {"logprob": 1.0}]},
            }
            for w, s in TEXTS
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_same_as_through_a_file(name: str, tmp_path: Path) -> None:
    nbest = from_hypotheses(OBJECTS[name], id="s")
    assert said(nbest) == TEXTS
    lattices.write(tmp_path / "list.tsv", [nbest])
    [read] = lattices.read(tmp_path / "list.tsv")
    assert isinstance(read, NBest)
    assert (read.id, said(read)) == ("s", TEXTS)


def test_scores_stay_apart() -> None:
    beam = ("a cat", None, [("a", (0, 1))], -2.0, -5.0)
    for each in (
        beam,
        (beam[0], *beam[2:]),
        has(text="a cat", last_lm_state=None, text_frames=[], logit_score=-2.0, lm_score=-5.0),
        has(text="a cat", last_lm_state=None, score=-2.0, lm_score=-5.0, text_frames=None),
    ):
        [found] = from_hypotheses([each])
        assert (found.tokens, found.score) == (("a", "cat"), -5.0)
        assert found.features == {"logit": -2.0, "lm": -3.0}
    hyp = has(score=Tensor(-3.0), scores={"decoder": Tensor(-1.0), "ctc": Tensor(-4.0)})
    [found] = from_hypotheses([("a cat", [], [], hyp)])
    assert found.features == {"decoder": -1.0, "ctc": -4.0}


def test_tokens_and_their_numbers() -> None:
    ids = [has(score=-1.0, tokens=Tensor([2, 1]), words=[]), has(score=-2.0, tokens=[1], words=[])]
    table = {1: "cat", 2: "a"}
    for tokenizer in (
        table, ["", "cat", "a"], has(decode=lambda ids: " ".join(table[i] for i in ids)),
        lambda ids: " ".join(table[i] for i in ids), has(get_entry=table.__getitem__),
    ):  # fmt: skip
        found = from_hypotheses(ids, tokenizer, tokens=True)
        assert said(found) == [(("a", "cat"), -1.0), (("cat",), -2.0)]
    # the words of a decoder with a lexicon: none
    assert said(from_hypotheses(ids)) == [((), -1.0), ((), -2.0)]
    with pytest.raises(OptionError, match=r"hypothesis 0 has numbers of tokens, \[2, 1\]"):
        from_hypotheses(ids, tokens=True)
    result = has(sequences=[["▁a", "cat"]], sequences_ids=[[2, 1]], scores=[-1.0])
    assert said(from_hypotheses(result)) == [(("▁a", "cat"), -1.0)]
    assert said(from_hypotheses(result, has(decode=lambda ids: f"{ids}"))) == [
        (("[2,", "1]"), -1.0)
    ]


@pytest.mark.parametrize(
    "samples",
    [
        ["a cat", "the cat"],
        ("a cat", "the cat"),
        [{"text": "a cat"}, {"text": "the cat"}],
        [has(text="a cat"), has(text="the cat")],
        {"choices": [{"message": {"content": each}, "logprobs": None} for each in CATS]},
        has(outputs=[has(text=each, cumulative_logprob=None, logprobs=None) for each in CATS]),
    ],
)
def test_samples_without_scores_are_equal(samples: Any) -> None:
    nbest = from_hypotheses(samples)
    assert [each.text for each in nbest] == CATS
    assert nbest.score.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("a cat", "no list of hypotheses"),
        (("a cat", -1.0), "no list of hypotheses"),
        (3, "no list of hypotheses"),
        ([has(text="a cat"), ("a", -1.0)], "hypothesis 0 has score None"),
        ([("a", -1.0), "a cat"], "hypothesis 1 has score None"),
        ([("a", -1.0), has(score=-1.0)], "hypothesis 1 is"),
        ([("a",)], "hypothesis 0 is"),
        ([("a", float("nan"))], "hypothesis 0 has score nan"),
        (has(hypotheses=[["a"]], scores=[]), "return_scores=True"),
    ],
)
def test_wrong_objects(wrong: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        from_hypotheses(wrong)


@pytest.mark.door
def test_pyctcdecode() -> None:
    beams = doors.pyctcdecode_beams()
    found = from_hypotheses(beams)
    assert len(found) == len(beams) > 1
    assert [each.text for each in found] == [beam[0] for beam in beams]
    assert (np.diff(found.score) <= 0).all()
    assert [each.features["logit"] for each in found] == [beam[-2] for beam in beams]


@pytest.mark.door
def test_flashlight() -> None:
    results, words = doors.flashlight_results()
    found = from_hypotheses(results, words)
    assert len(found) == len(results) > 1
    assert set(found.vocabulary) == {"ab", "ba", "a"}
    for each, result in zip(found, results, strict=True):
        numbers = [number for number in result.words if number >= 0]
        assert each.tokens == tuple(map(words.get_entry, numbers))
        assert each.score == result.score
        assert each.features.get("emission", 0.0) == result.emittingModelScore


@pytest.mark.door
def test_ctranslate2(tmp_path: Path) -> None:
    translator, source = doors.ctranslate2_translator(tmp_path)
    options = {"beam_size": 4, "num_hypotheses": 3, "max_decoding_length": 5}
    [result] = translator.translate_batch([source], return_scores=True, **options)
    expected = list(zip(map(tuple, result.hypotheses), result.scores, strict=True))
    assert len(expected) == 3
    assert said(from_hypotheses(result)) == expected
    joined = from_hypotheses(result, "".join)
    assert [each.text for each in joined] == ["".join(words) for words in result.hypotheses]
    [result] = translator.translate_batch([source], **options)
    with pytest.raises(SpaceError, match="return_scores=True"):
        from_hypotheses(result)


@pytest.mark.door
def test_openai() -> None:
    """The objects that its client makes of a server's answers."""
    for answer in (doors.openai_completion(TEXTS), doors.openai_chat(TEXTS)):
        found = from_hypotheses(answer)
        assert [each.tokens for each in found] == [words for words, _ in TEXTS]
        assert found.score == pytest.approx([score for _, score in TEXTS])
