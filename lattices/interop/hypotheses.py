"""N-best lists of the hypothesis objects that decoders return.

No decoder is imported: objects are known by their fields, or keys where they come from JSON.

======================================  ==================================  =====================
hypotheses                              score                               features
======================================  ==================================  =====================
texts                                   none: all are equal
``(text, score)``                       as given
mappings and objects with a text        as it is usually named: ``score``,
                                        ``logprob``, ``confidence``, ...
vosk, its JSON too                      ``confidence``; without
                                        alternatives, the sum of the
                                        logarithms of ``conf``
openai-whisper, faster-whisper          ``avg_logprob * (tokens + 1)``,
                                        summed over segments
WhisperX                                the same, or the sum of the
                                        logarithms of words' scores
sherpa-onnx                             the sum of ``ys_log_probs``
ESPnet ``(text, tokens, ids, hyp)``     ``hyp.score``, the weighted sum     ``hyp.scores``
pyctcdecode beams, SpeechBrain's        ``lm_score``, which is the sum of   ``logit``, ``lm``
``CTCHypothesis``                       both
flashlight ``DecodeResult``             ``score``, the weighted sum         ``emission``, ``lm``
torchaudio ``CTCHypothesis``            ``score``, the weighted sum
NeMo ``Hypothesis``                     ``score``, a log-probability
CTranslate2 results                     ``scores``, log-probabilities over
                                        ``length ** length_penalty``
vLLM ``CompletionOutput``               ``cumulative_logprob``, or none
OpenAI choices                          the sum of ``logprobs``, or none
======================================  ==================================  =====================
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from lattices.errors import OptionError, SpaceError, expecting
from lattices.formats.base import split_words
from lattices.formats.lists.recognisers import (
    BEGINS,
    ENDS,
    Result,
    get,
    get_text,
    is_list,
    join_parts,
    read_result,
    score_of,
)
from lattices.spaces import Hypothesis, NBest
from lattices.vocabulary import Vocabulary

#: from the tokens or token numbers of a hypothesis to its text: a function, an object with
#: ``decode``, or a table of the word of every number
Tokenizer: TypeAlias = Any

#: fields of what one segment has, and of what its hypotheses are
_LISTS = ("n_best_hypotheses", "outputs", "choices")
_PARALLEL = ("hypotheses", "sequences")
_TOKENS = ("tokens", "y_sequence", "yseq", "token_ids")


class _FoundFields(NamedTuple):
    """What a hypothesis says: text, or words, or numbers of tokens."""

    said: Any
    score: Any = None
    features: Mapping[str, Any] = {}


@expecting("hypotheses are a list of texts, of (text, score) or of a decoder's objects")
def from_hypotheses(
    hypotheses: Any,
    tokenizer: Tokenizer = None,
    *,
    tokens: bool = False,
    vocabulary: Vocabulary | None = None,
    **fields: Any,
) -> NBest:
    """Return the n-best list of one segment, of whatever objects its decoder has returned.

    Hypotheses that all have no score, such as samples of a language model, have equal ones. A
    batch is ``[from_hypotheses(each) for each in batch]``.

    Parameters
    ----------
    hypotheses
        The hypotheses of one segment, best first: texts, tuples, objects or mappings as the module
        lists them, or what holds them (NeMo's ``NBestHypotheses``, a result of CTranslate2,
        vLLM's ``RequestOutput``, a response with ``choices``, vosk's JSON). A text, or the
        segments that follow one another in whisper's transcription, are one hypothesis.
    tokenizer : function, object with ``decode``, or table, optional
        Makes text of tokens or of their numbers, where hypotheses have no text. Without it
        tokens are the words of the list, see :func:`lattices.to_words`.
    tokens : bool
        Whether to take the tokens of hypotheses that have words, too: those of decoders without
        a lexicon (torchaudio, flashlight) have none.
    vocabulary : Vocabulary, optional
        Grows by the new words.
    **fields
        ``id``, ``source``, ``references`` and ``metadata`` of the list.

    Raises
    ------
    SpaceError
        If an object has none of the fields that are known, or no score where others have one.
    OptionError
        If there are numbers of tokens, and no tokenizer to make words of them.

    Examples
    --------
    >>> nbest = from_hypotheses([("a cat", -0.5), ("the cat", -1.5)], id="utterance-1")
    >>> nbest, nbest[1].text
    (<NBest 'utterance-1' of 2 hypotheses>, 'the cat')
    >>> from_hypotheses(["a cat", "the cat", "a cat"]).score.tolist()
    [0.0, 0.0, 0.0]
    """
    entries = []
    read = [
        each if isinstance(each, _FoundFields) else _read(each, number, tokens)
        for number, each in enumerate(_entries(hypotheses))
    ]
    scored = any(found.score is not None for found in read)
    for number, found in enumerate(read):
        score = _number(found.score) if scored else 0.0
        if not math.isfinite(score):
            raise SpaceError(f"hypothesis {number} has score {found.score!r}, expected a number")
        features = {name: _number(value) for name, value in found.features.items()}
        entries.append(Hypothesis(_words(found.said, tokenizer, number), score, features))
    names = dict.fromkeys(name for entry in entries for name in entry.features)
    return NBest.from_hypotheses(entries, vocabulary=vocabulary, feature_names=names, **fields)


def _entries(hypotheses: Any) -> list[Any]:
    """Return the hypotheses of one segment, whatever holds them."""
    for name in _LISTS:
        found = get(hypotheses, name)
        if found is not None:
            return list(found)
    for name in _PARALLEL:
        said = get(hypotheses, name)
        if said is not None:
            scores = get(hypotheses, "scores")
            if scores is None:  # vLLM's beam search: each sequence has its own
                return list(said)
            if len(scores) != len(said):
                raise SpaceError(
                    f"{len(scores)} scores for {len(said)} hypotheses; CTranslate2 gives them "
                    "with return_scores=True"
                )
            numbers = get(hypotheses, "sequences_ids") or said
            pairs = zip(zip(said, numbers, strict=True), scores, strict=True)
            return [_FoundFields(_Both(*both), score) for both, score in pairs]
    found = _recognised(hypotheses)
    if found is not None:
        return found
    single = isinstance(hypotheses, str | Mapping) or not isinstance(hypotheses, Iterable)
    if not single and isinstance(hypotheses, tuple) and hypotheses:
        # one that is not in a list
        single = isinstance(hypotheses[0], str) and not isinstance(hypotheses[-1], str)
    if single:
        raise SpaceError(f"{hypotheses!r:.80} is no list of hypotheses")
    together = list(hypotheses)
    if together and all(map(_is_part, together)):
        return [_of_result(join_parts(together))]
    return together


def _is_part(thing: Any) -> bool:
    """Tell whether something has a text and two times, as whisper's segments have."""
    return get_text(thing) is not None and None not in (get(thing, *BEGINS), get(thing, *ENDS))


def _recognised(thing: Any) -> list[_FoundFields] | None:
    """Return the hypotheses of a text, or of a recogniser's result; None if it is none."""
    if isinstance(thing, str):
        value = _json_object(thing)
        if value is None:
            return [_FoundFields(thing)]
        thing = value
    if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], Generator):
        return [_of_result(join_parts(thing[0]))]  # what faster-whisper's transcribe returns
    results = None if is_list(thing) else read_result(thing)
    return None if results is None else [_of_result(each) for each in results]


def _json_object(text: str) -> dict[str, Any] | None:
    """Return what vosk says of an utterance; None for a plain text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _of_result(found: Result) -> _FoundFields:
    return _FoundFields(found.tokens, found.score)


class _Both(NamedTuple):
    """The same tokens as texts and as numbers."""

    texts: Sequence[str]
    numbers: Sequence[Any]


def _read(each: Any, number: int, tokens: bool) -> _FoundFields:
    """Return what a hypothesis says."""
    if isinstance(each, Hypothesis):
        return _FoundFields(each.tokens, each.score, each.features)
    if isinstance(each, str):
        return _FoundFields(each)
    if isinstance(each, tuple | list) and not hasattr(each, "_fields"):
        found = _read_tuple(each)
    else:
        found = _read_fields(each, tokens)
    if found is None:
        raise SpaceError(
            f"hypothesis {number} is {each!r:.80}, expected a text, (text, score) or an object "
            "with text, words or tokens"
        )
    return found


def _read_tuple(each: Sequence[Any]) -> _FoundFields | None:
    if len(each) == 2 and _is_number(each[1]):
        return _FoundFields(each[0], each[1])
    if len(each) < 2:
        return None
    score = get(each[-1], "score")
    if score is not None:  # ESPnet; without a tokenizer the text is missing
        said = each[0] if each[0] is not None else each[1]
        return _FoundFields(said, score, get(each[-1], "scores") or {})
    if len(each) >= 4 and _is_number(each[-1]) and _is_number(each[-2]):  # pyctcdecode
        return _sum(each[0], each[-2], each[-1])
    return None


def _sum(said: Any, logit: Any, total: Any) -> _FoundFields:
    return _FoundFields(said, total, {"logit": logit, "lm": _number(total) - _number(logit)})


def _read_fields(each: Any, tokens: bool) -> _FoundFields | None:
    said = _read_text(each, tokens)
    if said is None:
        return None
    total, score, logit = (get(each, name) for name in ("lm_score", "score", "logit_score"))
    if total is not None and (logit is not None or score is not None):
        return _sum(said, score if logit is None else logit, total)
    if get(each, "emittingModelScore") is not None:
        parts = {"emission": get(each, "emittingModelScore"), "lm": get(each, "lmScore")}
        return _FoundFields(said, score, parts)
    score = score_of(each) if score is None else score
    if score is None and get(each, "logprobs") is not None:
        return _FoundFields(said, _logprob(get(each, "logprobs")))
    return _FoundFields(said, score)


def _read_text(each: Any, tokens: bool) -> Any:
    for holder in () if tokens else (each, get(each, "message")):
        if (text := get_text(holder)) is not None:
            return text
    if not tokens and is_list(get(each, "words")):
        words = _to_plain(get(each, "words"))
        # flashlight has -1 where no word ends
        return [word for word in words if not isinstance(word, int) or word >= 0]
    for name in _TOKENS:
        if is_list(get(each, name)):
            return _to_plain(get(each, name))
    return None


def _logprob(logprobs: Any) -> float:
    """Return the sum of OpenAI's two layouts: of completions, and of chats."""
    values = get(logprobs, "token_logprobs")
    if values is None:
        values = [get(each, "logprob") for each in get(logprobs, "content") or ()]
    return math.fsum(value for value in values if value is not None)


def _to_plain(tokens: Any) -> list[Any]:
    """Return tensors and arrays as lists."""
    return list(tokens.tolist() if hasattr(tokens, "tolist") else tokens)


def _is_number(value: Any) -> bool:
    if isinstance(value, str | bytes) or value is None:
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _number(value: Any) -> float:
    return float(value) if _is_number(value) else math.nan


def _words(said: Any, tokenizer: Tokenizer, number: int) -> tuple[str, ...]:
    if isinstance(said, str):
        return tuple(split_words(said))
    if isinstance(said, _Both):
        decodes_numbers = tokenizer is not None and hasattr(tokenizer, "decode")
        said = said.numbers if decodes_numbers else said.texts
    tokens = _to_plain(said)
    if tokenizer is not None:
        return tuple(split_words(text_maker(tokenizer)(tokens)))
    if not all(isinstance(token, str) for token in tokens):
        raise OptionError(
            f"hypothesis {number} has numbers of tokens, {tokens!r:.60}: a tokenizer has to say "
            "which words they are"
        )
    return tuple(word for token in tokens for word in split_words(token))


def text_maker(tokenizer: Tokenizer) -> Callable[[list[Any]], str]:
    """Return the function from tokens, or their numbers, to text."""
    if hasattr(tokenizer, "batch_decode"):  # Hugging Face
        return lambda tokens: str(tokenizer.decode(tokens, skip_special_tokens=True))
    if hasattr(tokenizer, "decode"):
        return lambda tokens: str(tokenizer.decode(tokens))
    if hasattr(tokenizer, "get_entry"):  # flashlight's Dictionary
        return lambda tokens: " ".join(map(tokenizer.get_entry, tokens))
    if callable(tokenizer):
        return lambda tokens: str(tokenizer(tokens))
    return lambda tokens: " ".join(str(tokenizer[token]) for token in tokens)
