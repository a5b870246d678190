"""The lattice of a PocketSphinx decoder, scored as the decoder scores it.

The decoder ranks the paths of its lattice (``ps_lattice_bestpath`` in ``src/ps_lattice.c``) by
acoustic scores ``a`` of links, in which the penalties of fillers are, and by a trigram model::

    sum of a + bestpathlw log p(word | two words before) + bestpathlw / lw log wip

with a term of the language model and one of ``wip`` for every word. Its files have neither: what
they have is ``p``, posteriors of the same links under other weights, ``a / ascale`` and a bigram
model of weight 1 (``ps_lattice_posterior``). The best path by ``p`` is therefore often not the
decoder's answer. Where the decoder is at hand, its model is asked for the scores.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from lattices.arrays import Array, floats, ints
from lattices.errors import SpaceError, expecting
from lattices.formats.base import Record
from lattices.formats.htk.slf import FORMAT as SLF
from lattices.formats.htk.slf import dense_rows
from lattices.formats.reading import parse_record
from lattices.interop.speech import write_to_bytes
from lattices.spaces import Lattice
from lattices.vocabulary import Vocabulary

#: no links out of one state have more together, where posteriors were computed at all
_MOST_POSTERIOR = 1.5
#: the tags of files that PocketSphinx writes
_TAGS = frozenset(("!SENT_START", "!SENT_END"))


@expecting("the decoder, or its lattice, is one of pocketsphinx")
def from_pocketsphinx(
    lattice: Any, *, vocabulary: Vocabulary | None = None, id: str = "", **options: Any
) -> Lattice:
    """Return the lattice of a PocketSphinx decoder, after an utterance.

    **Of a decoder**, the score of a path is the one that the decoder ranks it by, divided by
    ``ascale`` (20 by default), as PocketSphinx does for posteriors::

        score = (acoustic + bestpathlw language + bestpathlw / lw log(wip) words) / ascale

    so that ``best(from_pocketsphinx(decoder)).text`` is ``decoder.hyp().hypstr``. ``acoustic``,
    ``language`` and ``words`` are features, ``metadata["weights"]`` has their weights, and
    ``write(path, [lattice])`` keeps all of it in SLF (``acscale``, ``lmscale``, ``wdpenalty``).

    Arcs are expanded by the two words before them, and states from which all goes on alike are one
    again: a constant that remains, such as a weight of back-off, moves to the arcs before. So the
    ``language`` of one arc is mostly that of the next word; along a path they add up. As in the
    decoder, the words before a filler are those of the best path to it. With a grammar in place of
    a language model, ``acoustic`` has everything. Cost: O(pairs of links that meet in a node); the
    19 lattices of the package grew from 21,707 to 50,209 arcs, one of noise from 39,868 to 374,179.

    **Of** ``decoder.get_lattice()`` **alone**, or with ``score=posterior``, scores are the
    logarithms of its posteriors, as in the SLF files that it writes: they know bigrams only, and
    weigh them more, so the best path may differ from the decoder's answer.

    Parameters
    ----------
    lattice
        The decoder, or ``decoder.get_lattice()`` after ``decoder.hyp()``.
    vocabulary : Vocabulary, optional
        Grows by the new words.
    id : str
        Of the segment.
    **options
        Of the format ``htk``; with ``score``, scores are those of the file.

    Raises
    ------
    SpaceError
        If the decoder has no lattice, before the end of an utterance, or the lattice has no
        posteriors.

    Notes
    -----
    The decoder rounds the language score of every word to tenths, which can part paths that score
    the same; and where it does without a best path (``bestpath=no``), its answer is that of an
    earlier pass, with another language weight.
    """
    decoder = None
    if hasattr(lattice, "get_lattice"):
        decoder = lattice if "score" not in options else None
        lattice.hyp()  # which computes the posteriors
        lattice = lattice.get_lattice()
    if lattice is None:
        raise SpaceError("the decoder has no lattice; it has one after the end of an utterance")
    record = Record(write_to_bytes(lattice.write_htk), "pocketsphinx", 1, 0)
    words = Vocabulary() if vocabulary is None else vocabulary
    if decoder is not None:
        return _score(record, decoder, words, options).replaced(id=id)
    found = parse_record(SLF, record, words, **options)
    if not isinstance(found, Lattice):
        raise SpaceError(f"{type(found).__name__}, expected a lattice")
    if "posterior" in found.feature_names and found.features is not None:
        column = found.features[:, [found.feature_names.index("posterior")]].toarray().ravel()
        # they are 1 for every link before they are computed
        if np.bincount(found.src, column).max(initial=0.0) > _MOST_POSTERIOR:
            raise SpaceError(
                "the lattice has no posteriors yet: call decoder.hyp() first, or give the decoder"
            )
    return found.replaced(id=id)


def _score(
    record: Record, decoder: Any, vocabulary: Vocabulary, options: dict[str, Any]
) -> Lattice:
    """Return the lattice of a file with the scores of the decoder that wrote it."""
    keeps_tags = options.get("tags") == "keep"
    options = {**options, "tags": "keep", "score": "header"}
    read = cast(Lattice, parse_record(SLF, record, Vocabulary(), **options))
    # the reader adds a state after a last node with a word; one without is a filler
    ends_in_filler = read.num_states == record.payload.count(b"\nI=")
    config, model = decoder.config, decoder.get_lm(decoder.current_search())
    share = config["bestpathlw"] / config["ascale"]
    weights = {
        "acoustic": 1.0 / config["ascale"],
        "language": share,
        "words": share / config["lw"] * math.log(config["wip"]),
    }
    made = _expand_histories(read, model, weights, math.log(config["logbase"]), ends_in_filler)
    strings = read.vocabulary.strings
    spoken = np.array([bool(word) and word not in _TAGS for word in strings])
    kept = [word if spoken[number] or keeps_tags else "" for number, word in enumerate(strings)]
    label = read.label[made.arc]
    columns = {
        "acoustic": floats(read.score[made.arc]),
        "language": floats(made.language),
        "words": floats(spoken[label]),
    }
    if model is None:
        columns = {"acoustic": columns["acoustic"]}
    score = sum(weights[name] * column for name, column in columns.items())
    return Lattice(
        vocabulary=vocabulary,
        src=ints(made.src),
        dst=ints(made.dst),
        label=ints(ints(vocabulary.add_all(kept))[label]),
        score=floats(score),
        final=floats(read.final[made.state]),
        start=made.start,
        features=dense_rows(columns, len(label)),
        feature_names=tuple(columns),
        times=None if read.times is None else floats(read.times[made.state]),
        metadata={"weights": {name: weights[name] for name in columns}},
    )


class _Expanded(NamedTuple):
    """Columns of arcs, with the arc of the original that each was made of; and of states."""

    src: list[int]
    dst: list[int]
    arc: list[int]
    language: Array
    state: list[int]
    start: int


def _expand_histories(
    read: Lattice, model: Any, weights: Mapping[str, float], unit: float, ends_in_filler: bool
) -> _Expanded:
    """Return the lattice by histories; language scores come in units, and go in logarithms."""
    bounds, heads, scores = (
        part.tolist() for part in (read.out_offset, read.dst, weights["acoustic"] * read.score)
    )
    words = _find_words(read, ends_in_filler)
    weight, penalty = weights["language"] * unit, weights["words"]

    @functools.cache
    def language(word: str, history: tuple[str, ...]) -> int:
        return int(model.prob([word, *history]))

    # the pairs of a state and a history, and how well the best path to each scores
    places: list[dict[tuple[str, ...], int]] = [{} for _ in words]
    places[read.start][(words[read.start],)] = 0
    best = [0.0]
    moves: list[list[tuple[int, int]]] = [[]]
    for state, histories in enumerate(places):
        for arc in range(bounds[state], bounds[state + 1]):
            word, there = words[heads[arc]], places[heads[arc]]
            reached, gains = -math.inf, []
            before: tuple[str, ...] = ()
            for history, place in histories.items():
                gain = language(word, history) if word and model is not None else 0
                gains.append(gain)
                if best[place] + weight * gain > reached:
                    reached, before = best[place] + weight * gain, history
            # as in the decoder, the best path to an arc says which words were before it
            after = (word, *before[:1]) if word and model is not None else before
            target = there.setdefault(after, len(best))
            reached += scores[arc] + (penalty if word else 0.0)
            if target == len(best):
                best.append(reached)
                moves.append([])
            best[target] = max(best[target], reached)
            for place, gain in zip(histories.values(), gains, strict=True):
                moves[place].append((target, gain))
    return _merge(read, places, moves, unit)


def _find_words(read: Lattice, ends_in_filler: bool) -> list[str]:
    """Return the word of each state for the language model, empty for fillers."""
    strings = read.vocabulary.strings
    words = [""] * read.num_states
    for state, label in zip(read.src.tolist(), read.label.tolist(), strict=True):
        words[state] = strings[label]
    [final] = read.finals.tolist()
    last = final if ends_in_filler else int(read.src[read.dst == final][0])
    if words[last] in ("", "!SENT_END"):
        words[last] = "</s>"
    words[read.start] = "<s>"
    return ["" if word in _TAGS else word for word in words]


def _merge(
    read: Lattice,
    places: list[dict[tuple[str, ...], int]],
    moves: list[list[tuple[int, int]]],
    unit: float,
) -> _Expanded:
    """Return the pairs, those as one from which all goes on alike but for a constant.

    The constant, such as a weight of back-off, goes to the arcs before.
    """
    kept: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    number, ahead = [0] * len(moves), [0] * len(moves)
    for state in range(read.num_states - 1, -1, -1):
        for place in places[state].values():
            rows = [(number[target], gain + ahead[target]) for target, gain in moves[place]]
            if rows and state != read.start:
                ahead[place] = max(gain for _, gain in rows)
            ways = tuple([(target, gain - ahead[place]) for target, gain in rows])
            number[place] = kept.setdefault((state, ways), len(kept))
    src, dst, arcs, gains = [], [], [], []
    for source, (state, ways) in enumerate(kept):
        for arc, (target, gain) in enumerate(ways, start=int(read.out_offset[state])):
            src.append(source)
            dst.append(target)
            arcs.append(arc)
            gains.append(gain)
    # to six digits, as the decoder writes acoustic scores
    language = np.round(unit * np.array(gains, np.float64), 6)
    return _Expanded(src, dst, arcs, language, [state for state, _ in kept], number[0])
