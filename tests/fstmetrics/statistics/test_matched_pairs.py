"""The matched-pairs test of word errors: by its definition, and by NIST's program."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstmetrics import WER, corpus_stats
from fstmetrics.alignment.metric import Edit
from fstmetrics.alignment.rates import SCLITE
from fstmetrics.statistics import matched_pairs, paired_bootstrap, sum_blocks
from fstmetrics.statistics.matched_pairs import error_segments, prefer_insertions
from lattices.errors import OptionError

#: where Debian has the tools of NIST
TOOLS = Path("/usr/lib/sctk/bin")
#: of a reference of one word: a deletion, a substitution, a match; before and behind insertions
WORDS = st.lists(st.text("ab", min_size=1, max_size=1), max_size=12)


def edits(reference: list[str], words: list[str]) -> tuple[Edit, ...]:
    return prefer_insertions(SCLITE.against([" ".join(reference)]).judge(tuple(words)).edits)


def marks(aligned: tuple[Edit, ...]) -> list[str]:
    """Return what there is at each gap and word of the reference: i for each insertion, x, or -."""
    found = [""]
    for edit in aligned:
        if edit.operation == "insertion":
            found[-1] += "i"
        else:
            found += ["-" if edit.operation == "match" else "x", ""]
    return found


@given(reference=WORDS, one=WORDS, other=WORDS, buffer=st.integers(1, 3))
def test_segments_are_what_good_words_leave(reference, one, other, buffer) -> None:
    """The judge cuts a text of marks by a regular expression."""
    a, b = edits(reference, one), edits(reference, other)
    both = [f"({x},{y})" for x, y in zip(marks(a), marks(b), strict=True)]
    # a stretch of good words, with nothing between them
    good = re.escape("(-,-)")
    stretch = rf"{good}(?:\(,\){good}){{{buffer - 1},}}"
    parts = [(part.count("i") + part.count("x"), part) for part in re.split(stretch, "".join(both))]
    judged = []
    for count, part in parts:
        if count:
            sides = re.findall(r"\(([^,]*),([^)]*)\)", part)
            sums = [sum(len(each[side].replace("-", "")) for each in sides) for side in (0, 1)]
            judged.append(tuple(sums))
    assert [tuple(each) for each in error_segments(a, b, buffer)] == judged


def test_numbers_that_are_sure() -> None:
    reference = ["a", "b", "c", "d", "e", "f"]
    right, wrong = edits(reference, reference), edits(reference, ["a", "x", "c", "d", "e", "f"])
    same = matched_pairs([right, wrong], [right, wrong])
    assert (same.segments, same.z, same.p_value, same.ties) == (1, 0.0, 1.0, 1)
    never = matched_pairs([right], [right])
    assert (never.segments, never.p_value) == (0, 1.0)
    better = [matched_pairs([right, right, wrong, right], [wrong, wrong, right, wrong],
                            alternative=each).p_value
              for each in ("better", "worse", "two-sided")]  # fmt: skip
    assert better[0] < 0.5 < better[1]
    assert better[0] + better[1] == pytest.approx(1.0)
    assert better[2] == pytest.approx(2 * better[0])
    with pytest.raises(OptionError, match="buffer=0"):
        matched_pairs([right], [right], buffer=0)
    with pytest.raises(OptionError, match="different references"):
        error_segments(right, edits(["a"], ["a"]))


@pytest.mark.skipif(not TOOLS.is_dir(), reason="sctk is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_sc_stats_says_the_same(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    words = ["the", "a", "cat", "sat", "on", "mat", "and", "it"]

    def spoil(sentence: list[str]) -> list[str]:
        said = []
        for word in sentence:
            chance = rng.random()
            said += [rng.choice(words)] * (chance < 0.08)
            said += [] if chance > 0.9 else [rng.choice(words) if chance > 0.8 else word]
        return said + [rng.choice(words)] * (rng.random() < 0.1)

    references = [[rng.choice(words) for _ in range(rng.randint(1, 25))] for _ in range(60)]
    systems = [[spoil(each) for each in references] for _ in range(2)]
    outputs = []
    for name, texts in (("ref", references), ("one", systems[0]), ("two", systems[1])):
        lines = [f"{' '.join(text)} (s{n % 7}-u{n})\n" for n, text in enumerate(texts)]
        (tmp_path / f"{name}.trn").write_text("".join(lines))
    for name in ("one", "two"):
        argv = ["-r", "ref.trn", "trn", "-h", f"{name}.trn", "trn", "-i", "spu_id", "-o", "sgml"]
        subprocess.run([TOOLS / "sclite", *argv], cwd=tmp_path, capture_output=True, check=True)
        outputs.append((tmp_path / f"{name}.trn.sgml").read_bytes())
    subprocess.run(
        [shutil.which("sc_stats", path=str(TOOLS)) or "", "-p", "-t", "mapsswe", "-v", "-n", "out"],
        input=b"".join(outputs), cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    told = "".join(path.read_text() for path in tmp_path.glob("out*mapsswe"))
    aligned = [
        [edits(*each) for each in zip(references, system, strict=True)] for system in systems
    ]
    found = matched_pairs(*aligned)
    assert f"(# segs: {found.segments})" in told
    assert f"(mean: {found.mean:5.3f}) (std dev: {found.deviation:5.3f})" in told
    assert f"(Z Stat: {found.z:5.3f})" in told


def test_blocks_are_drawn_whole() -> None:
    references = [["a b c d"], ["a b"], ["c d e"], ["a"], ["b c"], ["d e f g"]]
    base = ["a b c", "a", "c d e", "a", "b", "d e f"]
    system = ["a b c d", "a b", "c d", "a", "b c", "d e f"]
    one, other = (corpus_stats(WER(), each, references) for each in (system, base))
    blocks = ["x", "y", "x", "z", "z", "y"]
    joined = [sum_blocks(each, blocks) for each in (one, other)]
    assert joined[0].tolist() == [(one[0] + one[2]).tolist(), (one[1] + one[5]).tolist(),
                                  (one[3] + one[4]).tolist()]  # fmt: skip
    found = paired_bootstrap(WER(), *joined, samples=500, seed=1)
    assert found.effect == pytest.approx(WER().score(one.sum(0)) - WER().score(other.sum(0)))
    # with every speaker a block of its own nothing changes
    alone = [sum_blocks(each, list(map(str, range(6)))) for each in (one, other)]
    assert paired_bootstrap(WER(), *alone, seed=1) == paired_bootstrap(WER(), one, other, seed=1)
    with pytest.raises(OptionError, match="1 blocks, expected 2"):
        sum_blocks(one, ["x"] * 6)
    with pytest.raises(OptionError, match="blocks of 2 segments"):
        sum_blocks(np.ones((3, 2)), ["x", "y"])
