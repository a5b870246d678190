"""N-best lists of what ``generate`` of Hugging Face's transformers returns."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from lattices.arrays import Array
from lattices.errors import OptionError, SpaceError, expecting
from lattices.formats.base import split_words
from lattices.interop.hypotheses import Tokenizer, text_maker
from lattices.spaces import Hypothesis, Lattice, NBest
from lattices.spaces.arguments import WHOLE
from lattices.spaces.merging import merge_entries
from lattices.vocabulary import Vocabulary


@overload
def from_generate(
    output: Any,
    tokenizer: Tokenizer,
    num_return_sequences: int = 1,
    *,
    prompt_length: int | None = None,
    eos_token_id: int | None = None,
    as_lattice: Literal[False] = False,
    vocabulary: Vocabulary | None = None,
) -> list[NBest]: ...
@overload
def from_generate(
    output: Any,
    tokenizer: Tokenizer,
    num_return_sequences: int = 1,
    *,
    prompt_length: int | None = None,
    eos_token_id: int | None = None,
    as_lattice: Literal[True],
    vocabulary: Vocabulary | None = None,
) -> list[Lattice]: ...
@expecting("the output is what generate(..., return_dict_in_generate=True) returns")
def from_generate(
    output: Any,
    tokenizer: Tokenizer,
    num_return_sequences: int = 1,
    *,
    prompt_length: int | None = None,
    eos_token_id: int | None = None,
    as_lattice: bool = False,
    vocabulary: Vocabulary | None = None,
) -> list[NBest] | list[Lattice]:
    """Return one n-best list, or lattice, for each input of ``model.generate(...)``.

    Call it with ``return_dict_in_generate=True, output_scores=True`` (or ``output_logits``).

    The score is ``sequences_scores`` where there are beams: the log-probability of the tokens
    over ``length ** length_penalty``. The log-probability itself is the feature ``logprob``. For
    samples, which have no ``sequences_scores``, it is the score: under the model where there are
    ``logits``, else under the distribution that was sampled from (``scores``, which temperature
    and top-k have changed). The number of new tokens, the end of the sentence included, is the
    feature ``length``.

    Parameters
    ----------
    output
        With ``sequences``, and ``sequences_scores``, ``scores`` or ``logits``.
    tokenizer
        Anything with ``decode``, such as the model's tokenizer or processor.
    num_return_sequences : int
        As given to ``generate``: so many rows of ``sequences`` are one list.
    prompt_length : int, optional
        How many tokens of each row are no output; by default all before the first score.
    eos_token_id : int, optional
        What ends a sentence; ``tokenizer.eos_token_id`` by default. It is needed for samples,
        whose padding has scores, too; -1 if there is none.
    as_lattice : bool
        Whether to return lattices, in which hypotheses share what they begin and end with: see
        :func:`lattices.merge`, which also recombines those of a list.
    vocabulary : Vocabulary, optional
        Grows by the new words; the lists share it.

    Raises
    ------
    OptionError
        If ``num_return_sequences`` does not divide the number of rows, or nothing says what ends a
        sentence.
    SpaceError
        If there is nothing to tell the score from.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> output = SimpleNamespace(sequences=[[0, 1, 3], [0, 2, 3]], sequences_scores=[-0.1, -0.2])
    >>> words = {0: "", 1: "cat", 2: "hat", 3: ""}
    >>> [nbest] = from_generate(output, words, num_return_sequences=2)
    >>> [(each.text, each.score) for each in nbest]
    [('cat', -0.1), ('hat', -0.2)]
    """
    if _field(output, "sequences") is None:
        raise SpaceError(
            f"{type(output).__name__} has no sequences; generate(..., "
            "return_dict_in_generate=True, output_scores=True) returns an object that has"
        )
    sequences = _array(output.sequences)
    WHOLE.check("from_generate", "num_return_sequences", num_return_sequences)
    if num_return_sequences < 1 or len(sequences) % num_return_sequences:
        raise OptionError(
            f"num_return_sequences={num_return_sequences} does not divide {len(sequences)} rows"
        )
    beams = _field(output, "sequences_scores")
    steps = _field(output, "logits") if beams is None else None
    steps = _field(output, "scores") if steps is None else steps
    if beams is None and steps is None:
        raise SpaceError(
            "neither sequences_scores, scores nor logits; generate(..., "
            "return_dict_in_generate=True, output_scores=True) gives them"
        )
    where = _field(output, "beam_indices")
    where = None if where is None else _array(where)
    count = 0 if steps is None else len(steps)
    if where is not None and steps is not None:
        count = int((where >= 0).sum(axis=1).max())
    first = sequences.shape[1] - count if steps is not None else 0
    new = sequences[:, first if prompt_length is None else prompt_length :]
    end = eos_token_id if eos_token_id is not None else getattr(tokenizer, "eos_token_id", None)
    features: list[dict[str, float]] = [{} for _ in sequences]
    if steps is not None and where is None and end is None:
        raise OptionError(
            "what ends a sentence is not known: give eos_token_id, or -1 where nothing does"
        )
    if steps is not None:
        chosen, spoken = _token_scores(sequences[:, first:], steps, where, end)
        for row, (scores, said) in enumerate(zip(chosen, spoken, strict=True)):
            features[row] = {"logprob": float(scores[said].sum()), "length": float(said.sum())}
    total = [each["logprob"] for each in features] if beams is None else _array(beams).tolist()
    if beams is None:
        features = [{"length": each["length"]} for each in features]
    text = text_maker(tokenizer)
    words = Vocabulary() if vocabulary is None else vocabulary
    rows = new.tolist()
    if steps is not None and end is not None:
        # a model may begin, too, with what ends: only where new tokens are known is it the end
        rows = [row[: row.index(end)] if end in row else row for row in rows]
    hypotheses = [
        Hypothesis(tuple(split_words(text(row))), score, about)
        for row, score, about in zip(rows, total, features, strict=True)
    ]
    lists = [
        NBest.from_hypotheses(hypotheses[begin : begin + num_return_sequences], vocabulary=words)
        for begin in range(0, len(hypotheses), num_return_sequences)
    ]
    return [merge_entries(nbest) for nbest in lists] if as_lattice else lists


def _field(output: Any, name: str) -> Any:
    return getattr(output, name, None)


def _array(tensor: Any) -> Array:
    """Return a tensor, on whatever device, of whatever precision, as an array."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
        if tensor.is_floating_point():
            tensor = tensor.double()
        tensor = tensor.numpy()
    return np.asarray(tensor)


def _token_scores(
    tokens: Array, steps: Any, where: Array | None, end: int | None
) -> tuple[Array, Array]:
    """Return the log-probability of every new token, and which of them are no padding.

    Beam search has log-probabilities in the rows ``where[:, t]``; samples have logits.
    """
    rows = np.arange(len(tokens))
    chosen = np.zeros(tokens.shape)
    for place in range(tokens.shape[1]):
        scores = _array(steps[place])
        if where is None:
            highest = scores.max(axis=1, keepdims=True)
            scores = scores - highest
            scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        beam = rows if where is None else where[:, place]
        chosen[:, place] = scores[np.maximum(beam, 0), tokens[:, place]]
    if where is not None:
        return chosen, where[:, : tokens.shape[1]] >= 0
    ended = np.cumsum(tokens == end, axis=1) - (tokens == end)
    return chosen, ended == 0
