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
vLLM ``CompletionOutput``               ``cumulative_logprob``, or the sum
                                        of ``logprobs``, or none
OpenAI choices, llama.cpp's             the sum of ``logprobs``, or none
======================================  ==================================  =====================

The servers of vLLM, llama.cpp, Ollama and others answer as OpenAI's does. llama.cpp's own
``/completion`` is one hypothesis.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from lattices.errors import OptionError, SpaceError, expecting
from lattices.formats.base import split_words
from lattices.formats.lists.recognisers import (
    ALTERNATIVES,
    BEGINS,
    ENDS,
    PARTS,
    Result,
    Word,
    get,
    get_text,
    is_list,
    join_parts,
    read_result,
    score_of,
    timed_words,
)
from lattices.spaces import Hypothesis, Lattice, NBest
from lattices.spaces.merging import merge_entries
from lattices.tokens.words import to_words
from lattices.vocabulary import Vocabulary

#: from the tokens or token numbers of a hypothesis to its text: a function, an object with
#: ``decode``, or a table of the word of every number
Tokenizer: TypeAlias = Any

#: before tokens that begin a word
_MARK = "▁"
#: fields of what one segment has, and of what its hypotheses are
_LISTS = ("n_best_hypotheses", "outputs", "choices")
_PARALLEL = ("hypotheses", "sequences")
_TOKENS = ("tokens", "y_sequence", "yseq", "token_ids")


class _Token(NamedTuple):
    """A token that was chosen, and the log-probabilities of others."""

    text: str
    logprob: float
    others: Mapping[str, float]


class _FoundFields(NamedTuple):
    """What a hypothesis says: text, or words, or numbers of tokens."""

    said: Any
    score: Any = None
    features: Mapping[str, Any] = {}
    #: words with their times
    words: Sequence[Word] = ()
    tokens: Sequence[_Token] = ()


@overload
def from_hypotheses(
    hypotheses: Any,
    tokenizer: Tokenizer = None,
    *,
    tokens: bool = False,
    as_lattice: Literal[False] = False,
    vocabulary: Vocabulary | None = None,
    **fields: Any,
) -> NBest: ...
@overload
def from_hypotheses(
    hypotheses: Any,
    tokenizer: Tokenizer = None,
    *,
    tokens: bool = False,
    as_lattice: Literal[True],
    vocabulary: Vocabulary | None = None,
    **fields: Any,
) -> Lattice: ...
@expecting("hypotheses are a list of texts, of (text, score) or of a decoder's objects")
def from_hypotheses(
    hypotheses: Any,
    tokenizer: Tokenizer = None,
    *,
    tokens: bool = False,
    as_lattice: bool = False,
    vocabulary: Vocabulary | None = None,
    **fields: Any,
) -> NBest | Lattice:
    """Return the n-best list of one segment, of whatever objects its decoder has returned.

    Hypotheses that all have no score, such as samples of a language model, have equal ones. Texts
    with line breaks, tabs or several blanks are kept beside their words: :meth:`NBest.original`. A
    batch is ``[from_hypotheses(each) for each in batch]``.

    As a lattice, hypotheses share what they begin and end with (:func:`lattices.merge`). States
    have times where all words have them (whisper's with ``word_timestamps``, vosk's with
    ``SetWords``). Alternatives of tokens (``top_logprobs`` of OpenAI-like servers, vLLM's
    ``logprobs=k``) are paths, too, on which one token is another and what follows stays: the model
    has no score of such a sentence. Each of these tokens counts 1 in the feature ``recombined``,
    and its log-probability takes the place of the other's.

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
    as_lattice : bool
        Whether to return a lattice instead of a list.
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
    >>> from_hypotheses(["a cat sat", "the cat sat", "a cat sat"], as_lattice=True)
    <Lattice '' of 4 states, 4 arcs>
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
    texts = _original_texts(entries, read)
    if texts:
        fields["metadata"] = {"texts": texts, **fields.get("metadata", {})}
    about = {"feature_names": names, **fields}
    if as_lattice and any(found.tokens for found in read):
        return _with_other_tokens(entries, read, vocabulary, about)
    nbest = NBest.from_hypotheses(entries, vocabulary=vocabulary, **about)
    if not as_lattice:
        return nbest
    known = all(
        found.words and len(found.words) == len(entry.tokens)
        for found, entry in zip(read, entries, strict=True)
    )
    times = [[found.words[0].begin, *(word.end for word in found.words)] for found in read if known]
    return merge_entries(nbest, times=times or None)


def _original_texts(entries: Sequence[Hypothesis], read: Sequence[_FoundFields]) -> list[str]:
    """Return the texts if one of them is more than words with blanks between them."""
    texts = [
        found.said if isinstance(found.said, str) else entry.text
        for entry, found in zip(entries, read, strict=True)
    ]
    same = all(text.strip() == entry.text for entry, text in zip(entries, texts, strict=True))
    return [] if same else texts


def _with_other_tokens(
    entries: Sequence[Hypothesis],
    read: Sequence[_FoundFields],
    vocabulary: Vocabulary | None,
    about: Mapping[str, Any],
) -> Lattice:
    """Return the lattice of words of tokens, and of others in their places."""
    pieces, others = [], {}
    for number, (entry, found) in enumerate(zip(entries, read, strict=True)):
        said = [token.text for token in found.tokens]
        if said:
            others[number] = [
                {text: each - token.logprob for text, each in token.others.items()}
                for token in found.tokens
            ]
        tokens = tuple(said or (f"{_MARK}{word}" for word in entry.tokens))
        pieces.append(Hypothesis(tokens, entry.score, entry.features))
    lattice = merge_entries(NBest.from_hypotheses(pieces, **about), others=others)
    return to_words(lattice, _MARK, vocabulary=vocabulary)


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
    if is_list(thing):
        return None
    if any(is_list(get(thing, name)) for name in (*ALTERNATIVES, *PARTS)):
        return [_of_result(each) for each in read_result(thing) or []]
    return None if get_text(thing) is None else [_read(thing, 0, False)]


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
    return _FoundFields(found.tokens, found.score, words=found.words)


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
    words = [] if tokens else list(timed_words(each))
    chosen = _chosen_tokens(each)
    if chosen and score is None:
        score = math.fsum(token.logprob for token in chosen)
    spelt = _spell(said, chosen) if isinstance(said, str) else []
    return _FoundFields(said, score, words=words, tokens=spelt)


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


def _chosen_tokens(each: Any) -> list[_Token]:
    """Return the tokens whose log-probabilities are known, with the likeliest others, if any.

    OpenAI has two layouts, of completions and of chats; llama.cpp one of its own, vLLM mappings.
    """
    known = get(each, "logprobs", "completion_probabilities")
    values = get(known, "token_logprobs")
    if values is not None:
        texts = get(known, "tokens") or [""] * len(values)
        others = get(known, "top_logprobs") or [None] * len(values)
        rows = zip(texts, values, others, strict=True)
        return [_Token(text, value, top or {}) for text, value, top in rows if value is not None]
    items = get(known, "content")
    items = known if items is None else items
    if not is_list(items):
        return []
    numbers = get(each, "token_ids")
    return [
        _of_numbers(item, numbers[place])
        if numbers is not None
        else _Token(
            get(item, "token") or "",
            get(item, "logprob"),
            {get(one, "token"): get(one, "logprob") for one in get(item, "top_logprobs") or ()},
        )
        for place, item in enumerate(items)
    ]


def _of_numbers(position: Mapping[int, Any], chosen: int) -> _Token:
    """Return what vLLM says of a position: log-probabilities and texts of numbers of tokens."""
    texts = {get(one, "decoded_token") or "": get(one, "logprob") for one in position.values()}
    said = position[chosen]
    return _Token(get(said, "decoded_token") or "", get(said, "logprob"), texts)


def _spell(text: str, tokens: Sequence[_Token]) -> list[_Token]:
    """Return tokens that spell a text, marked where words begin; none if they do not.

    What ends the text may be behind them, and has no place in it.
    """
    said: list[_Token] = []
    spelt = ""
    for token in tokens:
        if spelt == text:
            break
        spelt += token.text
        others = {
            _piece(other): logprob
            for other, logprob in token.others.items()
            if other != token.text and _is_piece(other)
        }
        said.append(_Token(_piece(token.text), token.logprob, others))
    fits = spelt == text and all(_is_piece(token.text) for token in tokens[: len(said)])
    return said if fits and any(token.others for token in said) else []


def _is_piece(token: str) -> bool:
    """Tell whether a token is one word at most, and blanks only before it."""
    bare = token.lstrip()
    return len(split_words(bare)) < 2 and bare == bare.rstrip() and token != ""


def _piece(token: str) -> str:
    """Return a token with a mark instead of the blanks before it."""
    bare = token.lstrip()
    return bare if bare == token else _MARK + bare


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
