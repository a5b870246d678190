"""Scores by groups of segments, and frequent errors."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fstmetrics import WER
from fstmetrics.statistics.breakdown import (
    OTHERS,
    frequent_errors,
    grouping,
    length_group,
    scores_by_group,
)
from fstmetrics.statistics.systems import System
from lattices import FormatError, OptionError


def test_groups_of_ids(tmp_path: Path) -> None:
    file = tmp_path / "utt2spk"
    file.write_text("u1 ann\nu2 bob\n")
    assert [grouping(str(file))(id) for id in ("u1", "u2")] == ["ann", "bob"]
    with pytest.raises(OptionError, match="utt2spk has no group for segment 'u3'"):
        grouping(str(file))("u3")
    file.write_text("ann\nbob\n")
    assert grouping(str(file))("2") == "bob"
    file.write_text("u1 ann\nu1 bob\n")
    with pytest.raises(FormatError, match="utt2spk:2: a second group of 'u1'"):
        grouping(str(file))
    file.write_text("u1 ann\nu2 bob carl\n")
    with pytest.raises(FormatError, match="utt2spk:2: 3 words, expected 'id group'"):
        grouping(str(file))
    assert grouping("speaker")("sw02_A_001") == "sw02"
    with pytest.raises(OptionError, match="segment 'u1' has no speaker before a - or _"):
        grouping("speaker")("u1")
    assert [grouping("dev|test(er)?")(id) for id in ("tester1", "dev", "x")] == [
        "er",
        OTHERS,
        OTHERS,
    ]
    with pytest.raises(OptionError, match=r"groups by '\(', expected speaker, length, a file"):
        grouping("(")


def test_scores_of_groups_are_of_their_segments_alone() -> None:
    rng = random.Random(3)
    system = System("a", (WER(),))
    errors: dict[str, list[int]] = {}
    for place in range(60):
        group, words, wrong = f"g{rng.randrange(12)}", rng.randrange(1, 9), rng.randrange(5)
        system.stats[f"{group}-{place}"] = [np.array([words - wrong, wrong, 0, 0, words])]
        errors.setdefault(group, []).append((wrong, words))
    found = scores_by_group(system, grouping("speaker"))
    assert [each.group for each in found] == sorted(errors, key=lambda name: int(name[1:]))
    for each in found:
        pairs = errors[each.group]
        assert each.segments == len(pairs)
        assert each.scores[0] == pytest.approx(sum(w for w, _ in pairs) / sum(n for _, n in pairs))


def test_others_and_lengths() -> None:
    system = System("a", (WER(),))
    for id in ("zz", "dev1", "10", "9"):
        system.stats[id] = [np.array([1.0, 0, 0, 0, 1])]
    names = [each.group for each in scores_by_group(system, grouping(r"\d+"))]
    assert names == ["1", "9", "10", OTHERS]
    for words in range(200):
        low, _, high = length_group(words).partition("-")
        assert int(low) <= words <= int(high or low)


def test_errors_are_counted() -> None:
    rng = random.Random(5)
    references = [[rng.choice("abc") for _ in range(4)] for _ in range(40)]
    said = [[rng.choice("abc") if rng.random() < 0.4 else word for word in r] for r in references]
    alignments = [
        (str(place), WER().against([" ".join(reference)]).judge(hypothesis).edits)
        for place, (reference, hypothesis) in enumerate(zip(references, said, strict=True))
    ]
    counts = Counter(
        (edit.operation, edit.reference, edit.hypothesis)
        for _, edits in alignments
        for edit in edits
        if edit.operation != "match"
    )
    found = frequent_errors(alignments, 2, examples=2)
    for operation in ("substitution", "insertion", "deletion"):
        here = [each for each in found if each.operation == operation]
        times = sorted((n for error, n in counts.items() if error[0] == operation), reverse=True)
        assert [each.times for each in here] == times[:2]
        for each in here:
            assert counts[tuple(each[:3])] == each.times
            having = [
                id
                for id, edits in alignments
                if tuple(each[:3]) in {(e.operation, e.reference, e.hypothesis) for e in edits}
            ]
            assert list(each.segments) == having[:2]
