"""Lattices of CTC and frame-wise models: from a matrix of log-probabilities to tokens or words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lattices.arrays import Array, floats, ints
from lattices.errors import OptionError, SpaceError, expecting
from lattices.spaces import Lattice
from lattices.tokens.arpa import (
    LanguageModel,
    Lexicon,
    apply_language_model,
    apply_lexicon,
)
from lattices.vocabulary import Vocabulary

#: two steps have an arc for each pair of tokens if these are no more than so many times the tokens
_PAIRS = 16


@expecting("posteriors are a matrix of numbers, tokens a table of their names")
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
    as far as arcs can. Cost: O(frames x tokens), and as many arcs as tokens are left, some times.

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
        If a frame allows no token, or a number is none.

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
    frame, token, score = _prune_frames(matrix, beam)
    frame, token, score = _runs(frame, token, score)
    words = Vocabulary() if vocabulary is None or lexicon is not None else vocabulary
    labels = np.array([*words.add_all(tokens), 0], np.int32)
    if silent is not None:
        labels[silent] = 0

    # states are the start, which has no token, every token of every step, and hubs between them
    step = np.concatenate(([0], 1 + np.unique(frame, return_inverse=True)[1]))
    token = np.concatenate(([-1], token))
    time = np.concatenate(([0.0], (frame + 1.0) * frame_shift))
    arcs = _arcs(step, token, np.concatenate(([0.0], score)), silent)
    under = np.concatenate((np.arange(len(step)), arcs.under))
    final = np.full(len(under), -np.inf)
    final[: len(step)][step == step[-1]] = 0.0
    lattice = Lattice(
        vocabulary=words,
        src=ints(arcs.src),
        dst=ints(arcs.dst),
        label=ints(labels[arcs.token]),
        score=floats(arcs.score),
        final=floats(final),
        times=floats(time[under]),
        **fields,
    )
    if lexicon is not None:
        lattice = apply_lexicon(lattice, lexicon, vocabulary=vocabulary)
    if language_model is not None or word_score:
        lattice = apply_language_model(
            lattice, language_model, lm_scale=lm_scale, word_score=word_score
        )
    return lattice


class _FrameArcs(NamedTuple):
    """Arcs between states, the column of what they say (-1 for nothing), and what hubs are under.

    A hub is numbered behind all other states, and has the time of one of those it comes from.
    """

    src: Array
    dst: Array
    token: Array
    score: Array
    under: Array


def _arcs(step: Array, token: Array, score: Array, silent: int | None) -> _FrameArcs:
    """Return the arcs of all alignments, each of which is one path.

    Between many tokens chains of hubs save arcs: `m` and `n` tokens have O(m + n).
    """
    counts = np.bincount(step)
    first = np.cumsum(counts) - counts
    product = counts[:-1] * counts[1:]
    wide = np.concatenate(([False], product > _PAIRS * (counts[:-1] + counts[1:])))
    before = np.where((step > 0) & ~wide[step], counts[step - 1], 0)
    dst = np.repeat(np.arange(len(step)), before)
    within = np.arange(len(dst)) - np.repeat(np.cumsum(before) - before, before)
    src = first[step[dst] - 1] + within
    said = np.where((token[src] == token[dst]) | (token[dst] == silent), -1, token[dst])
    parts = [(src, dst, said, score[dst])]
    under: list[Array] = []
    states = len(step)
    for place in np.flatnonzero(wide).tolist():
        old = np.arange(first[place - 1], first[place])
        new = np.arange(first[place], first[place] + counts[place])
        size = len(old)
        # the chains: hub i of the first has come from the states up to i, of the second from i on
        up, down = states + np.arange(size), states + size + np.arange(size)
        states += 2 * size
        under += [old, old]
        silence = [
            (old, up), (up[:-1], up[1:]), (old, down), (down[1:], down[:-1]),
        ]  # fmt: skip
        parts += [(a, b, np.full(len(a), -1), np.zeros(len(a))) for a, b in silence]
        order = np.argsort(token[old])
        near = np.minimum(np.searchsorted(token[old], token[new], sorter=order), size - 1)
        same = order[near]  # where the token stood before, if it did
        known = token[old[same]] == token[new]
        quiet = token[new] == silent
        anywhere = new[quiet | ~known]
        again, where = new[known & ~quiet], same[known & ~quiet]
        below, above = where > 0, where < size - 1
        spoken = np.where(token[anywhere] == silent, -1, token[anywhere])
        parts += [
            (np.full(len(anywhere), up[-1]), anywhere, spoken, score[anywhere]),
            (old[where], again, np.full(len(again), -1), score[again]),
            (up[where[below] - 1], again[below], token[again[below]], score[again[below]]),
            (down[where[above] + 1], again[above], token[again[above]], score[again[above]]),
        ]
    sources, targets, spoken, scores = map(np.concatenate, zip(*parts, strict=True))
    hubs = np.concatenate(under) if under else np.empty(0, np.int64)
    return _FrameArcs(sources, targets, spoken, scores, hubs)


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


def _prune_frames(matrix: Array, beam: float) -> tuple[Array, Array, Array]:
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
