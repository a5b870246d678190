"""Real decoders' objects: the oracle is the same as through files that say the same."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import lattices
from decoding import oracle
from fstmetrics import CER, WER
from lattices import Lattice, NBest
from tests.lattices.interop import doors

pytestmark = pytest.mark.door

TEXTS = [(("a", "cat"), -0.5), (("the", "hat"), -1.25), (("the", "cat", "sat"), -3.0)]
WORDS = ["<s>", "</s>", "<pad>", "a", "the", "cat", "hat"]

#: the text and the score of each hypothesis, as the package itself has them; and our list
Said = tuple[Iterable[tuple[str, float]], NBest]


def of_pyctcdecode(_: Path) -> Said:
    beams = doors.pyctcdecode_beams()
    return [(beam[0], beam[-1]) for beam in beams], lattices.from_hypotheses(beams)


def of_flashlight(_: Path) -> Said:
    results, words = doors.flashlight_results()
    rows = [
        (" ".join(words.get_entry(number) for number in each.words if number >= 0), each.score)
        for each in results
    ]
    return rows, lattices.from_hypotheses(results, words)


def of_ctranslate2(folder: Path) -> Said:
    translator, source = doors.ctranslate2_translator(folder)
    [result] = translator.translate_batch(
        [source], return_scores=True, beam_size=4, num_hypotheses=4, max_decoding_length=5
    )
    rows = [(" ".join(w), s) for w, s in zip(result.hypotheses, result.scores, strict=True)]
    return rows, lattices.from_hypotheses(result)


def of_transformers(_: Path) -> Said:
    table = dict(enumerate(["", "", "", *WORDS[3:]]))
    _, output = doors.transformers_output("t5", len(WORDS), num_beams=4, num_return_sequences=4)
    rows = [
        (" ".join(filter(None, (table[token] for token in row.tolist()))), score.item())
        for row, score in zip(output.sequences[:4], output.sequences_scores, strict=False)
    ]
    return rows, lattices.from_generate(output, table, 4)[0]


def of_openai(_: Path) -> Said:
    rows = [(" ".join(words), score) for words, score in TEXTS]
    return rows, lattices.from_hypotheses(doors.openai_chat(TEXTS))


LISTS: dict[str, Callable[[Path], Said]] = {
    "pyctcdecode": of_pyctcdecode,
    "flashlight": of_flashlight,
    "ctranslate2": of_ctranslate2,
    "transformers": of_transformers,
    "openai": of_openai,
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str, tmp_path: Path) -> None:
    rows, nbest = LISTS[name](tmp_path)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("id", "text", "score"), *(("u1", text, repr(s)) for text, s in rows)])
    [read] = lattices.read(path)
    assert len(nbest) == len(read) > 1
    _check(nbest, read, [nbest[len(nbest) - 1].text, "the cat"])


# in a process of its own: speechbrain leaves modules behind that cannot be looked at without k2
SPEECHBRAIN = """
import csv, sys
import numpy as np, torch
from speechbrain.decoders.ctc import CTCBeamSearcher
import lattices
from decoding import oracle
from fstmetrics import WER

searcher = CTCBeamSearcher(
    blank_index=0, vocab_list=["<blank>", "a", "b", " "], space_token=" ", beam_size=10, topk=5
)
logits = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 12))
[found] = searcher(torch.tensor(logits[None], dtype=torch.float32), torch.ones(1))
with open(sys.argv[1], "w") as file:
    rows = [("u1", each.text, repr(float(each.lm_score))) for each in found]
    csv.writer(file).writerows([("id", "text", "score"), *rows])
nbest = lattices.from_hypotheses(found, id="u1")
[read] = lattices.read(sys.argv[1])
assert len(nbest) == len(read) > 1
for text in (read[len(read) - 1].text, "a b"):
    one, other = (oracle(each, WER().against([text])) for each in (nbest, read))
    assert (one.text, one.score) == (other.text, other.score)
    assert one.hypothesis.score == other.hypothesis.score
print("the same")
"""


def test_speechbrain(tmp_path: Path) -> None:
    if find_spec("speechbrain") is None:
        pytest.skip("speechbrain is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SPEECHBRAIN, str(tmp_path / "rows.csv")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["the same"], done.stderr


def of_kaldi_decoder(folder: Path) -> tuple[Lattice, Lattice]:
    fst, words = doors.kaldi_decoder_lattice(), ["<eps>", "ab", "ba", "a"]
    fst.write(str(folder / "one.fst"))
    (folder / "one.ark").write_bytes(b"u1 " + (folder / "one.fst").read_bytes())
    table = folder / "words.txt"
    table.write_text("".join(f"{word} {number}\n" for number, word in enumerate(words)))
    return lattices.from_kaldi(fst, words), _only(folder / "one.ark", symbols=str(table))


def of_rustfst(folder: Path) -> tuple[Lattice, Lattice]:
    fst = doors.rustfst_fst()
    fst.write(str(folder / "one.fst"))
    table = folder / "words.txt"
    table.write_text("<eps> 0\na 1\nb 2\n")
    return lattices.from_fst(fst), _only(folder / "one.fst", symbols=str(table))


def _only(path: Path, **options: Any) -> Lattice:
    [found] = lattices.read(path, **options)
    assert isinstance(found, Lattice)
    return found


@pytest.mark.parametrize("of_package", [of_kaldi_decoder, of_rustfst])
def test_lattices(of_package: Callable[[Path], tuple[Lattice, Lattice]], tmp_path: Path) -> None:
    ours, read = of_package(tmp_path)
    _check(ours, read, ["ab a ba", "b", ""])


def _check(ours: Any, read: Any, references: list[str]) -> None:
    """Compare the best sentences, and what model and metric say of them."""
    for text in references:
        for metric in (WER(), CER()):
            evaluator = metric.against([text])
            one, other = oracle(ours, evaluator), oracle(read, evaluator)
            assert (one.text, one.score) == (other.text, other.score)
            assert one.hypothesis.score == pytest.approx(other.hypothesis.score)
