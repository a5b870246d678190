"""CTC: from a matrix of log-probabilities to a lattice of words, its oracle and its MBR answer.

The matrices are made up: a letter is likely for a few frames where it is spoken, and all others
have noise. A lexicon makes words of letters; a bigram model in ARPA's format, estimated here from
a few sentences, scores them. Needs numpy, and nothing else that fstmetrics does not bring.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

import lattices
from decoding import mbr, oracle
from fstmetrics import WER, corpus_score

TRAINING = """
    the old man walks to the sea every day
    the old woman walks to the town every day
    a boat comes in from the sea
    the man in the boat sees a light
    the woman in the town sees the boat
    every light in the town is on
    the boat is old and the sea is cold
    a cold day comes to the old town
    the man comes in and the woman is on the boat
"""
TEST = """
    the man in the town sees the sea
    the old boat comes to the town
    every day the woman walks in from the cold
    a light is on in the boat
    the sea is cold and the man is old
"""
TOKENS = ["<blank>", *"abcdefghijklmnopqrstuvwxyz"]


def sentences(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def posteriors(words: list[str], noise: float, chance: np.random.Generator) -> np.ndarray:
    """Return frames x tokens: each letter for one to three frames, a blank before each letter."""
    spoken = [TOKENS.index(letter) for letter in "".join(words)]
    frames = []
    for letter in spoken:
        frames += [0, *[letter] * int(chance.integers(1, 4))]
    scores = chance.normal(0.0, noise, (len(frames), len(TOKENS)))
    scores[np.arange(len(frames)), frames] += 5.0
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def write_bigrams(path: Path, corpus: list[list[str]]) -> None:
    """Write a bigram model with interpolated Witten-Bell smoothing, as any toolkit would."""
    padded = [["<s>", *words, "</s>"] for words in corpus]
    unigrams = Counter(word for words in padded for word in words[1:])
    bigrams = Counter(pair for words in padded for pair in pairwise(words))
    followed = Counter(word for words in padded for word in words[:-1])
    types = Counter(first for first, _ in bigrams)
    total = sum(unigrams.values())
    backoff = {word: types[word] / (followed[word] + types[word]) for word in followed}
    lines = [
        "\\data\\",
        f"ngram 1={len(unigrams) + 1}",
        f"ngram 2={len(bigrams)}",
        "",
        "\\1-grams:",
    ]
    for word in ["<s>", *unigrams]:
        score = math.log10(unigrams[word] / total) if word in unigrams else -99.0
        lines.append(f"{score:.6f}\t{word}\t{math.log10(backoff.get(word, 1.0)):.6f}")
    lines += ["", "\\2-grams:"]
    for (first, second), count in bigrams.items():
        seen = count / (followed[first] + types[first])
        score = math.log10(seen + backoff[first] * unigrams[second] / total)
        lines.append(f"{score:.6f}\t{first} {second}")
    path.write_text("\n".join([*lines, "", "\\end\\", ""]))


def main() -> None:
    chance = np.random.default_rng(7)
    references = sentences(TEST)
    matrices = [posteriors(words, noise=2.0, chance=chance) for words in references]
    lexicon = {word: " ".join(word) for words in sentences(TRAINING) for word in words}
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "bigrams.arpa"
        write_bigrams(model, sentences(TRAINING))
        print("model               arcs  1-best     MBR  oracle   (word error rate)")
        for name, options in {
            "letters to words": {},
            "and bigrams": {"language_model": model, "lm_scale": 1.5},
        }.items():
            spaces = [
                lattices.from_posteriors(
                    matrix, TOKENS, beam=5.0, frame_shift=0.02, lexicon=lexicon, **options
                )
                for matrix in matrices
            ]
            found = {
                "1-best": [lattices.best(space).tokens for space in spaces],
                "MBR": [mbr(space, WER()).tokens for space in spaces],
                "oracle": [
                    oracle(space, WER().against([words])).tokens
                    for space, words in zip(spaces, references, strict=True)
                ],
            }
            rates = [
                corpus_score(WER(), each, [[r] for r in references]) for each in found.values()
            ]
            arcs = sum(space.num_arcs for space in spaces)
            print(f"{name:16} {arcs:7,}", *(f"{rate:7.3f}" for rate in rates))
    print("\nwhere the 1-best is wrong:")
    for words, best, answer in zip(references, *map(found.get, ("1-best", "MBR")), strict=True):
        if list(best) != words:
            print(f"  said    {' '.join(words)}")
            print(f"  1-best  {' '.join(best)}")
            print(f"  MBR     {' '.join(answer)}")


if __name__ == "__main__":
    main()
