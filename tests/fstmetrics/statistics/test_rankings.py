"""WMT's files of ranks: what is read from them, expected wins, and taus over their pairs."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest

from fstmetrics import WER
from fstmetrics.statistics.human import correlate_human, human_coefficient, read_human
from fstmetrics.statistics.rankings import Preference, expected_wins, read_preferences
from fstmetrics.statistics.systems import Scorer, read_complete
from lattices.errors import FormatError
from lattices.formats.references import read_references

PAIRS = "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rID"
NUMBERS = ",".join(f"system{n}Number,system{n}Id" for n in range(1, 6))
RANKS = ",".join(f"system{n}rank" for n in range(1, 6))
FIVE = f"srclang,trglang,srcIndex,documentId,segmentId,judgeId,{NUMBERS},{RANKS}"


def read(*lines: str) -> list[tuple]:
    return [one[:4] for one in read_preferences(enumerate(lines, 1), "ranks.csv")]


def test_two_outputs_a_line() -> None:
    found = read(
        PAIRS,
        "cze,eng,7,7,judge1,new.a.cs-en,5,new.b.cs-en,3,1",
        "",
        "cze,eng,8,8,judge1,new.a.cs-en,2,new.b.cs-en,2,2",
    )
    assert found == [
        ("7", "new.b.cs-en", "new.a.cs-en", False),
        ("8", "new.a.cs-en", "new.b.cs-en", True),
    ]


def test_five_outputs_a_line() -> None:
    """Each pair of those that have a rank; what was left blank has none."""
    line = "deu,eng,3,-1,3,j,-1,a,-1,b,-1,c,-1,d,-1,e,1,3,-1,1,2"
    found = set(read(FIVE, line))
    ranks = {"a": 1, "b": 3, "d": 1, "e": 2}
    expected = set()
    for one, other in combinations(ranks, 2):
        first, second = sorted((one, other), key=lambda name: ranks[name])
        expected.add(("3", first, second, ranks[one] == ranks[other]))
    assert found == expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([PAIRS], "ranks.csv: no judgement of two systems"),
        ([PAIRS, "cze,eng,7,7,j,a,5,b"], "ranks.csv:2: 8 columns, expected 10 as in the header"),
        ([PAIRS, "cze,eng,7,7,j,a,5,b,x,1"], "ranks.csv:2: rank 'x', expected a whole number"),
        (["srclang,trglang,srcIndex,system1Id,system1rank"], "lacks system2Id"),
        (["srclang,trglang,system1Id,system1rank,system2Id,system2rank"], "lacks srcindex"),
        (["srclang,trglang,srcIndex,system1Id,system2Id,system2rank"], "lacks system1rank"),
        (
            [PAIRS, "cze,eng,7,7,j,a,5,b,2,1", "deu,eng,7,7,j,a,5,c,2,1"],
            "ranks.csv:3: 'a' is a system of cze-eng and deu-eng: keep the lines of one",
        ),
    ],
)
def test_bad_files(lines: list[str], message: str) -> None:
    with pytest.raises(FormatError, match=message.replace(".", r"\.")):
        read(*lines)


def test_expected_wins_by_drawing_opponents() -> None:
    rng = random.Random(3)
    judged = [Preference(str(n), *rng.sample("abcd", 2), rng.random() < 0.2, n) for n in range(200)]
    found = expected_wins(judged)
    for system in "abcd":
        shares = []
        for other in "abcd":
            mine = sum((one.first, one.second) == (system, other) for one in judged if not one.tie)
            its = sum((one.first, one.second) == (other, system) for one in judged if not one.tie)
            if other != system:
                shares.append(mine / (mine + its))
        assert found[system] == pytest.approx(sum(shares) / 3)


SAID = {
    "a": ["the cat sat", "on a mat", "it is"],
    "b": ["the cat", "on the mat", "it was"],
    "c": ["a hat", "on the mat", "was"],
}
REFS = ["the cat sat", "on the mat", "it was"]
#: segment, better, worse; a tie of people
JUDGED = [("1", "a", "b"), ("1", "c", "a"), ("2", "b", "a"), ("2", "b", "c"), ("3", "b", "c")]


@pytest.fixture
def scored(tmp_path: Path):
    refs = tmp_path / "refs"
    refs.write_text("\n".join(REFS) + "\n")
    references = read_references([str(refs)], format="plain")
    scorer = Scorer((WER(),), references)
    systems = {}
    for name, lines in SAID.items():
        path = tmp_path / f"new.{name}.cs-en"
        path.write_text("\n".join(lines) + "\n")
        systems[f"{name}"] = read_complete(str(path), None, scorer)
    lines = [PAIRS, *(f"cze,eng,{s},{s},j,{one},1,{other},2,1" for s, one, other in JUDGED)]
    lines.append("cze,eng,3,3,j,a,1,b,1,1")
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("\n".join(lines) + "\n")
    return systems, references, str(ranks)


def test_taus_by_counting(scored) -> None:
    systems, references, ranks = scored
    human = read_human(ranks, one_system=False)
    assert human.by_segment
    found = correlate_human(human, systems, references, samples=20)
    wer = {
        name: [WER().against([r]).score(line) for r, line in zip(REFS, lines, strict=True)]
        for name, lines in SAID.items()
    }
    signs = []
    for segment, one, other in JUDGED:
        gap = wer[other][int(segment) - 1] - wer[one][int(segment) - 1]
        signs.append((gap > 0) - (gap < 0))
    right, wrong, ties = signs.count(1), signs.count(-1), signs.count(0)
    assert ties == 1
    taus = {one.method: one for one in found.found[0].coefficients}
    assert taus["wmt12"].value == (right - wrong - ties) / (right + wrong + ties)
    assert taus["wmt13"].value == (right - wrong) / (right + wrong)
    assert taus["wmt14"].value == (right - wrong) / (right + wrong + ties)
    assert taus["wmt14"].interval is not None
    assert found.level == "ranking"
    assert found.points[0] == ("a > b", "1")
    assert found.points[-1] == ("a = b", "3")
    assert found.human == [1.0] * 5 + [0.0]
    one = human_coefficient(human, systems, references, 0, samples=20)
    assert one == taus["wmt14"]


def test_systems_by_expected_wins(scored) -> None:
    systems, references, ranks = scored
    human = read_human(ranks, one_system=False, level="system")
    assert not human.by_segment
    wins = {entry.system: entry.score for entry in human.entries}
    # a against b 1 : 1, against c 0 : 1; b against c 2 : 0
    assert wins == {"a": 0.25, "b": 0.75, "c": 0.5}
    found = correlate_human(human, systems, references, samples=20)
    assert found.level == "system"
    assert found.human == [wins[name] for name in ("a", "b", "c")]


def test_what_a_file_is_of(tmp_path: Path) -> None:
    path = tmp_path / "human"
    path.write_text("a 0.5\nb 0.7\n")
    with pytest.raises(FormatError, match="scores of systems, expected scores of segments"):
        read_human(str(path), one_system=False, level="segment")
    path.write_text("a 1 0.5\nb 1 0.7\n")
    with pytest.raises(FormatError, match="scores of segments, expected scores of systems"):
        read_human(str(path), one_system=False, level="system")


def test_a_segment_that_is_not_there(scored, tmp_path: Path) -> None:
    systems, references, _ = scored
    path = tmp_path / "more.csv"
    path.write_text(f"{PAIRS}\ncze,eng,9,9,j,a,1,b,2,1\n")
    human = read_human(str(path), one_system=False)
    with pytest.raises(FormatError, match=r"more\.csv:2: no segment '9'"):
        correlate_human(human, systems, references)
    systems.pop("b")
    with pytest.raises(FormatError, match="no judgement of two of the systems"):
        correlate_human(human, systems, references)
