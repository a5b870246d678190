"""Results of speech recognisers: vosk, openai-whisper, whisper.cpp, ESPnet 1; read only.

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

:func:`read_result` takes the same things as objects of the packages, by the same names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from lattices.errors import SpaceError
from lattices.formats.base import BYTE_ORDER_MARK, Format, Record, split_words
from lattices.formats.json.fields import decode, take_field
from lattices.formats.lists.table import NAMES
from lattices.spaces import Hypothesis, NBest
from lattices.vocabulary import Vocabulary

#: names of fields: of a list of hypotheses, of consecutive parts of one, ...
ALTERNATIVES = ("alternatives",)
PARTS = ("segments", "transcription")
TEXTS = (*NAMES["text"], "content")
SCORES = (*NAMES["score"], "cum_logprob")
#: ... of log-probabilities of tokens, and of words, or tokens, that are objects
LOGPROBS = ("ys_log_probs", "ys_probs")
WORDS = ("result", "words", "tokens")
CONFIDENCES = ("conf", "confidence", "probability", "p", "score")
BEGINS = ("start", "begin")
ENDS = ("end",)

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
        else:
            found = read_result(fields)
            if found is None:
                raise record.error(f"none of the keys {', '.join(_KEYS)} or text in the object")
            odd = [each for each in found if each.score is None]
            if 0 < len(odd) < len(found):
                raise record.error(
                    f"no score of {' '.join(odd[0].tokens)!r:.40}, where others have one"
                )
            hypotheses = [Hypothesis(each.tokens, each.score or 0.0) for each in found]
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


class Word(NamedTuple):
    """A word, and when it was said."""

    text: str
    begin: float
    end: float


class Result(NamedTuple):
    """One hypothesis of a recogniser; no words where their times are not known."""

    tokens: tuple[str, ...]
    score: float | None
    words: Sequence[Word] = ()


def get(thing: Any, *names: str) -> Any:
    """Return the first field that an object, or a mapping, has of these names, else None."""
    for name in names:
        found = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
        if found is not None and not callable(found):
            return found
    return None


def get_text(thing: Any) -> str | None:
    """Return the text of a hypothesis, by whatever name."""
    return next((text for name in TEXTS if isinstance(text := get(thing, name), str)), None)


def is_list(value: Any) -> bool:
    """Tell whether something has items that are no letters and no keys."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def read_result(thing: Any) -> list[Result] | None:
    """Return the hypotheses of a result, an object or a mapping; None if it is none."""
    found = get(thing, *ALTERNATIVES)
    if is_list(found):
        return [_read_one(each, ALTERNATIVES[0]) for each in found]
    for name in PARTS:
        if is_list(parts := get(thing, name)):
            return [join_parts(parts, name)]
    return None if get_text(thing) is None else [_read_one(thing)]


def join_parts(parts: Iterable[Any], name: str = PARTS[0]) -> Result:
    """Return the hypothesis of its consecutive parts."""
    read = [_read_one(part, name) for part in parts]
    return Result(
        tuple(token for part in read for token in part.tokens),
        math.fsum(part.score or 0.0 for part in read),
        [word for part in read for word in part.words],
    )


def _read_one(thing: Any, among: str = "") -> Result:
    if isinstance(thing, str | int | float | list | tuple | None) and not hasattr(thing, "_fields"):
        raise SpaceError(f"{thing!r:.40} among the {among}, expected an object")
    text = get_text(thing)
    if text is None:
        text = take_field(thing if isinstance(thing, dict) else {}, "text", str)
    return Result(tuple(split_words(text)), score_of(thing), list(timed_words(thing)))


def score_of(thing: Any) -> float | None:
    """Return the score by a usual name, or from an average, tokens or words; None without."""
    for name in SCORES:
        value = get(thing, name)
        # a tensor of one number can be iterated over, too
        if value is not None and not (is_list(value) and not hasattr(value, "__float__")):
            return _number(value, name)
    average = get(thing, "avg_logprob")
    if average is not None:
        tokens = get(thing, "tokens")
        return _number(average, "avg_logprob") * (1 + (len(tokens) if is_list(tokens) else 0))
    if is_list(values := get(thing, *LOGPROBS)):
        logprobs = [_number(value, LOGPROBS[0]) for value in values]
        return math.fsum(logprobs) if logprobs else None
    for name in WORDS:
        words = get(thing, name)
        known = [each for each in words if _is_object(each)] if is_list(words) else []
        posteriors = [p for each in known if (p := _confidence(each)) is not None]
        if posteriors:
            return math.fsum(math.log(max(p, _SMALLEST)) for p in posteriors)
    return None


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "__dict__") or hasattr(value, "_fields")


def _confidence(word: Any) -> float | None:
    for name in CONFIDENCES:
        if (value := get(word, name)) is not None:
            return _number(value, name)
    return None


def timed_words(thing: Any) -> Iterator[Word]:
    """Iterate over the words whose times are known, in seconds."""
    stamps = get(get(thing, "timestamp"), "word")  # NeMo's
    words = stamps if is_list(stamps) else get(thing, *WORDS[:2])
    if not is_list(words):
        return
    for word in words:
        text, begin, end = get(word, "word"), get(word, *BEGINS), get(word, *ENDS)
        known = isinstance(begin, int | float) and isinstance(end, int | float)
        if isinstance(text, str) and known and math.isfinite(begin + end):
            for part in split_words(text):
                yield Word(part, float(begin), float(end))


def _number(value: Any, name: str) -> float:
    """Return a number of JSON, or of a tensor."""
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise SpaceError(f"{value!r:.40} for {name!r}, expected a finite number")
    return number


def _espnet(fields: Any) -> Hypothesis:
    if not isinstance(fields, dict):
        raise SpaceError(f"{fields!r:.40} for an output, expected an object")
    text = take_field(fields, "rec_text", str).replace(_EOS, " ")
    return Hypothesis(tuple(split_words(text)), _number(fields.get("score"), "score"))
