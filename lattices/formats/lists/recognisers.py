"""Results of speech recognisers as JSON: vosk, openai-whisper, whisper.cpp, ESPnet 1; read only.

Objects may follow one another, over as many lines as they like. An utterance is named by the file,
further ones with their numbers (``talk``, ``talk-1``), those of ESPnet by themselves. Told by their
keys:

``alternatives``
    vosk with ``SetMaxAlternatives``: a list; ``confidence`` is the score, a log-likelihood.
``text``, with or without ``result``
    vosk without: one hypothesis, whose score is the sum of the logarithms of ``conf``. What is
    ``partial`` is left out.
``segments``
    openai-whisper: one hypothesis. The score is the log-probability of the tokens, the sum of
    ``avg_logprob * (tokens + 1)`` over segments, which is how whisper has averaged it.
``transcription``
    whisper.cpp: one hypothesis. The score is the sum of the logarithms of the ``p`` of tokens,
    which ``--output-json-full`` writes, else 0.
``utts``
    ESPnet 1 (``data.json``): for each utterance a list of ``rec_text`` with ``score``; ``<eos>`` is
    no word. ``text`` is the reference.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from lattices.errors import SpaceError
from lattices.formats.base import BYTE_ORDER_MARK, Format, Record, split_words
from lattices.formats.json.fields import decode, take_field
from lattices.spaces import Hypothesis, NBest
from lattices.vocabulary import Vocabulary

_KEYS = ("alternatives", "result", "partial", "segments", "transcription", "utts")
#: the keys that only such files begin with
_OPENING = re.compile(
    rb'\s*\{\s*"(?:(?:alternatives|partial|segments|utts)"|systeminfo"|result"\s*:\s*\[|'
    rb'text"\s*:\s*"(?:[^"\\]|\\.)*"\s*(?:,\s*"(?:segments|language)"|\}))'
)
_EOS = "<eos>"
_INK = re.compile(r"\S")
#: a posterior of 0 was printed with few digits
_SMALLEST = 1e-10


class RecogniserJson(Format):
    """See the module."""

    name = "asr-json"
    description = "JSON of vosk, openai-whisper, whisper.cpp and ESPnet 1"
    kind = "nbest"
    suffixes = (".json",)
    single = True
    concatenated = True
    writable = False

    def sniff(self, head: bytes) -> bool:
        """Tell whether it begins with a key that one of the recognisers writes first."""
        return is_recogniser(head)

    def records(self, stream: BinaryIO, path: str) -> Iterator[Record]:
        """Cut between objects, and utterances of ESPnet; the file is held as a whole."""
        whole = Record(stream.read().removeprefix(BYTE_ORDER_MARK), path, 1, 0)
        text = whole.text()
        number = 0
        for begin, value in _objects(whole, text):
            line = 1 + text.count("\n", 0, begin)
            if isinstance(value, dict) and "partial" in value:
                continue  # what vosk has said of an utterance before its end
            if isinstance(value, dict) and isinstance(value.get("utts"), dict):
                for name, fields in value["utts"].items():
                    place = text.find(json.dumps(name, ensure_ascii=False), begin)
                    fields = {**fields, "id": name} if isinstance(fields, dict) else fields
                    payload = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
                    yield Record(payload, path, 1 + text.count("\n", 0, max(place, begin)), number)
                    number += 1
                continue
            payload = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            yield Record(payload, path, line, number)
            number += 1

    def parse(self, record: Record, vocabulary: Vocabulary, **options: Any) -> NBest:
        """Return the list of one utterance."""
        fields = decode(record)
        if not isinstance(fields, dict):
            raise record.error(f"{fields!r:.40}, expected an object")
        references: tuple[str, ...] = ()
        if "output" in fields:
            outputs = take_field(fields, "output", list)
            hypotheses = [_espnet(each) for each in outputs]
            texts = dict.fromkeys(each["text"] for each in outputs if "text" in each)
            references = tuple(text for text in texts if isinstance(text, str))
        elif "alternatives" in fields:
            hypotheses = [_vosk(each) for each in take_field(fields, "alternatives", list)]
        elif "segments" in fields or "transcription" in fields:
            hypotheses = [_whisper(fields)]
        elif "text" in fields:
            words = take_field(fields, "result", list, [])
            posteriors = [max(_number(word, "conf"), _SMALLEST) for word in words]
            score = math.fsum(map(math.log, posteriors))
            hypotheses = [Hypothesis(_words(fields, "text"), score)]
        else:
            raise record.error(f"none of the keys {', '.join(_KEYS)} or text in the object")
        return NBest.from_hypotheses(
            hypotheses, vocabulary=vocabulary, id=str(fields.get("id", "")), references=references
        )


FORMAT = RecogniserJson()


def is_recogniser(head: bytes) -> bool:
    """Tell whether a file begins as those of a recogniser do."""
    return _OPENING.match(head) is not None


def _objects(whole: Record, text: str) -> Iterator[tuple[int, Any]]:
    """Iterate over the values that follow one another, and where they begin."""
    decoder = json.JSONDecoder()
    end = 0
    while found := _INK.search(text, end):
        begin = found.start()
        try:
            value, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as problem:
            where = f"{problem.msg}, column {problem.colno}"
            raise whole.error(f"not JSON: {where}", problem.lineno - 1) from problem
        except ValueError as problem:
            raise whole.error("a whole number of thousands of digits") from problem
        except RecursionError as problem:
            raise whole.error("lists or objects in one another, too many") from problem
        yield begin, value


def _words(fields: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(split_words(take_field(fields, key, str)))


def _number(fields: Any, key: str) -> float:
    value = fields.get(key) if isinstance(fields, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SpaceError(f"{value!r:.40} for {key!r}, expected a finite number")
    return float(value)


def _vosk(fields: Any) -> Hypothesis:
    if not isinstance(fields, dict):
        raise SpaceError(f"{fields!r:.40} among the alternatives, expected an object")
    return Hypothesis(_words(fields, "text"), _number(fields, "confidence"))


def _espnet(fields: Any) -> Hypothesis:
    if not isinstance(fields, dict):
        raise SpaceError(f"{fields!r:.40} for an output, expected an object")
    text = take_field(fields, "rec_text", str).replace(_EOS, " ")
    return Hypothesis(tuple(split_words(text)), _number(fields, "score"))


def _whisper(fields: dict[str, Any]) -> Hypothesis:
    key = "segments" if "segments" in fields else "transcription"
    words: list[str] = []
    scores: list[float] = []
    for part in take_field(fields, key, list):
        if not isinstance(part, dict):
            raise SpaceError(f"{part!r:.40} among the {key}, expected an object")
        words += _words(part, "text")
        tokens = take_field(part, "tokens", list, [])
        if key == "transcription":
            scores += [math.log(max(_number(token, "p"), _SMALLEST)) for token in tokens]
        elif "avg_logprob" in part:
            scores.append(_number(part, "avg_logprob") * (len(tokens) + 1))
    return Hypothesis(tuple(words), math.fsum(scores))
