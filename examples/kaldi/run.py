"""Kaldi-style decoding: a graph, a lattice decoder, and the oracle of its lattices.

kaldi-decoder (Kaldi's lattice decoder without Kaldi) searches a graph that kaldifst composes of a
CTC topology, a lexicon and a grammar, over posteriors that are made up. Its raw lattices become
ours in memory, with graph and acoustic scores apart: pip install kaldi-decoder kaldifst
"""

from __future__ import annotations

import sys

import numpy as np

import lattices
from decoding import mbr, oracle
from fstmetrics import WER, corpus_score

try:
    import kaldi_decoder
    import kaldifst
except ImportError as problem:
    sys.exit(f"{problem.name} is missing: pip install kaldi-decoder kaldifst")

DIGITS = {
    "zero": "z i r o", "one": "w a n", "two": "t u", "three": "th r i", "four": "f o r",
    "five": "f ai v", "six": "s i k s", "seven": "s e v e n", "eight": "ei t", "nine": "n ai n",
    "oh": "o",
}  # fmt: skip
PHONES = sorted({phone for spelling in DIGITS.values() for phone in spelling.split()})
WORDS = ["<eps>", *DIGITS]
#: column of the posteriors; label 0 is epsilon in every graph, so that labels are columns plus 1
COLUMN = {"<blank>": 0} | {phone: number for number, phone in enumerate(PHONES, start=1)}


def graph(arcs: list[tuple[int, int, int, int, float]], finals: list[int]) -> kaldifst.StdVectorFst:
    """Return an FST of arcs (from, to, input, output, cost)."""
    fst = kaldifst.StdVectorFst()
    for _ in range(1 + max(max(arc[:2]) for arc in arcs)):
        fst.add_state()
    fst.start = 0
    for source, target, reads, writes, cost in arcs:
        fst.add_arc(source, kaldifst.StdArc(reads, writes, cost, target))
    for state in finals:
        fst.set_final(state, 0.0)
    return fst


def topology() -> kaldifst.StdVectorFst:
    """Return the CTC topology: columns to phones, without repetitions and blanks.

    State 0 has just read a blank, and state p the column of phone p.
    """
    blank = COLUMN["<blank>"] + 1
    arcs = [(0, 0, blank, 0, 0.0)]
    for phone in PHONES:
        p = COLUMN[phone]
        arcs += [(0, p, p + 1, p, 0.0), (p, p, p + 1, 0, 0.0), (p, 0, blank, 0, 0.0)]
        arcs += [(p, COLUMN[q], COLUMN[q] + 1, COLUMN[q], 0.0) for q in PHONES if q != phone]
    return graph(arcs, [0, *(COLUMN[phone] for phone in PHONES)])


def lexicon() -> kaldifst.StdVectorFst:
    """Return the lexicon: phones to words, all equally likely."""
    arcs, states = [], 1
    for word, spelling in DIGITS.items():
        phones = spelling.split()
        path = [0, *range(states, states + len(phones) - 1), 0]
        states += len(phones) - 1
        for place, phone in enumerate(phones):
            first = place == 0
            arcs.append((path[place], path[place + 1], COLUMN[phone],
                         WORDS.index(word) if first else 0,
                         float(np.log(len(DIGITS))) if first else 0.0))  # fmt: skip
    return graph(arcs, [0])


def posteriors(words: list[str], chance: np.random.Generator) -> np.ndarray:
    """Return frames x columns, natural logarithms: what was said, and noise."""
    frames = []
    for word in words:
        for phone in DIGITS[word].split():
            frames += [0, *[COLUMN[phone]] * int(chance.integers(2, 5))]
    scores = chance.normal(0.0, 1.7, (len(frames), len(COLUMN)))
    scores[np.arange(len(frames)), frames] += 3.0
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def main() -> None:
    chance = np.random.default_rng(3)
    said = [chance.choice(list(DIGITS), size=7).tolist() for _ in range(8)]
    left, right = topology(), lexicon()
    kaldifst.arcsort(left, sort_type="olabel")
    kaldifst.arcsort(right, sort_type="ilabel")
    search = kaldifst.compose(left, right)
    config = kaldi_decoder.LatticeSimpleDecoderConfig(beam=16.0, lattice_beam=8.0)
    spaces, own = [], []
    for number, words in enumerate(said):
        matrix = posteriors(words, chance).astype(np.float32)
        decoder = kaldi_decoder.LatticeSimpleDecoder(search, config)
        decoder.decode(kaldi_decoder.DecodableCtc(matrix))
        _, raw = decoder.get_raw_lattice()
        spaces.append(lattices.from_kaldi(raw, WORDS, id=f"digits-{number}"))
        _, path = decoder.get_best_path()
        _, _, labels, _ = kaldifst.get_linear_symbol_sequence(path)
        own.append([WORDS[label] for label in labels])
    best = [lattices.best(space) for space in spaces]
    # the same search space: the lattice's best path is the decoder's
    assert [list(each.tokens) for each in best] == own
    found = {
        "1-best": [each.tokens for each in best],
        "MBR": [mbr(space, WER()).tokens for space in spaces],
        "oracle": [
            oracle(space, WER().against([words])).tokens
            for space, words in zip(spaces, said, strict=True)
        ],
    }
    print(f"{len(spaces)} lattices, {sum(space.num_arcs for space in spaces):,} arcs,",
          "features", *spaces[0].feature_names)  # fmt: skip
    for name, sentences in found.items():
        print(f"{name:7} {corpus_score(WER(), sentences, [[words] for words in said]):.3f} WER")


if __name__ == "__main__":
    main()
