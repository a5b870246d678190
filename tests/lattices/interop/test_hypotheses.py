"""N-best lists of the objects of decoders, and of the packages where they are installed."""

from __future__ import annotations

import json
import math
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


def vosk(*alternatives: dict[str, Any]) -> str:
    """Return what ``KaldiRecognizer.Result`` returns with ``SetMaxAlternatives``: text of JSON."""
    return json.dumps({"alternatives": alternatives})


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
    "vosk": vosk(*({"text": " ".join(w), "confidence": s, "result": []} for w, s in TEXTS)),
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


LOG = math.log
#: results of recognisers as their classes and their JSON have them, made here by hand
RESULTS = {
    "text": ("a cat", None),
    "text with a score": ({"text": "a cat", "logprob": -0.5}, -0.5),
    "the usual names": ({"pred_text": "a cat", "text": "the hat", "total_score": Tensor(-2)}, -2.0),
    "vosk": (
        '{"text": "a cat", "result": [{"word": "a", "start": 0, "end": 0.5, "conf": 0.5}, '
        '{"word": "cat", "start": 0.5, "end": 1.0, "conf": 0.25}]}',
        LOG(0.125),
    ),
    "openai-whisper": (
        {"text": " a cat", "language": "en", "segments": [
            {"text": " a", "start": 0.0, "end": 0.5, "tokens": [7], "avg_logprob": -0.25},
            {"text": " cat", "start": 0.5, "end": 1.0, "tokens": [8, 9], "avg_logprob": -0.5},
        ]},
        -2.0,
    ),
    "DecodingResult": (has(text="a cat", tokens=[7, 8], avg_logprob=-0.5, temperature=0.0), -1.5),
    "a list of DecodingResult": ([has(text="a cat", tokens=[7], avg_logprob=-0.5)], -1.0),
    "faster-whisper": (
        [has(text=" a", start=0.0, end=0.5, tokens=[7], avg_logprob=-0.25, words=None),
         has(text=" cat", start=0.5, end=1.0, tokens=[8], avg_logprob=-0.5, words=None)],
        -1.5,
    ),
    "WhisperX": (
        {"segments": [{"text": "a cat", "start": 0.0, "end": 1.0, "words": [
            {"word": "a", "start": 0.0, "end": 0.5, "score": 0.5},
            {"word": "cat", "start": 0.5, "end": 1.0, "score": 0.25}]}], "word_segments": []},
        LOG(0.125),
    ),
    "sherpa-onnx": (
        has(text=" a cat", tokens=[" a", " c", "at"], timestamps=[0.0, 0.5, 0.75], words=[],
            ys_log_probs=[-0.5, -0.25, -1.0]),
        -1.75,
    ),
    "sherpa-onnx, online": (
        has(text=" a cat", tokens=[" a", " c", "at"], ys_probs=[-0.5, -0.25, -1.0], words=[]),
        -1.75,
    ),
    "sherpa-onnx without scores": (has(text="a cat", ys_log_probs=[], tokens=["a", "cat"]), None),
    "kraken": (has(prediction="a cat", confidences=[0.5] * 5), None),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_one_hypothesis(name: str) -> None:
    result, score = RESULTS[name]
    for found in (from_hypotheses(result, id="s"), lattices.from_object(result, id="s")):
        assert isinstance(found, NBest)
        assert said(found) == [(("a", "cat"), pytest.approx(score or 0.0))]
        assert found.id == "s"


def test_segments_as_they_come() -> None:
    """faster-whisper's transcribe returns a generator, and information beside it."""
    parts, score = RESULTS["faster-whisper"]
    assert isinstance(parts, list)
    for result in (
        ((each for each in parts), has(language="en")),
        (each for each in parts),
    ):
        assert said(lattices.from_object(result)) == [(("a", "cat"), score)]  # type: ignore[arg-type]
    assert said(from_hypotheses(((each for each in []), has(language="en")))) == [((), 0.0)]
    assert len(from_hypotheses(each for each in CATS)) == 2


def top(**logprobs: float) -> list[Any]:
    """Return the likeliest tokens of a position; ``_`` stands for a blank."""
    return [has(token=t.replace("_", " "), logprob=each) for t, each in logprobs.items()]


def positions(*rows: dict[str, float]) -> list[Any]:
    """Return what OpenAI's API says of tokens: the first of each row was chosen."""
    return [
        has(token=first.token, logprob=first.logprob, top_logprobs=[first, *rest])
        for first, *rest in (top(**row) for row in rows)
    ]


SPOKEN = positions(
    {"the": -0.5, "a": -1.0}, {"_c": -0.25, "_h": -2.0}, {"at": -0.125, "ot": -3.0, "x y": -3.0}
)
NUMBERED = [
    {
        place * 10 + n: has(decoded_token=one.token, logprob=one.logprob)
        for n, one in enumerate(some)
    }
    for place, some in enumerate(each.top_logprobs for each in SPOKEN)
]
#: answers of servers about the text "the cat", with other tokens, made here by hand
ALTERNATIVES = {
    "chats": has(choices=[has(message=has(content="the cat"), logprobs=has(content=SPOKEN))]),
    "completions": {"choices": [{"text": "the cat", "logprobs": {
        "tokens": [each.token for each in SPOKEN],
        "token_logprobs": [each.logprob for each in SPOKEN],
        "top_logprobs": [{t.token: t.logprob for t in each.top_logprobs} for each in SPOKEN],
    }}]},
    "vLLM": has(outputs=[has(text="the cat", token_ids=[0, 10, 20, 99], cumulative_logprob=None,
                             logprobs=[*NUMBERED, {99: has(decoded_token="</s>", logprob=0.0)}])]),
    "llama.cpp": {"content": "the cat", "completion_probabilities": [
        {"id": 1, "token": each.token, "logprob": each.logprob,
         "top_logprobs": [vars(t) for t in each.top_logprobs]} for each in SPOKEN
    ]},
}  # fmt: skip


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_alternatives_of_tokens(name: str) -> None:
    """By enumeration: all sentences with some tokens replaced by others."""
    answer = ALTERNATIVES[name]
    assert said(from_hypotheses(answer)) == [(("the", "cat"), -0.875)]
    found = {
        each.text: (each.score, each.features.get("recombined", 0.0))
        for each in from_hypotheses(answer, as_lattice=True).paths()
    }
    assert found == {
        f"{first} {second}{third}": (p + q + r, number)
        for first, p, a in (("the", -0.5, 0), ("a", -1.0, 1))
        for second, q, b in (("c", -0.25, 0), ("h", -2.0, 1))
        for third, r, c in (("at", -0.125, 0), ("ot", -3.0, 1))
        for number in [a + b + c]
    }


def test_tokens_that_do_not_spell_the_text() -> None:
    """Bytes of a character: the text counts, without alternatives."""
    odd = positions({"<0xE2>": -0.5, "a": -1.0}, {"<0x82>": -0.5})
    answer = has(choices=[has(message=has(content="€"), logprobs=has(content=odd))])
    assert [(p.text, p.score) for p in from_hypotheses(answer, as_lattice=True).paths()] == [
        ("€", -1.0)
    ]


def test_texts_stay_what_they_are(tmp_path: Path) -> None:
    """Beside their words, and through our files."""
    code = ["def f(x):\n\treturn  x", "return x", " a "]
    plain = from_hypotheses([("a cat", -1.0), (" the cat ", -2.0)])
    assert plain.metadata == {}
    assert [plain.original(place) for place in range(2)] == CATS
    nbest = from_hypotheses(code, id="s", metadata={"lang": "py"})
    lattices.write(tmp_path / "list.jsonl", [nbest])
    [read] = lattices.read(tmp_path / "list.jsonl")
    assert isinstance(read, NBest)
    for each in (nbest, read):
        assert [each.original(place) for place in range(3)] == code
        assert each.metadata["lang"] == "py"
        assert each[0].tokens == ("def", "f(x):", "return", "x")
    answer = {"choices": [{"message": {"content": text}} for text in code]}
    assert from_hypotheses(answer).original(0) == code[0]


def test_lattices_have_times() -> None:
    """Of what recognisers say of words."""
    for name in ("vosk", "WhisperX"):
        lattice = from_hypotheses(RESULTS[name][0], as_lattice=True, id="s")
        assert lattice.times is not None
        assert lattice.times.tolist() == [0.0, 0.5, 1.0]
        assert (lattice.id, [path.text for path in lattice.paths()]) == ("s", ["a cat"])
    nemo = has(text="a cat", score=-1.0, word_confidence=[0.5, 0.25], timestamp={"word": [
        {"word": "a", "start": 0.0, "end": 0.5}, {"word": "cat", "start": 0.5, "end": 1.0}
    ]})  # fmt: skip
    times = from_hypotheses([nemo], as_lattice=True).times
    assert times is not None
    assert times.tolist() == [0.0, 0.5, 1.0]
    assert from_hypotheses([nemo, ("a hat", -2.0)], as_lattice=True).times is None


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
        ('{"partial": "a cat"}', "no list of hypotheses"),
        ({"segments": [3]}, "3 among the segments, expected an object"),
        ({"alternatives": [{"confidence": 1.0}]}, "no 'text' in the object"),
        ({"text": "a", "confidence": "high"}, "'high' for 'confidence', expected a finite number"),
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
@pytest.mark.filterwarnings("ignore")
def test_openai_whisper() -> None:
    result, decoded = doors.whisper_results()
    [segment] = result["segments"]
    [found] = from_hypotheses(result)
    assert found.tokens == tuple(result["text"].split())
    assert found.score == pytest.approx(segment["avg_logprob"] * (len(segment["tokens"]) + 1))
    for answer in (decoded, [decoded]):
        [other] = lattices.from_object(answer)  # type: ignore[misc]
        assert isinstance(other, lattices.Hypothesis)
        assert other.text == " ".join(decoded.text.split(" "))
        assert other.score == decoded.avg_logprob * (len(decoded.tokens) + 1)


@pytest.mark.door
def test_faster_whisper() -> None:
    """Objects of its own classes."""
    for result in (doors.faster_whisper_segments(), list(doors.faster_whisper_segments()[0])):
        found = lattices.from_object(result)
        assert isinstance(found, NBest)
        assert said(found) == [(("a", "cat"), -3.0)]


@pytest.mark.door
def test_sherpa_onnx(tmp_path: Path) -> None:
    result = doors.sherpa_result(tmp_path)
    [found] = lattices.from_object(result)  # type: ignore[misc]
    assert isinstance(found, lattices.Hypothesis)
    assert found.text == result.text.strip() != ""
    assert found.score == pytest.approx(sum(result.ys_log_probs))


# the next two are no doors: their packages want other versions of what the others need, so `make
# doors` does not install them
def test_nemo() -> None:
    kinds = doors.imported("nemo.collections.asr.parts.utils.rnnt_utils")
    hypotheses = [kinds.Hypothesis(score=s, y_sequence=[1], text=" ".join(w)) for w, s in TEXTS]
    for each in (hypotheses, kinds.NBestHypotheses(n_best_hypotheses=hypotheses)):
        assert said(from_hypotheses(each)) == TEXTS
    # without beams, transcribe returns one for each recording
    assert said(lattices.from_object(hypotheses[0])) == TEXTS[:1]  # type: ignore[arg-type]


def test_espnet() -> None:
    torch = doors.imported("torch")
    kind = doors.imported("espnet.nets.beam_search").Hypothesis
    answer = [
        (" ".join(w), list(w), [1], kind(torch.tensor([1]), torch.tensor(s), {"ctc": s}))
        for w, s in TEXTS
    ]
    found = from_hypotheses(answer)
    assert said(found) == TEXTS
    assert [each.features["ctc"] for each in found] == [s for _, s in TEXTS]


@pytest.mark.door
def test_openai() -> None:
    """The objects that its client makes of a server's answers."""
    for answer in (doors.openai_completion(TEXTS), doors.openai_chat(TEXTS)):
        found = from_hypotheses(answer)
        assert [each.tokens for each in found] == [words for words, _ in TEXTS]
        assert found.score == pytest.approx([score for _, score in TEXTS])
    paths = list(from_hypotheses(doors.openai_chat(TEXTS), as_lattice=True).paths())
    plain = {path.tokens: path.score for path in paths if not path.features}
    assert plain == pytest.approx(dict(TEXTS))
    assert {"a dog", "the dog", "dog cat"} < {path.text for path in paths}
