"""Lattices of CTC and frame-wise models: from a matrix of log-probabilities to tokens or words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lattices.arrays import Array, floats, ints
from lattices.errors import OptionError, SpaceError
from lattices.spaces import Lattice
from lattices.tokens.language_model import (
    LanguageModel,
    Lexicon,
    apply_language_model,
    apply_lexicon,
)
from lattices.vocabulary import Vocabulary

#: a lattice of more arcs than this is no answer to anybody
_MOST_ARCS = 20_000_000


def from_posteriors(
    log_probs: Any,
    tokens: Sequence[str],
    *,
    blank: int | str | None = 0,
    beam: float = 8.0,
    frame_shift: float = 1.0,
    lexicon: Lexicon | None = None,
    language_model: LanguageModel | None = None,
    lm_scale: float = 1.0,
    word_score: float = 0.0,
    vocabulary: Vocabulary | None = None,
    **fields: Any,
) -> Lattice:
    """Return the lattice of all alignments of a CTC model that are within the beam.

    An alignment is one token a frame; its score is the sum of their log-probabilities, and its
    sentence what is left without repetitions and then without blanks. **Within the beam** are all
    alignments that score at most ``beam`` less than the best. As frames are independent, a token of
    a frame is on such an alignment if, and only if, it scores at most ``beam`` less than the best
    token of the frame: those tokens are kept, and nothing is lost that should be there.

    A state is a frame's end and the token there, so that there is one path for every alignment;
    repeated tokens and blanks are epsilon arcs. Runs of frames where one token alone is left
    are one step. ``remove_epsilon(lattice, LOG)`` adds up the alignments of equal sentences
    as far as arcs can. Cost: O(frames x tokens + arcs), where two neighbouring frames with `m` and
    `n` tokens left have `m n` arcs.

    Parameters
    ----------
    log_probs : array or tensor, frames x tokens
        Natural logarithms; ``-inf`` is impossible.
    tokens : sequence of str
        The name of every column; an empty one is silent.
    blank : int, str or None
        The column of the blank, or its name. None for models without: then repetitions alone
        are collapsed.
    beam : float
        See above; ``inf`` keeps all.
    frame_shift : float
        Seconds a frame, for the times of states; without it they are numbers of frames.
    lexicon : mapping or path, optional
        The spellings of words in tokens; then arcs have words. See :func:`apply_lexicon`.
    language_model : path or ArpaModel, optional
        An n-gram model in ARPA's format, of words or, without a lexicon, of tokens. See
        :func:`apply_language_model`: its score becomes the feature ``lm``.
    lm_scale, word_score : float
        The weight of the language model, and what is added for every word.
    vocabulary : Vocabulary, optional
        Grows by the tokens, or by the words.
    **fields
        ``id``, ``source``, ``references`` and ``metadata`` of the lattice.

    Raises
    ------
    OptionError
        If the matrix and the tokens do not fit each other, or there is no such blank.
    SpaceError
        If a frame allows no token, a number is none, or there are too many arcs.

    References
    ----------
    A. Graves et al., Connectionist temporal classification, ICML 2006.

    Examples
    --------
    >>> import numpy as np
    >>> matrix = np.log([[0.1, 0.6, 0.3], [0.8, 0.1, 0.1], [0.2, 0.5, 0.3]])
    >>> lattice = from_posteriors(matrix, ["-", "a", "b"], beam=1.0)
    >>> sorted((path.text, round(float(np.exp(path.score)), 3)) for path in lattice.paths())
    [('a', 0.096), ('a a', 0.24), ('a b', 0.144), ('b', 0.048), ('b a', 0.12), ('b b', 0.072)]
    >>> lattice.times.tolist()
    [0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]
    """
    if hasattr(log_probs, "detach"):
        log_probs = log_probs.detach().cpu().double().numpy()
    matrix = np.asarray(log_probs, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(tokens):
        raise OptionError(
            f"log_probs of shape {matrix.shape}, expected frames x {len(tokens)} tokens"
        )
    if not beam >= 0.0:
        raise OptionError(f"beam={beam!r}, expected a number from 0")
    silent = _blank_column(blank, tokens)
    frame, token, score = _kept(matrix, beam)
    frame, token, score = _runs(frame, token, score)
    words = Vocabulary() if vocabulary is None or lexicon is not None else vocabulary
    labels = np.array([*words.add_all(tokens), 0], np.int32)
    if silent is not None:
        labels[silent] = 0

    # states are the start, which has no token, and every token of every step
    step = np.concatenate(([0], 1 + np.unique(frame, return_inverse=True)[1]))
    token = np.concatenate(([-1], token))
    counts = np.bincount(step)
    before = np.where(step > 0, counts[step - 1], 0)
    if before.sum() > _MOST_ARCS:
        raise SpaceError(
            f"{before.sum():.3g} arcs; a smaller beam than {beam:g} keeps fewer tokens a frame"
        )
    dst = np.repeat(np.arange(len(step)), before)
    first = np.cumsum(counts) - counts
    within = np.arange(len(dst)) - np.repeat(np.cumsum(before) - before, before)
    src = first[step[dst] - 1] + within
    repeated = token[src] == token[dst]
    lattice = Lattice(
        vocabulary=words,
        src=ints(src),
        dst=ints(dst),
        label=ints(np.where(repeated, 0, labels[token[dst]])),
        score=floats(np.concatenate(([0.0], score))[dst]),
        final=floats(np.where(step == step[-1], 0.0, -np.inf)),
        times=floats(np.concatenate(([0.0], (frame + 1.0) * frame_shift))),
        **fields,
    )
    if lexicon is not None:
        lattice = apply_lexicon(lattice, lexicon, vocabulary=vocabulary)
    if language_model is not None or word_score:
        lattice = apply_language_model(
            lattice, language_model, lm_scale=lm_scale, word_score=word_score
        )
    return lattice


def _blank_column(blank: int | str | None, tokens: Sequence[str]) -> int | None:
    if blank is None:
        return None
    if isinstance(blank, str):
        if blank not in tokens:
            raise OptionError(f"blank={blank!r} is none of the tokens")
        return list(tokens).index(blank)
    if not -len(tokens) <= blank < len(tokens):
        raise OptionError(f"blank={blank}, expected the column of one of {len(tokens)} tokens")
    return blank % len(tokens)


def _kept(matrix: Array, beam: float) -> tuple[Array, Array, Array]:
    """Return frame, token and score of what is within the beam, in the order of frames."""
    if np.isnan(matrix).any() or (matrix == np.inf).any():
        raise SpaceError("a log-probability is infinite or not a number")
    best = matrix.max(axis=1, keepdims=True, initial=-np.inf)
    if (best == -np.inf).any():
        raise SpaceError(f"no token is possible in frame {int(np.argmin(best))}")
    frame, token = np.nonzero((matrix >= best - beam) & (matrix > -np.inf))
    return frame, token, matrix[frame, token]


def _runs(frame: Array, token: Array, score: Array) -> tuple[Array, Array, Array]:
    """Return the same, with neighbouring frames of one and the same only token as one step.

    A step has the number of its last frame.
    """
    alone = np.bincount(frame, minlength=1)[frame] == 1
    follows = np.zeros(len(frame), bool)
    follows[1:] = alone[1:] & alone[:-1] & (token[1:] == token[:-1])
    heads = np.flatnonzero(~follows)
    tails = np.append(heads[1:], len(frame)) - 1
    if not len(heads):
        return frame, token, score
    return frame[tails], token[heads], np.add.reduceat(score, heads)
